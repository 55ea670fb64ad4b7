use insta::assert_snapshot;

use crate::support::talking;

#[test]
fn a_conversation_is_built_and_read() {
    let machine = talking("");
    let text = machine.text(
        r#"
        local conv = panto.conversation()
        assert(conv:len() == 0 and #conv == 0)
        assert(conv:add_system_message("Be brief.", { by = "host" }) == 1)
        assert(conv:add_compaction_summary("What was before.") == 2)
        assert(conv:add_user_message("Look.") == 3)
        conv:add_assistant_message({
          { type = "thinking", text = "Hm.", signature = "s1" },
          { type = "text", text = "I look." },
          { type = "tool_call", id = "c1", name = "files.read", input = '{"path":"x"}' },
        })
        conv:add_tool_message({ { type = "tool_result", id = "c1", content = "found" } }, { n = 1 })
        conv:add_user_message({ { type = "attachment", media_type = "image/png", data = "\0\255" } })
        assert(conv:len() == 6)
        return conv:transcript()
        "#,
    );
    assert_snapshot!(text, @r#"
    [summary of earlier messages]
      What was before.

    [user]
      Look.

    [assistant]
      I look.

    [tool call c1: files.read]
      {"path":"x"}

    [tool result c1: ok]
      found

    [attachment image/png, 2 bytes]
    "#);
}

#[test]
fn messages_are_copies_whose_blocks_can_be_fed_back() {
    let machine = talking("");
    machine.exec(
        r#"
        local conv = panto.conversation()
        conv:add_assistant_message({
          { type = "text", text = "a", raw = '{"x":1}' },
          { type = "thinking", text = "", signature = "s" },
          { type = "tool_call", id = "c", name = "t", input = "{}" },
          { type = "opaque", raw = "[1]" },
        })
        conv:add_tool_message({ { type = "tool_result", id = "c", status = "error", content = {
          { type = "text", text = "no" },
          { type = "attachment", media_type = "text/plain", data = "\1" },
        } } })
        conv:add_compaction_summary("s")
        local copy = panto.conversation()
        for _, message in ipairs(conv:messages()) do
          copy["add_" .. message.role .. "_message"](copy, message.blocks, message.metadata)
        end
        local function shown(c)
          local list = c:messages()
          -- Bytes are not JSON.
          list[2].blocks[1].content[2].data = nil
          return assert(panto.json.encode(list))
        end
        assert(shown(conv) == shown(copy))
        conv:messages()[1].role = "user"
        conv:messages()[1].blocks[1].text = "changed"
        assert(conv:messages()[1].blocks[1].text == "a")
        assert(conv:messages()[1].id == nil and conv:messages()[1].parent == nil)
        "#,
    );
}

#[test]
fn metadata_is_counted_from_one_and_an_object() {
    let machine = talking("");
    machine.exec(
        r#"
        local conv = panto.conversation()
        conv:add_user_message("one")
        conv:add_user_message("two", { kind = "second", list = { 1, 2 }, null = panto.json.null })
        assert(conv:message_metadata(1) == nil)
        local metadata = conv:message_metadata(2)
        assert(metadata.kind == "second" and metadata.list[2] == 2)
        assert(metadata.null == panto.json.null)
        assert(conv:set_message_metadata(1, { a = 1 }))
        assert(conv:message_metadata(1).a == 1)
        assert(conv:set_message_metadata(1, {}))
        assert(conv:message_metadata(1) == nil)
        assert(refused(conv:message_metadata(3)) == "the conversation has only 2 messages")
        assert(refused(conv:set_message_metadata(3, {})) == "the conversation has only 2 messages")
        assert(raised(function() conv:message_metadata(0) end):find("counted from 1", 1, true))
        assert(raised(function() conv:set_message_metadata(1, { 1 }) end):find("array", 1, true))
        assert(raised(function() conv:add_user_message("x", panto.json.array()) end)
          :find("bad argument 'metadata' to 'add_user_message' (a JSON object expected", 1, true))
        "#,
    );
}

#[test]
fn each_role_takes_its_own_blocks_only() {
    let machine = talking("");
    let text = machine.text(
        r#"
        local conv = panto.conversation()
        local call = { type = "tool_call", id = "c", name = "t", input = "{}" }
        return table.concat({
          raised(function() conv:add_user_message({ call }) end),
          raised(function() conv:add_tool_message("text") end),
          raised(function() conv:add_user_message({}) end),
          raised(function() conv:add_user_message(7) end),
          raised(function() conv:add_user_message("\255") end),
          raised(function() conv:add_user_message({ { type = "nope" } }) end),
          raised(function() conv:add_user_message({ { type = "text" } }) end),
          raised(function() conv:add_user_message({ { type = "text", text = "", x = 1 } }) end),
          raised(function() conv:add_user_message({ { text = "x" } }) end),
          raised(function() conv:add_user_message({ [2] = 1 }) end),
          raised(function() conv:add_user_message({ a = 1 }) end),
          raised(function() conv:add_assistant_message({ { type = "text", text = "", raw = "{" } }) end),
          raised(conv.len), raised(conv.len, panto.null_store()),
        }, "\n")
        "#,
    );
    assert_snapshot!(text, @"
    test:5: bad argument 'blocks' to 'add_user_message' (block 1 is none that a message of role user has)
    test:6: bad argument 'blocks' to 'add_tool_message' (block 1 is none that a message of role tool has)
    test:7: bad argument 'blocks' to 'add_user_message' (at least one block expected)
    test:8: bad argument 'blocks' to 'add_user_message' (string or list of blocks expected, got number)
    test:9: bad argument 'blocks' to 'add_user_message' (the text is not UTF-8)
    test:10: bad argument 'blocks[1].type' to 'add_user_message' (expected one of text, thinking, tool_call, tool_result, attachment, opaque, summary)
    test:11: bad argument 'blocks[1].text' to 'add_user_message' (string expected, got nil)
    test:12: bad argument 'blocks[1]' to 'add_user_message' (unknown field `x`; it takes `type`, `text`, `raw`)
    test:13: bad argument 'blocks[1].type' to 'add_user_message' (string expected, got nil)
    test:14: bad argument 'blocks' to 'add_user_message' (a list expected, got one with holes)
    test:15: bad argument 'blocks' to 'add_user_message' (a list expected, got a table with other keys)
    test:16: bad argument 'blocks[1].raw' to 'add_assistant_message' (not JSON: EOF while parsing an object at line 1 column 1)
    bad argument 'self' to 'len' (panto.Conversation expected, got nil); call it as object:len(…)
    bad argument 'self' to 'len' (panto.Conversation expected, got panto.Store); call it as object:len(…)
    ");
}
