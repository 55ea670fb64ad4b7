--- What profiles of any origin take away.
local restriction = require("subagents.restriction")

--- What a list of allowed tools comes to, and the codes of what was said.
local function read(data, positions)
  local found, problems, is_fatal = restriction.read(data, positions)
  local codes = {}
  for i, problem in ipairs(problems) do
    codes[i] = problem.level .. " " .. problem.code
  end
  return found, codes, is_fatal
end

local OURS = { "read", "write", "edit", "shell", "grep", "find", "ls", "skill" }

describe("names", function()
  it("of other programs are ours, in any case", function()
    for theirs, ours in pairs({
      Read = "read",
      READ = "read",
      read_file = "read",
      Write = "write",
      write_file = "write",
      Edit = "edit",
      MultiEdit = "edit",
      replace = "edit",
      apply_patch = "edit",
      Bash = "shell",
      bash = "shell",
      run_shell_command = "shell",
      local_shell = "shell",
      Grep = "grep",
      search_file_content = "grep",
      Glob = "find",
      glob = "find",
      LS = "ls",
      list = "ls",
      list_directory = "ls",
      Skill = "skill",
      ["'Read'"] = "read",
      ["`Read`"] = "read",
      ["Bash(*)"] = "shell",
    }) do
      local found, codes, is_fatal = read({ tools = theirs })
      assert.same({ allow = { ours } }, found, theirs)
      assert.same({}, codes, theirs)
      assert.is_false(is_fatal)
    end
  end)

  it("of extensions' tools stay as they are", function()
    local found, codes = read({ tools = "Read, deploy.now, mcp__github__*, Web_Fetch" })
    assert.same({ "read", "deploy.now", "mcp__github__*", "Web_Fetch" }, found.allow)
    assert.same({}, codes)
  end)

  it("of tools that have no equal are left out of what is allowed", function()
    local found, codes = read({ tools = { "Read", "WebFetch", "NotebookEdit" } })
    assert.same({ allow = { "read" } }, found)
    assert.same({ "warning tool_unknown", "warning tool_unknown" }, codes)
    found, codes = read({ disallowedTools = { "WebFetch" } })
    assert.same({ deny = { "WebFetch" } }, found)
    assert.same({}, codes)
  end)

  it("of delegation are left out", function()
    local found, codes = read({ tools = "Read, Task, Agent(x, y), subagents.run" })
    assert.same({ allow = { "read" } }, found)
    assert.same({ "info delegation", "info delegation", "info delegation" }, codes)
    local is_fatal
    -- An extension may have a tool of this name.
    found, codes, is_fatal = read({ disallowedTools = "Task" })
    assert.same({ deny = { "Task" } }, found)
    assert.same({}, codes)
    assert.is_false(is_fatal)
  end)
end)

describe("a list", function()
  it("is a text with commas or spaces, a list, or a map", function()
    for _, tools in ipairs({
      "Read, Grep",
      "Read Grep",
      "Read;Grep,,",
      { "Read", "Grep" },
      { "Read, Grep" },
      { "Read", "read", "Grep" },
    }) do
      assert.same({ allow = { "read", "grep" } }, (read({ tools = tools })))
    end
    assert.is_nil((read({})))
    assert.is_nil((read({ tools = "*" })))
    assert.is_nil((read({ tools = true })))
    assert.same({ allow = {} }, (read({ tools = false })))
  end)

  it("that is a map says both", function()
    for _, case in ipairs({
      { { read = true, bash = false }, { allow = { "read" }, deny = { "shell", "bash" } } },
      { { write = false, edit = false }, { deny = { "edit", "write" } } },
      { { ["*"] = false, read = true }, { allow = { "read" } } },
      { { ["*"] = true, bash = false }, { deny = { "shell", "bash" } } },
      { { ["*"] = false }, { allow = {} } },
      { { read = "allow", bash = "deny" }, { allow = { "read" }, deny = { "shell", "bash" } } },
      { { ["mcp__x__*"] = false }, { deny = { "mcp__x__*" } } },
    }) do
      local found, codes, is_fatal = read({ tools = case[1] })
      assert.same(case[2], found)
      assert.is_false(is_fatal)
      assert.same(case[2].allow and #case[2].allow == 0 and { "warning no_tools" } or {}, codes)
    end
    -- What is neither yes nor no is no.
    local found, codes = read({ tools = { read = true, bash = { ["git *"] = "allow" } } })
    assert.same({ allow = { "read" }, deny = { "shell", "bash" } }, found)
    assert.same({ "warning tool_value" }, codes)
  end)

  it("of which nothing is known, or that cannot be read, is fatal", function()
    for _, data in ipairs({
      { tools = "WebFetch" },
      { tools = "Task" },
      { tools = "Bash(git:*)" },
      { tools = { WebFetch = true } },
      { tools = 7 },
      { tools = { 7 } },
      { tools = { { "Read" } } },
      { tools = "[Read" },
      { tools = "Read)" },
      { tools = "!Bash" },
      { tools = "*Read" },
      { disallowedTools = "Bash(" },
      { disallowedTools = "!Bash" },
      { excludedTools = { true } },
      { excludedTools = 1 },
      { tools = "Read", excludedTools = 1 },
    }) do
      local found, codes, is_fatal = read(data)
      assert.is_true(is_fatal, data)
      assert.is_nil(found)
      assert.equal("error tools", codes[#codes])
    end
  end)

  it("that is there and empty allows nothing", function()
    for _, data in ipairs({ { tools = "" }, { tools = " , " }, { tools = {} }, {} }) do
      local found, codes, is_fatal = read(data, { tools = 3 })
      assert.same({ allow = {} }, found)
      assert.same({ "warning no_tools" }, codes)
      assert.is_false(is_fatal)
    end
  end)

  it("does not allow a tool for some of its uses, and denies it for all", function()
    local found, codes = read({ tools = "Read, Bash(git log:*, git diff:*)" })
    assert.same({ allow = { "read" } }, found)
    assert.same({ "warning tool_pattern" }, codes)
    found, codes = read({ disallowedTools = "Bash(rm:*)" })
    assert.same({ deny = { "shell", "Bash" } }, found)
    assert.same({ "warning tool_pattern" }, codes)
  end)

  it("that is a map with anything but yes and no costs the profile", function()
    for _, said in ipairs({ 1, "always", "y", { allow = true } }) do
      local found, _, is_fatal = read({ tools = { read = said } })
      assert.is_nil(found)
      assert.is_true(is_fatal)
    end
  end)

  it("of what is denied takes a tool away however it is spelt", function()
    local tools = { "shell", "bash", "Shell", "mcp__git__push", "task", "read" }
    for entry, kept in pairs({
      ["Bash*"] = { "mcp__git__push", "task", "read" },
      ["SHELL*"] = { "bash", "mcp__git__push", "task", "read" },
      ["shell:*"] = { "bash", "mcp__git__push", "task", "read" },
      ["functions.shell"] = { "bash", "mcp__git__push", "task", "read" },
      ["Bash"] = { "mcp__git__push", "task", "read" },
      ["mcp__Git*"] = { "shell", "bash", "Shell", "task", "read" },
      ["MCP__git"] = { "shell", "bash", "Shell", "task", "read" },
      ["task"] = { "shell", "bash", "Shell", "mcp__git__push", "read" },
    }) do
      local found = read({ disallowedTools = entry })
      assert.same(kept, (restriction.apply(found, tools)))
    end
  end)

  it("behind what nobody sees costs the profile", function()
    for _, key in ipairs({
      "\u{A0}tools",
      "tools\u{200D}",
      "too\u{34F}ls",
      "t\u{43E}\u{43E}ls",
      "tools.read",
      "disallowed\u{AD}Tools",
    }) do
      local _, _, is_fatal = read({ [key] = "read" })
      assert.is_true(is_fatal)
    end
    local _, _, is_fatal = read({ ["größe"] = "1" })
    assert.is_false(is_fatal)
  end)

  it("may be long", function()
    local names = {}
    for i = 1, 20000 do
      names[i] = "t" .. i
    end
    local found = read({ tools = names })
    assert.equal(20000, #found.allow)
  end)

  it("of what is denied has two names", function()
    local found = read({ disallowedTools = "Bash", excludedTools = { "Edit", "Bash" } })
    assert.same({ deny = { "shell", "Bash", "edit" } }, found)
    found = read({ excludedTools = "apply_patch" })
    assert.same({ deny = { "edit", "write", "apply_patch" } }, found)
  end)
end)

describe("keys", function()
  it("that are nearly ours are told, and others are not", function()
    for key, ours in pairs({
      allowedTools = "tools",
      ["allowed-tools"] = "tools",
      tool = "tools",
      TOOLS = "tools",
      disallowed_tools = "disallowedTools",
      excludeTools = "excludedTools",
      nmae = "name",
      Name = "name",
      modle = "model",
      desciption = "description",
      reasonning = "reasoning",
    }) do
      assert.equal(ours, restriction.meant(key), key)
    end
    for _, key in ipairs({
      "name",
      "tools",
      "mode",
      "color",
      "memory",
      "skills",
      "hooks",
      "temperature",
      "maxTurns",
      "version",
      "title",
      "background",
      "effort",
      "mcpServers",
      "license",
      "x",
    }) do
      assert.is_nil(restriction.meant(key), key)
    end
  end)

  it("that restrict elsewhere are told", function()
    for _, data in ipairs({
      { permissionMode = "plan" },
      { permission = { edit = "deny" } },
      { readonly = true },
      { mode = "plan" },
      { sandbox = "read-only" },
    }) do
      local _, codes, is_fatal = read(data)
      assert.same({ "warning not_enforced" }, codes)
      assert.is_false(is_fatal)
    end
    for _, data in ipairs({ { readonly = false }, { mode = "subagent" }, { mode = "all" } }) do
      local _, codes = read(data)
      assert.same({}, codes)
    end
  end)
end)

describe("applying", function()
  local function apply(restricted, names)
    local kept, unmatched = restriction.apply(restricted, names or OURS)
    return kept, unmatched
  end

  it("takes the intersection, then what is denied", function()
    assert.same(OURS, (apply(nil)))
    assert.same(OURS, (apply({})))
    assert.same({ "read", "grep" }, (apply({ allow = { "grep", "read" } })))
    assert.same({ "read" }, (apply({ allow = { "read", "shell" }, deny = { "shell" } })))
    assert.same({}, (apply({ allow = {} })))
    assert.same({}, (apply({ deny = { "*" } })))
    assert.same({ "write", "ls" }, (apply({ deny = { "read" } }, { "read", "write", "ls" })))
  end)

  it("never gives what the caller has not", function()
    local kept, unmatched = apply({ allow = { "read", "shell", "deploy" } }, { "read" })
    assert.same({ "read" }, kept)
    assert.same({ "shell", "deploy" }, unmatched)
  end)

  it("knows beginnings, and servers by themselves", function()
    local names = { "mcp__git__log", "mcp__git__push", "mcp__github__x", "read" }
    local git = { "mcp__git__log", "mcp__git__push" }
    assert.same(git, (apply({ allow = { "mcp__git__*" } }, names)))
    assert.same(git, (apply({ allow = { "mcp__git" } }, names)))
    assert.same({ "mcp__github__x", "read" }, (apply({ deny = { "mcp__git" } }, names)))
    assert.same({ "read" }, (apply({ deny = { "mcp__*" } }, names)))
  end)

  it("says which entries matched nothing, those that deny included", function()
    local _, unmatched = apply({ allow = { "read", "x" }, deny = { "y", "x", "shell" } })
    assert.same({ "x", "y" }, unmatched)
    _, unmatched = apply({ deny = { "*" } }, {})
    assert.same({}, unmatched)
  end)

  it("is exact with what it allows, and not with what it denies", function()
    local kept = apply({ allow = { "Deploy" } }, { "deploy" })
    assert.same({}, kept)
    kept = apply({ deny = { "Deploy" } }, { "deploy", "read" })
    assert.same({ "read" }, kept)
  end)
end)
