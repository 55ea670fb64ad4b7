use insta::assert_snapshot;

use proptest::prelude::*;

use crate::support::{Machine, talking};

#[test]
fn what_is_decoded_encodes_to_the_same_value() {
    let machine = talking("");
    machine.exec(
        r#"
        local json = panto.json
        for _, text in ipairs {
          '{}', '[]', 'null', 'true', '0', '-7', '1.5', '-0.0', '1e+300', '"x"', '"\\u0000\\"\\\\"',
          '[null,[],{}]', '{"a":null,"b":[1,2.0]}', '9223372036854775807', '-9223372036854775808',
          '18446744073709551615', '123456789012345678901234567890', '1e400', '"é漢"',
        } do
          local value = assert(json.decode(text))
          local again = assert(json.encode(value))
          assert(assert(json.encode(json.decode(again))) == again, text)
        end
        assert(json.encode(json.decode('[9007199254740993]')) == '[9007199254740993]')
        assert(json.encode(json.decode('18446744073709551615')) == '18446744073709551615')
        assert(tostring(json.decode('1e400')) == '1e400')
        assert(json.decode('18446744073709551615') == json.number('18446744073709551615'))
        assert(math.type(json.decode('1')) == "integer")
        assert(math.type(json.decode('1.0')) == "float")
        assert(json.decode('null') == json.null)
        assert(json.decode('{"a":null}').a == json.null)
        assert(json.decode('[null]')[1] == json.null)
        assert(json.decode('"\\ud83d\\ude00"') == "😀")
        assert(json.decode('"\\ud83d"') == "\u{fffd}")
        "#,
    );
}

#[test]
fn tables_say_whether_they_are_arrays() {
    let machine = talking("");
    let text = machine.text(
        r#"
        local json = panto.json
        local out = {}
        local function show(value) out[#out + 1] = assert(json.encode(value)) end
        show({}) show(json.array {}) show(json.array()) show({ 1, 2 }) show({ b = 1, a = 2 })
        show({ list = json.array {}, object = {}, null = json.null }) show({ json.null, 1 })
        show(1.0) show(2 ^ 53) show("a\n\1\127é")
        local array = json.decode("[]")
        array[1] = "x"
        show(array)
        return table.concat(out, "\n")
        "#,
    );
    assert_snapshot!(text, @r#"
    {}
    []
    []
    [1,2]
    {"a":2,"b":1}
    {"list":[],"null":null,"object":{}}
    [null,1]
    1.0
    9007199254740992.0
    "a\n\u0001\u007fé"
    ["x"]
    "#);
}

#[test]
fn what_json_cannot_say_is_an_error_with_its_path() {
    let machine = talking("");
    let text = machine.text(
        r#"
        local json = panto.json
        local out = {}
        local function show(value) out[#out + 1] = refused(json.encode(value)) end
        show({ a = { { b = 0 / 0 } } }) show(1 / 0) show({ f = print }) show({ "\255" })
        show({ ["\255"] = 1 }) show({ 1, 2, a = 3 }) show({ [1] = 1, [3] = 3 }) show({ [1.5] = 1 })
        show({ ["odd key"] = { io.stdout } }) show({ [0] = 1 }) show({ [true] = 1 })
        local marked = json.array {}
        marked.name = 1
        show(marked)
        local circle = {}
        circle.again = circle
        show(circle)
        return table.concat(out, "\n")
        "#,
    );
    assert_snapshot!(text, @r#"
    a[1].b is NaN, which JSON cannot say
    the value is inf, which JSON cannot say
    f is a function, which JSON cannot say
    [1] is a string that is not UTF-8
    the value has a key that is not UTF-8
    the value has both positions and names as keys
    the value is a list with holes; an empty place is `json.null`
    the value has a key that is neither a string nor a position: 1.5
    ["odd key"][1] is a userdata, which JSON cannot say
    the value has a key that is neither a string nor a position: 0
    the value has a key that is neither a string nor a position: true
    the value is marked as an array and has names as keys
    again.again.again.again.again.again.again.again … .again.again.again.again.again.again.again.again is nested deeper than 128 levels, or contains itself
    "#);
}

#[test]
fn broken_text_is_told_with_its_place() {
    let machine = talking("");
    let text = machine.text(
        r#"
        local out = {}
        for _, text in ipairs {
          '', '{', '[1,]', '{"a"}', '{"a":1,}', '{a:1}', '01', '1.', '-', '+1', '.5', 'nul', '"x',
          '"\\x"', '"\\u12"', '"\1"', '"\255"', '[1] 2', '{"a":1 "b":2}', "'x'", '\xEF\xBB\xBF{}',
          '\n  [\n 1 2]', 'NaN', 'Infinity', '\0',
        } do
          out[#out + 1] = refused(panto.json.decode(text))
        end
        return table.concat(out, "\n")
        "#,
    );
    assert_snapshot!(text, @"
    line 1, column 1: expected a value, found the end of the text
    line 1, column 2: expected a key in double quotes
    line 1, column 4: expected a value
    line 1, column 5: expected `:`
    line 1, column 8: expected a key in double quotes
    line 1, column 2: expected a key in double quotes
    line 1, column 2: expected the end of the text
    line 1, column 1: expected a number
    line 1, column 1: expected a number
    line 1, column 1: expected a value
    line 1, column 1: expected a value
    line 1, column 1: expected a value
    line 1, column 3: the string has no end
    line 1, column 2: an unknown escape
    line 1, column 2: expected four hexadecimal digits
    line 1, column 2: a control character in a string
    line 1, column 2: the text is not UTF-8
    line 1, column 5: expected the end of the text
    line 1, column 8: expected `,` or `}`
    line 1, column 1: expected a value
    line 1, column 1: expected a value
    line 3, column 4: expected `,` or `]`
    line 1, column 1: expected a value
    line 1, column 1: expected a value
    line 1, column 1: expected a value
    ");
}

#[test]
fn depth_has_a_limit_in_both_directions() {
    let machine = talking("");
    machine.exec(
        r#"
        local json = panto.json
        assert(json.decode(("["):rep(128) .. ("]"):rep(128)))
        assert(refused(json.decode(("["):rep(129) .. ("]"):rep(129))):find("128 levels"))
        refused(json.decode(("["):rep(1000000)))
        local deep = json.decode(("["):rep(128) .. ("]"):rep(128))
        assert(json.encode(deep))
        assert(refused(json.encode({ deep })):find("128 levels"))
        -- Metamethods have no say.
        local trap = setmetatable({ a = 1 }, { __index = error, __len = error, __pairs = error })
        assert(json.encode(trap) == '{"a":1}')
        "#,
    );
}

#[test]
fn misuse_names_the_argument_at_the_caller() {
    let machine = talking("");
    let text = machine.text(
        r#"
        local json = panto.json
        return table.concat({
          raised(function() json.decode(1) end), raised(function() json.decode() end),
          raised(function() json.encode() end), raised(function() json.array(1) end),
          raised(function() json.array(setmetatable({}, {})) end),
          raised(function() json.number("1x") end),
        }, "\n")
        "#,
    );
    assert_snapshot!(text, @"
    test:4: bad argument 'text' to 'decode' (string expected, got number)
    test:4: bad argument 'text' to 'decode' (string expected, got nil)
    test:5: bad argument 'value' to 'encode' (value expected, got nil; null is `json.null`)
    test:5: bad argument 'table' to 'array' (table expected, got number)
    test:6: bad argument 'table' to 'array' (the table has a metatable already)
    test:7: bad argument 'text' to 'number' (not a JSON number)
    ");
}

fn any_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>()
            .prop_filter("JSON has no others", |number| number.is_finite())
            .prop_map(Into::into),
        ".*".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::vec((".{0,6}", inner), 0..6)
                .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
        ]
    })
}

thread_local! {
    static MACHINE: Machine = talking("");
}

proptest! {
    #[test]
    fn every_value_comes_back_as_it_was(value in any_value()) {
        let again = MACHINE.with(|machine| {
            let json = machine.module.json();
            let lua = json.decode(&machine.lua, value.to_string().as_bytes()).unwrap();
            json.encode(&lua).unwrap()
        });
        let again: serde_json::Value = serde_json::from_str(&again).unwrap();
        prop_assert_eq!(again, value);
    }

    #[test]
    fn no_bytes_are_taken_that_another_reader_refuses(bytes in "[\\[\\]{}\",:0-9a-f.eE+\\-ntruls \\\\\u{1}\u{e9}]{0,24}") {
        let taken = MACHINE.with(|machine| {
            machine.module.json().decode(&machine.lua, bytes.as_bytes()).is_ok()
        });
        let known = serde_json::from_str::<serde::de::IgnoredAny>(&bytes).is_ok();
        prop_assert_eq!(taken, known, "{}", bytes);
    }
}
