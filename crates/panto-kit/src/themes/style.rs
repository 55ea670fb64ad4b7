//! One style: colours and effects, and the escape sequences that they are.

use std::fmt;
use std::str::FromStr;

/// What a text looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// The text's colour; the terminal's own if there is none.
    pub fg: Option<Color>,
    /// What is behind it.
    pub bg: Option<Color>,
    effects: u8,
}

/// A way to show text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Heavier.
    Bold,
    /// Fainter.
    Dim,
    /// Slanted.
    Italic,
    /// With a line below.
    Underline,
    /// Colours exchanged.
    Reverse,
    /// With a line through it.
    Strikethrough,
}

impl Effect {
    /// All of them.
    pub const ALL: [Effect; 6] = [
        Effect::Bold,
        Effect::Dim,
        Effect::Italic,
        Effect::Underline,
        Effect::Reverse,
        Effect::Strikethrough,
    ];

    /// The effect's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::Bold => "bold",
            Effect::Dim => "dim",
            Effect::Italic => "italic",
            Effect::Underline => "underline",
            Effect::Reverse => "reverse",
            Effect::Strikethrough => "strikethrough",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The parameters that begin and end it.
    fn codes(self) -> (&'static str, &'static str) {
        match self {
            Effect::Bold => ("1", "22"),
            Effect::Dim => ("2", "22"),
            Effect::Italic => ("3", "23"),
            Effect::Underline => ("4", "24"),
            Effect::Reverse => ("7", "27"),
            Effect::Strikethrough => ("9", "29"),
        }
    }
}

impl Style {
    /// With another colour of the text.
    #[must_use]
    pub fn fg(self, color: Color) -> Self {
        Self {
            fg: Some(color),
            ..self
        }
    }

    /// With another colour behind the text.
    #[must_use]
    pub fn bg(self, color: Color) -> Self {
        Self {
            bg: Some(color),
            ..self
        }
    }

    /// With one more effect.
    #[must_use]
    pub fn with(self, effect: Effect) -> Self {
        let effects = self.effects | effect.bit();
        Self { effects, ..self }
    }

    /// Whether it has an effect.
    pub fn has(&self, effect: Effect) -> bool {
        self.effects & effect.bit() != 0
    }

    /// The sequence that begins the style; empty for a plain one.
    pub fn open(&self) -> String {
        let mut codes: Vec<String> = self
            .effects()
            .map(|effect| effect.codes().0.into())
            .collect();
        codes.extend(self.fg.map(|color| color.code(30)));
        codes.extend(self.bg.map(|color| color.code(40)));
        sequence(&codes)
    }

    /// The sequence that ends the style, and nothing else that is on; empty for a plain one.
    pub fn close(&self) -> String {
        let mut codes: Vec<String> = self
            .effects()
            .map(|effect| effect.codes().1.into())
            .collect();
        // Bold and dim end together.
        codes.dedup();
        codes.extend(self.fg.map(|_| "39".to_owned()));
        codes.extend(self.bg.map(|_| "49".to_owned()));
        sequence(&codes)
    }

    fn effects(&self) -> impl Iterator<Item = Effect> {
        let style = *self;
        Effect::ALL
            .into_iter()
            .filter(move |effect| style.has(*effect))
    }
}

fn sequence(codes: &[String]) -> String {
    match codes {
        [] => String::new(),
        codes => format!("\u{1b}[{}m", codes.join(";")),
    }
}

/// A colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// One of the terminal's palette; the first sixteen have names.
    Indexed(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}

/// The text is no colour.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a colour is `#rrggbb`, a number up to 255, or a name such as `red` or `bright_red`")]
pub struct ColorError;

const NAMES: [&str; 8] = [
    "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white",
];

impl FromStr for Color {
    type Err = ColorError;

    fn from_str(text: &str) -> Result<Self, ColorError> {
        if let Some(digits) = text.strip_prefix('#') {
            let is_hex = digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_hexdigit());
            let number = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex);
            let [_, red, green, blue] = number.ok_or(ColorError)?.to_be_bytes();
            return Ok(Color::Rgb(red, green, blue));
        }
        let (name, offset) = match text.strip_prefix("bright_") {
            Some(name) => (name, 8),
            None => (text, 0),
        };
        let index = NAMES.iter().position(|known| *known == name);
        let index = index.and_then(|index| u8::try_from(index).ok());
        match index {
            Some(index) => Ok(Color::Indexed(index + offset)),
            None => text.parse().map(Color::Indexed).map_err(|_| ColorError),
        }
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Color::Rgb(red, green, blue) => write!(f, "#{red:02x}{green:02x}{blue:02x}"),
            Color::Indexed(index) => match NAMES.get(usize::from(index % 8)) {
                Some(name) if index < 8 => f.write_str(name),
                Some(name) if index < 16 => write!(f, "bright_{name}"),
                _ => write!(f, "{index}"),
            },
        }
    }
}

impl Color {
    /// The parameters of the colour; `base` is 30 for the text and 40 for what is behind it.
    fn code(self, base: u8) -> String {
        match self {
            Color::Indexed(index @ 0..=7) => (base + index).to_string(),
            Color::Indexed(index @ 8..=15) => (base + 52 + index).to_string(),
            Color::Indexed(index) => format!("{};5;{index}", base + 8),
            Color::Rgb(red, green, blue) => format!("{};2;{red};{green};{blue}", base + 8),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Color, Effect, Style};

    #[test]
    fn colours_are_read_as_they_are_written() {
        for text in [
            "#00ff7f",
            "red",
            "bright_red",
            "16",
            "255",
            "black",
            "bright_white",
        ] {
            let color: Color = text.parse().expect(text);
            assert_eq!(color.to_string(), text);
        }
        for text in [
            "", "#fff", "#+12345", "reddish", "256", "-1", "bright_", "1;2",
        ] {
            assert!(text.parse::<Color>().is_err(), "{text}");
        }
    }

    #[test]
    fn sequences_end_what_they_begin() {
        let style = Style::default()
            .fg(Color::Indexed(9))
            .bg(Color::Rgb(1, 2, 3))
            .with(Effect::Bold)
            .with(Effect::Dim);
        assert_eq!(style.open(), "\u{1b}[1;2;91;48;2;1;2;3m");
        assert_eq!(style.close(), "\u{1b}[22;39;49m");
        assert_eq!(Style::default().open(), "");
        assert_eq!(Style::default().fg(Color::Indexed(3)).open(), "\u{1b}[33m");
        assert_eq!(
            Style::default().bg(Color::Indexed(99)).open(),
            "\u{1b}[48;5;99m"
        );
    }
}
