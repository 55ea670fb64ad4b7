//! Styles by name: what the screen looks like, as data.
//!
//! One [`Themes`] a process, shared by whoever draws; it outlives Lua states, so that what an
//! extension set stays over a change of sessions.

mod style;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use style::{Color, ColorError, Effect, Style};

/// How many styles there may be.
pub const MAX_STYLES: usize = 512;

/// How many bytes a name may have.
pub const MAX_NAME_BYTES: usize = 64;

/// Why a style could not be set; nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ThemeError {
    /// Names are letters, digits, `.`, `_` and `-`.
    #[error("not a style's name: {0:?}")]
    Name(String),
    /// There are so many already.
    #[error("there are {MAX_STYLES} styles already")]
    Full,
}

/// The styles of a process.
pub struct Themes {
    styles: Mutex<BTreeMap<String, Style>>,
    revision: AtomicU64,
}

impl Themes {
    /// The styles that panto begins with. They use the terminal's own colours.
    pub fn new() -> Self {
        Self {
            styles: Mutex::new(shipped()),
            revision: AtomicU64::new(0),
        }
    }

    /// The style of a name.
    pub fn get(&self, name: &str) -> Option<Style> {
        self.styles().get(name).copied()
    }

    /// All styles, by name.
    pub fn all(&self) -> BTreeMap<String, Style> {
        self.styles().clone()
    }

    /// Sets a style, whether or not there was one of this name.
    ///
    /// # Errors
    ///
    /// [`ThemeError`].
    pub fn set(&self, name: &str, style: Style) -> Result<(), ThemeError> {
        let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(fits) {
            let shown = name.chars().take(MAX_NAME_BYTES).collect();
            return Err(ThemeError::Name(shown));
        }
        let mut styles = self.styles();
        if styles.len() >= MAX_STYLES && !styles.contains_key(name) {
            return Err(ThemeError::Full);
        }
        styles.insert(name.to_owned(), style);
        self.revision.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Another number after each change, for whoever keeps what was drawn.
    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    fn styles(&self) -> MutexGuard<'_, BTreeMap<String, Style>> {
        // A map of plain values is whole whatever a panic left undone.
        self.styles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Themes {
    fn default() -> Self {
        Self::new()
    }
}

/// Colours by their number, so that the terminal's own scheme decides what they look like.
fn shipped() -> BTreeMap<String, Style> {
    const RED: Color = Color::Indexed(1);
    const GREEN: Color = Color::Indexed(2);
    const YELLOW: Color = Color::Indexed(3);
    const BLUE: Color = Color::Indexed(4);
    const MAGENTA: Color = Color::Indexed(5);
    const CYAN: Color = Color::Indexed(6);
    let plain = Style::default();
    let dim = plain.with(Effect::Dim);
    [
        ("text", plain),
        ("muted", dim),
        ("accent", plain.fg(CYAN)),
        ("success", plain.fg(GREEN)),
        ("warning", plain.fg(YELLOW)),
        ("error", plain.fg(RED)),
        ("border", dim),
        ("selection", plain.with(Effect::Reverse)),
        ("heading", plain.with(Effect::Bold)),
        ("strong", plain.with(Effect::Bold)),
        ("emphasis", plain.with(Effect::Italic)),
        ("code", plain.fg(CYAN)),
        ("link", plain.fg(BLUE).with(Effect::Underline)),
        ("quote", dim.with(Effect::Italic)),
        ("user", plain.fg(BLUE).with(Effect::Bold)),
        ("thinking", dim.with(Effect::Italic)),
        ("tool", plain.with(Effect::Bold)),
        ("tool.output", dim),
        ("diff.added", plain.fg(GREEN)),
        ("diff.removed", plain.fg(RED)),
        ("diff.hunk", plain.fg(CYAN)),
        ("syntax.comment", dim.with(Effect::Italic)),
        ("syntax.string", plain.fg(GREEN)),
        ("syntax.number", plain.fg(MAGENTA)),
        ("syntax.constant", plain.fg(MAGENTA)),
        ("syntax.keyword", plain.fg(BLUE).with(Effect::Bold)),
        ("syntax.operator", plain),
        ("syntax.function", plain.fg(YELLOW)),
        ("syntax.type", plain.fg(CYAN)),
        ("syntax.tag", plain.fg(BLUE)),
        ("syntax.attribute", plain.fg(CYAN)),
        ("syntax.variable", plain),
        ("syntax.punctuation", plain),
        ("syntax.invalid", plain.fg(RED)),
    ]
    .into_iter()
    .map(|(name, style)| (name.to_owned(), style))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::{Color, Effect, MAX_STYLES, Style, ThemeError, Themes};

    #[test]
    fn a_style_is_set_and_the_revision_tells() {
        let themes = Themes::new();
        let before = themes.revision();
        let style = Style::default().fg(Color::Indexed(9)).with(Effect::Bold);
        assert_eq!(themes.set("mine.title", style), Ok(()));
        assert_eq!(themes.get("mine.title"), Some(style));
        assert_ne!(themes.revision(), before);
        assert_eq!(themes.get("nobody's"), None);
    }

    #[test]
    fn names_are_plain_and_bounded() {
        let themes = Themes::new();
        for name in ["", "a b", "\u{1b}[2J", &"x".repeat(65)] {
            let refused = themes.set(name, Style::default());
            assert!(matches!(refused, Err(ThemeError::Name(_))), "{name}");
        }
        for n in 0..MAX_STYLES {
            let _ = themes.set(&format!("s{n}"), Style::default());
        }
        assert_eq!(themes.all().len(), MAX_STYLES);
        assert_eq!(
            themes.set("one-more", Style::default()),
            Err(ThemeError::Full)
        );
        assert_eq!(themes.set("text", Style::default()), Ok(()));
    }
}
