--- Text from outside.
local text = require("subagents.text")

describe("text", function()
  it("loses what nobody sees, and keeps the rest", function()
    assert.equal("ab\n\tc", (text.sanitize("a\0\27\8b\r\n\tc\127")))
    assert.equal("ab", (text.sanitize("a\u{202E}\u{200B}\u{2066}\u{FEFF}\u{E0041}\u{9B}\u{61C}b")))
    -- Joiners make words and pictures.
    local family = "👩\u{200D}👧 می\u{200C}خواهم é 代码"
    local cleaned, was_hidden = text.sanitize(family)
    assert.equal(family, cleaned)
    assert.is_false(was_hidden)
    assert.is_true(select(2, text.sanitize("a\u{202E}")))
  end)

  it("is one line", function()
    assert.equal("a b c", text.one_line("  a\r\n\n b\u{2028}c\t\n"))
    assert.equal("", text.one_line(" \n "))
  end)

  it("is trimmed at both ends", function()
    assert.equal("a\n  b", text.trim("\n\n a\n  b \n"))
    assert.equal("", text.trim(" \n"))
    local long = "a" .. (" "):rep(200000) .. "b"
    assert.equal(long, text.trim(long))
  end)

  it("is cut between characters", function()
    assert.same({ "é", true }, { text.cut("éé", 3) })
    assert.same({ "éé", false }, { text.cut("éé", 4) })
    assert.same({ "", true }, { text.cut("👩", 3) })
  end)

  it("of other bytes can be shown", function()
    assert.equal("caf?", text.text("caf\xE9"))
    assert.equal("café", text.text("café"))
  end)

  it("looks like other text", function()
    assert.equal(text.look("copy"), text.look("сору"))
    assert.equal("straße 代码", text.look("Straße 代码"))
  end)

  it("is so far from other text", function()
    for _, case in ipairs({
      { "model", "model", 0 },
      { "modle", "model", 1 },
      { "desciption", "description", 1 },
      { "name", "nom", 2 },
      { "abc", "xyz", 3 },
      { "", "ab", 2 },
      { "short", "much longer", 3 },
    }) do
      assert.equal(case[3], text.distance(case[1], case[2], 2))
    end
  end)
end)
