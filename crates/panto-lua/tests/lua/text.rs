use insta::assert_snapshot;

use crate::support::talking;

#[test]
fn text_is_measured_cut_and_wrapped() {
    let machine = talking("");
    machine.exec(
        r#"
        local text = panto.text
        assert(text.width("") == 0 and text.width("漢字") == 4 and text.width("\27[1mx\27[0m") == 1)
        assert(text.width("\255") == 1)
        assert(text.truncate("hello", 4) == "hel…" and text.truncate("hello", 0) == "")
        assert(text.truncate("hello", 5.0) == "hello")
        assert(table.concat(text.wrap("one two three", 7), "|") == "one two|three")
        assert(#text.wrap("", 10) == 1 and text.wrap("ab", 0)[1] == "")
        assert(text.wrap("x", math.maxinteger)[1] == "x")
        "#,
    );
}

#[test]
fn widths_are_whole_and_not_negative() {
    let machine = talking("");
    let text = machine.text(
        r#"
        local text = panto.text
        return table.concat({
          raised(function() text.width(1) end), raised(function() text.width() end),
          raised(function() text.truncate("x") end), raised(function() text.truncate("x", -1) end),
          raised(function() text.truncate("x", 1.5) end), raised(function() text.wrap("x", "2") end),
          raised(function() text.wrap({}, 2) end), raised(function() text.wrap("x", 0 / 0) end),
        }, "\n")
        "#,
    );
    assert_snapshot!(text, @"
    test:4: bad argument 'text' to 'width' (string expected, got number)
    test:4: bad argument 'text' to 'width' (string expected, got nil)
    test:5: bad argument 'width' to 'truncate' (integer expected, got nil)
    test:5: bad argument 'width' to 'truncate' (must not be negative, got -1)
    test:6: bad argument 'width' to 'truncate' (integer expected, got 1.5)
    test:6: bad argument 'width' to 'wrap' (integer expected, got string)
    test:7: bad argument 'text' to 'wrap' (string expected, got table)
    test:7: bad argument 'width' to 'wrap' (integer expected, got NaN)
    ");
}
