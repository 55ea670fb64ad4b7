use super::*;

fn read_tool() -> ToolDeclaration {
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"],
    });
    ToolDeclaration::new("files.read", "Reads a file.", schema).unwrap()
}

fn free_tool() -> ToolDeclaration {
    ToolDeclaration::new("now", "Tells the time.", json!({"type": "object"})).unwrap()
}

fn outcome(input: &str) -> String {
    match parse(input, &read_tool()) {
        Ok(object) => object.as_str().to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_object_is_kept_byte_for_byte() {
    for object in [
        r#"{ "path" : "a\u0000\/b" , "x":1.50e+1, "path":"twice" }"#,
        "{\"path\":\"\u{2028}\u{1f980}\"}",
        r#"{"path":"\ud83e\udd80 \\ud83d"}"#,
    ] {
        assert_eq!(outcome(&format!("\n {object}\t")), object);
    }
}

#[test]
fn nothing_and_null_are_an_empty_object_if_no_key_is_required() {
    for input in ["", " \n", "null", " null "] {
        assert_eq!(parse(input, &free_tool()).unwrap().as_str(), "{}");
        assert_eq!(wire_object(input).as_str(), "{}");
    }
    insta::assert_snapshot!(outcome(" "), @"
    the input of `files.read` is empty
    expected one JSON object with these keys: `path` (required), `limit`
    ");
    insta::assert_snapshot!(outcome("null"), @"
    the input of `files.read` is `null`
    expected one JSON object with these keys: `path` (required), `limit`
    ");
}

#[test]
fn an_error_says_what_was_expected() {
    insta::assert_snapshot!(outcome(r#"["a.rs"]"#), @r#"
    the input of `files.read` is an array, not a JSON object: `["a.rs"]`
    expected one JSON object with these keys: `path` (required), `limit`
    "#);
    insta::assert_snapshot!(parse("7", &free_tool()).unwrap_err(), @"
    the input of `now` is a number, not a JSON object: `7`
    expected one JSON object without keys: `{}`
    ");
    insta::assert_snapshot!(outcome(r#""{\"path\":\"a\"}""#), @r#"
    the input of `files.read` is a string, not a JSON object: `"{\"path\":\"a\"}"`
    expected one JSON object with these keys: `path` (required), `limit`
    "#);
    insta::assert_snapshot!(InputError::truncated("{\"path\":\"a\nb", &read_tool()), @r#"
    the output limit cut the input of `files.read` after 12 bytes, at `{"path":"a\nb`; the call was not run
    expected one JSON object with these keys: `path` (required), `limit`
    call again with a shorter input, or split the work over several calls
    "#);
}

#[test]
fn an_error_quotes_the_position() {
    insta::assert_snapshot!(outcome(r#"{"path": ,}"#), @r#"
    the input of `files.read` is not valid JSON: expected value at line 1, column 10, where `{"path": ` is followed by `,}`
    expected one JSON object with these keys: `path` (required), `limit`
    "#);
    insta::assert_snapshot!(outcome(r#"{"path": "a"#), @r#"
    the input of `files.read` is not valid JSON: EOF while parsing a string at line 1, column 12, where it ends after `{"path": "a`
    expected one JSON object with these keys: `path` (required), `limit`
    "#);
    insta::assert_snapshot!(outcome("path=a.rs"), @"
    the input of `files.read` is not valid JSON: expected value at line 1, column 1, where it begins with `path=a.rs`
    expected one JSON object with these keys: `path` (required), `limit`
    ");
    insta::assert_snapshot!(outcome("{\n  \"path\": \"\u{1f980}\t\x1b\"}"), @r#"
    the input of `files.read` is not valid JSON: control character (\u0000-\u001F) found while parsing a string at line 2, column 13, where `{\n  "path": "🦀` is followed by `\t\u{1b}"}`
    expected one JSON object with these keys: `path` (required), `limit`
    "#);
    insta::assert_snapshot!(outcome(r#"{"path": "a"} {"path": "b"}"#), @r#"
    the input of `files.read` is not valid JSON: trailing characters at line 1, column 15, where `{"path": "a"} ` is followed by `{"path": "b"}`
    expected one JSON object with these keys: `path` (required), `limit`
    "#);
    insta::assert_snapshot!(outcome(r#"{"limit": 1e999}"#), @r#"
    the input of `files.read` is not valid JSON: number out of range at line 1, column 15, where `{"limit": 1e99` is followed by `9}`
    expected one JSON object with these keys: `path` (required), `limit`
    "#);
    insta::assert_snapshot!(outcome(&format!(
        r#"{{"path": "{0}" "{0}"}}"#, "\u{e9}".repeat(100)
    )), @r#"
    the input of `files.read` is not valid JSON: expected `,` or `}` at line 1, column 113, where `…éééééééééééééééééééééééééééééééééééééé" ` is followed by `"ééééééééééééééééééééééééééééééééééééééé…`
    expected one JSON object with these keys: `path` (required), `limit`
    "#);
}

#[test]
fn lone_surrogates_become_replacement_characters() {
    for (escapes, repaired) in [
        (r"\ud83d", r"\ufffd"),
        (r"\uDE00", r"\ufffd"),
        (r"\ud83d\ud83d\ude00", r"\ufffd\ud83d\ude00"),
        (r"\ud83d\n\ude00", r"\ufffd\n\ufffd"),
        (r"\\\ud83d\\ud83d", r"\\\ufffd\\ud83d"),
    ] {
        let read = parse(&format!(r#"{{"path":"{escapes}"}}"#), &read_tool()).unwrap();
        assert_eq!(read.as_str(), format!(r#"{{"path":"{repaired}"}}"#));
        assert!(serde_json::from_str::<Value>(read.as_str()).is_ok());
    }
}

#[test]
fn depth_is_bounded_by_an_error() {
    let nested = |levels: usize| format!(r#"{{"path":{}1"#, "[".repeat(levels));
    insta::assert_snapshot!(outcome(&nested(100_000)), @"
    the input of `files.read` is not valid JSON: more than 100 levels of nesting at line 1, column 108, where `…[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[` is followed by `[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…`
    expected one JSON object with these keys: `path` (required), `limit`
    ");
    let closed = format!("{}{}}}", nested(99), "]".repeat(99));
    assert_eq!(outcome(&closed), closed);
    let malformed = wire_object(&nested(100_000));
    assert!(malformed.as_str().starts_with(r#"{"malformed_input":"#));
}

#[test]
fn large_input_takes_linear_time() {
    let text = r"\ud83d\n".repeat(600_000);
    let read = parse(&format!(r#"{{"path":"{text}"}}"#), &read_tool()).unwrap();
    assert_eq!(read.as_str().len(), text.len() + 11);
    assert!(parse(&text, &read_tool()).is_err());
    assert!(parse(&"\n".repeat(5_000_000), &read_tool()).is_err());
}

#[test]
fn the_wire_always_gets_an_object() {
    assert_eq!(wire_object(r#" {"a":1} "#).as_str(), r#"{"a":1}"#);
    assert_eq!(
        wire_object("[1]\n\0").as_str(),
        r#"{"malformed_input":"[1]\n\u0000"}"#
    );
}

proptest::proptest! {
    #[test]
    fn what_passes_decodes_and_what_fails_is_explained(
        input in proptest::prop_oneof![
            ".*",
            r#"\{"[a-z\\u0-9d]{0,20}":("[\\ud83e0-9n]{0,24}"|[0-9e.+-]{1,12})?\}?"#,
        ],
    ) {
        match parse(&input, &read_tool()) {
            Ok(object) => {
                let value: Value = serde_json::from_str(object.as_str()).unwrap();
                assert!(value.is_object());
                assert_eq!(object.as_str().len(), input.trim_matches([' ', '\t', '\r', '\n']).len());
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.ends_with("`path` (required), `limit`"));
                assert_eq!(text.lines().count(), 2);
            }
        }
        let wire: Value = serde_json::from_str(wire_object(&input).as_str()).unwrap();
        assert!(wire.is_object());
    }
}
