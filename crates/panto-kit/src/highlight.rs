//! Code with the colours of its language.
//!
//! The grammars are unpacked when they are first needed. What is too long, takes too long or is in
//! no known language comes back without colours.

mod scopes;

use std::fmt::Write as _;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};
use syntect::util::LinesWithEndings;

use crate::themes::{Style, Themes};
use scopes::Classes;

/// A longer text is not coloured.
pub const MAX_BYTES: usize = 512 * 1024;

/// A longer line is not coloured.
const MAX_LINE_BYTES: usize = 4 * 1024;

/// What comes after this time is not coloured.
const TIME: Duration = Duration::from_millis(500);

/// `body` with the styles `syntax.…` of `themes`, its control characters taken out.
///
/// `language` is what stands behind the fence of a Markdown block: a name or a file extension,
/// upper or lower case. Without one, or with an unknown one, nothing is coloured.
pub fn highlight(body: &str, language: Option<&str>, themes: &Themes) -> String {
    within(TIME, body, language, themes)
}

fn within(time: Duration, body: &str, language: Option<&str>, themes: &Themes) -> String {
    let clean = printable(body);
    if clean.len() > MAX_BYTES {
        return clean;
    }
    let Some(syntax) = language.and_then(find) else {
        return clean;
    };
    Painter::new(themes).paint(&clean, syntax, Instant::now() + time)
}

/// The grammars: the same for everybody, and several milliseconds to unpack.
fn grammars() -> &'static SyntaxSet {
    static GRAMMARS: OnceLock<SyntaxSet> = OnceLock::new();
    GRAMMARS.get_or_init(two_face::syntax::extra_newlines)
}

fn find(language: &str) -> Option<&'static SyntaxReference> {
    let end = |c: char| c.is_whitespace() || matches!(c, ',' | '{' | '}' | ':');
    let word = language.trim_start_matches(['{', '.', ' ']);
    let word = word.split(end).next().unwrap_or_default().to_lowercase();
    let token = match word.as_str() {
        "" | "text" | "txt" | "plain" | "plaintext" => return None,
        "shell" | "sh" | "zsh" | "console" | "shellsession" => "bash",
        "jsonc" | "json5" => "json",
        "golang" => "go",
        "node" | "mjs" | "cjs" => "js",
        "yml" => "yaml",
        "c++" => "cpp",
        "patch" => "diff",
        word => word,
    };
    grammars().find_syntax_by_token(token)
}

/// The text without what a terminal would obey.
fn printable(text: &str) -> String {
    let kept = |c: &char| matches!(c, '\n' | '\t') || !c.is_control();
    text.chars().filter(kept).collect()
}

/// Writes text and the sequences between styles.
struct Painter {
    classes: Classes,
    out: String,
    on: Style,
}

impl Painter {
    fn new(themes: &Themes) -> Self {
        Self {
            classes: Classes::new(themes),
            out: String::new(),
            on: Style::default(),
        }
    }

    fn paint(mut self, text: &str, syntax: &SyntaxReference, deadline: Instant) -> String {
        self.out.reserve(text.len() * 2);
        let mut state = ParseState::new(syntax);
        let mut stack = ScopeStack::new();
        let mut gave_up = false;
        for line in LinesWithEndings::from(text) {
            gave_up = gave_up || Instant::now() > deadline;
            let painted = !gave_up && line.len() <= MAX_LINE_BYTES;
            if !painted || self.line(line, &mut state, &mut stack).is_none() {
                self.put(line, Style::default());
            }
        }
        self.put("", Style::default());
        self.out
    }

    /// Paints a line; `None`, with nothing written, if the grammar has no answer.
    fn line(&mut self, line: &str, state: &mut ParseState, stack: &mut ScopeStack) -> Option<()> {
        let operations = state.parse_line(line, grammars()).ok()?;
        let mut done = 0;
        for (at, operation) in operations {
            // Positions come in order, on characters.
            if let Some(piece) = line.get(done..at) {
                let style = self.classes.of(stack);
                self.put(piece, style);
                done = at;
            }
            // A grammar that pops too much has lost its place, and no more.
            let _ = stack.apply(&operation);
        }
        let style = self.classes.of(stack);
        self.put(line.get(done..).unwrap_or_default(), style);
        Some(())
    }

    /// Writes a piece. Each line ends without a style, so that it can be shown by itself.
    fn put(&mut self, piece: &str, style: Style) {
        for part in piece.split_inclusive('\n') {
            let (text, end) = match part.strip_suffix('\n') {
                Some(text) => (text, "\n"),
                None => (part, ""),
            };
            if !text.is_empty() {
                self.switch(if text.trim().is_empty() {
                    self.on
                } else {
                    style
                });
                self.out.push_str(text);
            }
            if !end.is_empty() {
                self.switch(Style::default());
                self.out.push_str(end);
            }
        }
        if piece.is_empty() {
            self.switch(style);
        }
    }

    fn switch(&mut self, style: Style) {
        if style != self.on {
            // Writing to a string cannot fail.
            let _ = write!(self.out, "{}{}", self.on.close(), style.open());
            self.on = style;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{MAX_BYTES, MAX_LINE_BYTES, within};
    use crate::themes::{Color, Style, Themes};

    /// Without a hurry: compiling a grammar takes long where nothing is optimized.
    fn highlight(body: &str, language: Option<&str>, themes: &Themes) -> String {
        within(Duration::from_secs(3600), body, language, themes)
    }

    fn shown(body: &str, language: &str) -> String {
        highlight(body, Some(language), &Themes::new()).replace('\u{1b}', "^")
    }

    /// The text without sequences.
    fn bare(text: &str) -> String {
        let mut bare = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('\u{1b}') {
            bare.push_str(before);
            rest = after.split_once('m').map_or("", |(_, after)| after);
        }
        bare + rest
    }

    #[test]
    fn code_has_colours() {
        insta::assert_snapshot!(shown("fn main() {\n    let x = \"a\"; // b\n}\n", "rust"), @r#"
        ^[1;34mfn ^[22;39m^[33mmain^[39m() {
            ^[1;34mlet^[22;39m x = ^[32m"a"^[39m; ^[2;3m// b^[22;23m
        }
        "#);
        insta::assert_snapshot!(shown("{\"a\": [1, true]}", "JSON"), @r#"{^[32m"a"^[39m: [^[35m1^[39m, ^[35mtrue^[39m]}"#);
        insta::assert_snapshot!(shown("-a\n+b\n", "diff"), @"
        ^[31m-a^[39m
        ^[32m+b^[39m
        ");
    }

    #[test]
    fn the_text_itself_stays() {
        for language in [
            "rust", "python", "ts", "lua", "bash", "c++", "toml", "md", "html", "nix",
        ] {
            let body = "/* a */ x = \"ü\" + 1 # c\n\n\tif (true) { return <b>漢</b>; }\nlast";
            let painted = highlight(body, Some(language), &Themes::new());
            assert_eq!(bare(&painted), body, "{language}");
            assert!(painted.contains('\u{1b}'), "{language}");
        }
    }

    #[test]
    fn an_unknown_language_has_no_colours_and_controls_go() {
        let themes = Themes::new();
        for language in [
            None,
            Some(""),
            Some("no-such"),
            Some("text"),
            Some("\u{1b}[2J"),
        ] {
            assert_eq!(
                highlight("let x\u{1b}[2J = 1;\r\n", language, &themes),
                "let x[2J = 1;\n"
            );
        }
        assert_eq!(shown("x\u{1b}]0;title\u{7}", "text"), "x]0;title");
    }

    #[test]
    fn styles_are_those_of_the_theme() {
        let themes = Themes::new();
        let style = Style::default().fg(Color::Rgb(1, 2, 3));
        assert_eq!(themes.set("syntax.keyword", style), Ok(()));
        let painted = highlight("return", Some("lua"), &themes);
        assert_eq!(painted, "\u{1b}[38;2;1;2;3mreturn\u{1b}[39m");
    }

    #[test]
    fn what_is_too_long_is_plain() {
        let long = "x = 1\n".repeat(MAX_BYTES / 6 + 1);
        assert_eq!(highlight(&long, Some("lua"), &Themes::new()), long);
        let line = format!("local s = '{}'", "x".repeat(MAX_LINE_BYTES));
        assert_eq!(highlight(&line, Some("lua"), &Themes::new()), line);
    }

    #[test]
    fn what_takes_too_long_is_plain_from_there_on() {
        let body = "return 1\n".repeat(3);
        let painted = within(Duration::ZERO, &body, Some("lua"), &Themes::new());
        assert_eq!(bare(&painted), body);
        assert!(painted.ends_with("\nreturn 1\n"));
    }
}
