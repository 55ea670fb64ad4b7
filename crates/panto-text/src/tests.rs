use proptest::prelude::*;

use super::*;

#[test]
fn width_counts_columns_not_bytes() {
    let cases = [
        ("", 0),
        ("abc", 3),
        ("é", 1),
        ("e\u{301}", 1),
        ("漢字", 4),
        ("😀", 2),
        ("👨‍👩‍👧‍👦", 2),
        ("🇳🇴", 2),
        ("❤\u{fe0f}", 2),
        ("\u{200b}", 0),
        ("a\tb", 2 + TAB),
        ("a\u{7}b", 2),
        ("one\nlonger\r\nx", 6),
        ("\u{1b}[1;31mred\u{1b}[0m", 3),
        ("\u{9b}1mred", 3),
        ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{7}", 4),
        ("\u{1b}(Bx", 1),
        ("\u{1b}7x\u{1b}8", 1),
        ("\u{1b}", 0),
        ("\u{1b}[12", 0),
        ("\u{1b}]0;no end\nx", 1),
        ("\u{1b}é", 1),
    ];
    for (text, columns) in cases {
        assert_eq!(width(text), columns, "{text:?}");
    }
}

#[test]
fn truncate_keeps_what_fits_and_all_sequences() {
    assert_eq!(truncate("hello", 5), "hello");
    assert_eq!(truncate("hello", 4), "hel…");
    assert_eq!(truncate("hello", 1), "…");
    assert_eq!(truncate("hello", 0), "");
    assert_eq!(truncate("漢字", 3), "漢…");
    assert_eq!(truncate("漢字", 2), "…");
    assert_eq!(truncate("one\ntwo", 5), "one…");
    assert_eq!(truncate("one\ntwo", 3), "on…");
    assert_eq!(truncate("a\tb", 6), "a    b");
    assert_eq!(
        truncate("\u{1b}[1mhello\u{1b}[0m", 3),
        "\u{1b}[1mhe…\u{1b}[0m"
    );
}

#[test]
fn wrap_breaks_at_blanks_and_keeps_indents() {
    assert_eq!(wrap("", 5), [""]);
    assert_eq!(wrap("a\n\nb\n", 5), ["a", "", "b", ""]);
    assert_eq!(wrap("one two three", 7), ["one two", "three"]);
    assert_eq!(wrap("one   two", 4), ["one", "two"]);
    assert_eq!(wrap("  indented text", 10), ["  indented", "text"]);
    assert_eq!(wrap("    indented", 9), [" indented"]);
    assert_eq!(wrap("a    ", 3), ["a  "]);
    assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
    assert_eq!(wrap("x abcdefgh", 3), ["x", "abc", "def", "gh"]);
    assert_eq!(wrap("漢字かな", 5), ["漢字", "かな"]);
    assert_eq!(wrap("漢", 1), ["\u{fffd}"]);
    assert_eq!(wrap("ab\ncd", 0), ["", ""]);
    assert_eq!(
        wrap("\u{1b}[1mone two\u{1b}[0m", 4),
        ["\u{1b}[1mone", "two\u{1b}[0m"]
    );
}

proptest! {
    #[test]
    fn nothing_is_wider_than_asked(text in "[ a-c\t\n漢😀\u{301}\u{1b}\\[1m;é👨\u{200d}👩]{0,60}", columns in 0usize..12) {
        prop_assert!(width(&truncate(&text, columns)) <= columns);
        for line in wrap(&text, columns) {
            prop_assert!(width(&line) <= columns, "{line:?}");
            prop_assert!(!line.contains(['\n', '\r']));
        }
    }

    #[test]
    fn what_fits_stays_as_it_is(text in "[ a-z漢é]{0,20}") {
        prop_assert_eq!(truncate(&text, width(&text)), text.clone());
        prop_assert_eq!(wrap(&text, width(&text)), [text]);
    }

    #[test]
    fn wrapping_loses_no_word(text in "[ a-z\n]{0,60}", columns in 1usize..12) {
        let kept = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        prop_assert_eq!(kept(&wrap(&text, columns).concat()), kept(&text));
    }
}
