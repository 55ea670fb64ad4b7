--- What the frontmatter of a profile takes away: tools.
---
--- People bring profiles from other programs, whose tools have other names. What is not understood
--- never gives more than what is: an entry that is left out of a list of allowed tools narrows it,
--- and a list that cannot be read costs the whole profile.
local text = require("subagents.text")

local M = {}

---@class subagents.Restriction
---@field allow string[]? only these; none if it is empty
---@field deny string[]? not these

---@class subagents.Problem
---@field level "info"|"warning"|"error"
---@field code string
---@field message string
---@field key string of the frontmatter

--- The keys of a profile that mean something here.
M.KEYS = {
  name = true,
  description = true,
  model = true,
  reasoning = true,
  tools = true,
  disallowedTools = true,
  excludedTools = true,
}

local DENYING = { "disallowedTools", "excludedTools" }

--- Our tools, and what others call them, in lower case.
local OURS = {}
for ours, names in pairs({
  read = "read readfile read_file read_many_files view view_file cat",
  write = "write writefile write_file create_file",
  edit = "edit editfile edit_file multiedit multi_edit replace str_replace str_replace_editor "
    .. "str_replace_based_edit_tool patch apply_patch",
  shell = "shell bash run_shell_command local_shell shell_command exec_command execute_command "
    .. "run_command run_in_terminal run_terminal_cmd",
  grep = "grep search_file_content grep_search search_files ripgrep",
  find = "find glob file_search find_files",
  ls = "ls list list_directory list_dir list_files readfolder",
  skill = "skill activate_skill",
}) do
  for name in names:gmatch("%S+") do
    OURS[name] = ours
  end
end

--- Tools of others that do more than the one which they are called after.
local ALSO_DENIES = { patch = "write", apply_patch = "write" }

--- Well-known tools that have no equal here, as they are written there.
local NO_EQUAL = {}
for name in
  ([[
    AskUserQuestion BashOutput EnterPlanMode ExitPlanMode KillBash KillShell ListMcpResources
    ListMcpResourcesTool LSP NotebookEdit NotebookRead ReadMcpResource ReadMcpResourceTool
    SlashCommand TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoRead TodoWrite
    ToolSearch WebFetch WebSearch
  ]]):gmatch("%S+")
do
  NO_EQUAL[name] = true
end

--- Delegation, which children never have.
local DELEGATION = { task = true, agent = true, spawn_agent = true, delegate = true }

--- Keys of others that take something away, which is not done here.
local NOT_ENFORCED = {
  approval_policy = true,
  approvalPolicy = true,
  permission = true,
  permissionMode = true,
  permissions = true,
  ["read-only"] = true,
  readOnly = true,
  read_only = true,
  readonly = true,
  sandbox = true,
  sandbox_mode = true,
  sandboxMode = true,
}

--- Values of `mode` that only say where a profile is offered.
local HARMLESS_MODES = { subagent = true, primary = true, all = true }

--- Keys that look like ours and are others' own.
local FOREIGN = { mode = true, models = true, tags = true, title = true, tooltip = true }

--- What people write for one of our keys, in lower case without `-` and `_`.
local MEANT = {
  allowedtools = "tools",
  allowtools = "tools",
  enabledtools = "tools",
  tool = "tools",
  toolset = "tools",
  bannedtools = "disallowedTools",
  blockedtools = "disallowedTools",
  deniedtools = "disallowedTools",
  denytools = "disallowedTools",
  disabledtools = "disallowedTools",
  disallowtools = "disallowedTools",
  forbiddentools = "disallowedTools",
  disallowedtools = "disallowedTools",
  disallowedtool = "disallowedTools",
  excludetools = "excludedTools",
  excludedtools = "excludedTools",
}

---@param value any
---@return string? word
local function word_of(value)
  if type(value) == "table" or value == nil then
    return nil
  end
  return text.one_line(tostring(value)):lower()
end

---@param key string
---@return string?
local function meant(key)
  if M.KEYS[key] or FOREIGN[key] or NOT_ENFORCED[key] then
    return nil
  end
  local bare = key:lower():gsub("[-_%s]", "")
  if MEANT[bare] then
    return MEANT[bare]
  end
  local best, least = nil, 3
  for known in pairs(M.KEYS) do
    -- In a short word two other letters make another word.
    local most = #known < 6 and 1 or 2
    local distance = text.distance(bare, known:lower(), most)
    if distance <= most and (distance < least or (distance == least and known < best)) then
      best, least = known, distance
    end
  end
  return best
end

--- What has been found out; a folder of profiles has few keys.
local KNOWN, MAX_KNOWN = {}, 1000
local known_keys = 0

--- The key of ours that a key is nearly.
---@param key string
---@return string?
function M.meant(key)
  local known = KNOWN[key]
  if known == nil then
    known = meant(key) or false
    if known_keys < MAX_KNOWN then
      KNOWN[key], known_keys = known, known_keys + 1
    end
  end
  return known or nil
end

--- Reads the lists of one frontmatter.
---@class subagents.RestrictionReader
---@field problems subagents.Problem[]
---@field key string whose list is read
---@field wrong string? why the list cannot be read
local Reader = {}
Reader.__index = Reader

---@param level "info"|"warning"|"error"
---@param code string
---@param message string
---@param ... any
function Reader:tell(level, code, message, ...)
  table.insert(self.problems, {
    level = level,
    code = code,
    message = message:format(...),
    key = self.key,
  })
end

--- The entries of a text: what commas, semicolons or white space part, but not within parentheses.
---@param value string
---@return string[]? entries nil if a parenthesis is not closed
local function split(value)
  local entries = {}
  if not value:find("[()]") then
    for entry in value:gmatch("[^,;%s]+") do
      entries[#entries + 1] = entry
    end
    return entries
  end
  local at, start, depth = 1, 1, 0
  local function close(last)
    local entry = text.trim(value:sub(start, last))
    if entry ~= "" then
      entries[#entries + 1] = entry
    end
  end
  while at <= #value do
    local char = value:sub(at, at)
    if char == "(" then
      depth = depth + 1
    elseif char == ")" then
      depth = depth - 1
    elseif depth == 0 and char:find("[,;%s]") then
      close(at - 1)
      start = at + 1
    end
    if depth < 0 then
      return nil
    end
    at = at + 1
  end
  close(#value)
  return depth == 0 and entries or nil
end

--- One entry as names of ours or of extensions' tools; nil if it names nothing.
---@param entry string
---@param denies boolean
---@return string[]? names
function Reader:names(entry, denies)
  if OURS[entry:lower()] and not denies then
    return { OURS[entry:lower()] }
  end
  local shown = text.cut(text.one_line(entry), 80)
  local quote, inner = entry:match("^([\"'`])(.*)%1$")
  if quote then
    entry = inner
  end
  if entry == "*" then
    return { "*" }
  end
  local bare, argument = entry:match("^([^()]+)(%b())$")
  local name = bare or entry
  local lower = name:lower()
  local delegates = DELEGATION[lower] or lower:find("^subagents%.") or lower == "subagents"
  -- An extension may have a tool of such a name.
  if delegates and not (denies and DELEGATION[lower]) then
    self:tell("info", "delegation", "`%s` is left out: a child never delegates", shown)
    return nil
  end
  -- A star is known at the end alone.
  local is_name = #name <= 128 and name:find("^[%w_][%w_.:/-]*%*?$")
  if not is_name then
    if denies then
      self.wrong = ("`%s` is not the name of a tool"):format(shown)
    else
      self:tell("warning", "tool_entry", "`%s` is not the name of a tool; left out", shown)
    end
    return nil
  end
  if argument and argument:find("^%(%s*%*%s*%)$") then
    -- All that the tool can do.
    argument = nil
  end
  if argument and not denies then
    local message = "`%s` is left out: a tool cannot be allowed for some of its uses only"
    self:tell("warning", "tool_pattern", message, shown)
    return nil
  elseif argument then
    local message = "`%s` denies the whole tool: it cannot be denied for some of its uses only"
    self:tell("warning", "tool_pattern", message, shown)
  end
  if NO_EQUAL[name] and not denies then
    self:tell("warning", "tool_unknown", "`%s` is left out: there is no such tool here", shown)
    return nil
  end
  if not denies then
    return { OURS[lower] or name }
  end
  -- Both what the name means and what has it; and of `Bash*` or `functions.shell` the tool.
  local stem = lower:gsub("^functions%.", ""):match("^[%w_-]+") or lower
  local names = { OURS[lower] or OURS[stem] }
  names[#names + 1] = ALSO_DENIES[lower]
  -- What is denied is compared without the case of letters.
  if lower ~= names[1] then
    names[#names + 1] = name
  end
  return names
end

--- What each list has already.
---@type table<string[], table<string, true>>
local SETS = setmetatable({}, { __mode = "k" })

---@param list string[]
---@param names string[]?
local function add(list, names)
  local set = SETS[list] or {}
  SETS[list] = set
  for _, name in ipairs(names or {}) do
    if not set[name] then
      set[name] = true
      list[#list + 1] = name
    end
  end
end

local YES = { ["true"] = true, yes = true, on = true, allow = true, enabled = true }
local NO = { ["false"] = true, no = true, off = true, deny = true, disabled = true }

---@param map table<string, any>
---@return boolean
local function has_yes(map)
  for _, value in pairs(map) do
    if YES[word_of(value)] then
      return true
    end
  end
  return false
end

--- A map of names to booleans, which says both.
---@param map table<string, any>
---@param lists { allow: string[]?, deny: string[], has_entries: boolean }
function Reader:map(map, lists)
  local keys = {}
  for key in pairs(map) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  local has_no = false
  local allowed, all = {}, nil
  for _, key in ipairs(keys) do
    lists.has_entries = true
    local said = word_of(map[key])
    if said and YES[said] then
      if key == "*" then
        all = true
      else
        add(allowed, self:names(key, false))
      end
    else
      has_no = true
      if not (said and NO[said]) then
        local shown = text.cut(text.one_line(key), 80)
        if not has_yes(map) then
          -- The others would stay.
          self.wrong = ("only `true` and `false` can be said of `%s`"):format(shown)
          return
        end
        local message = "`%s` is denied: only `true` and `false` can be said of a tool"
        self:tell("warning", "tool_value", message, shown)
      end
      if key == "*" then
        all = false
      else
        add(lists.deny, self:names(key, true))
      end
    end
  end
  if all == false and not has_yes(map) then
    -- Plainly none at all.
    lists.has_entries = false
  end
  -- With `*: true`, or denials only, the others stay.
  if all == true or (all == nil and has_no and #allowed == 0 and not has_yes(map)) then
    return
  end
  lists.allow = lists.allow or {}
  add(lists.allow, allowed)
end

--- Reads a value into lists.
---@param value any
---@param denies boolean
---@param lists { allow: string[]?, deny: string[], has_entries: boolean }
function Reader:value(value, denies, lists)
  if type(value) == "string" then
    local entries = split(value)
    if not entries then
      self.wrong = "a parenthesis has no counterpart"
      return
    end
    if not denies then
      lists.allow = lists.allow or {}
    end
    for _, entry in ipairs(entries) do
      lists.has_entries = true
      if entry:find("^[%[%]{}]") or entry:find("[%[%]{}]$") then
        self.wrong = "a bracket has no counterpart"
        return
      end
      add(denies and lists.deny or lists.allow, self:names(entry, denies))
    end
  elseif type(value) == "table" and (#value > 0 or next(value) == nil) then
    if not denies then
      lists.allow = lists.allow or {}
    end
    for _, item in ipairs(value) do
      lists.has_entries = true
      if type(item) ~= "string" then
        self.wrong = "an item of it is no text"
        return
      end
      self:value(item, denies, lists)
    end
  elseif type(value) == "table" and not denies then
    self:map(value, lists)
  elseif type(value) == "table" then
    for key, said in pairs(value) do
      lists.has_entries = true
      -- What is not plainly left alone is denied.
      if not NO[word_of(said)] then
        add(lists.deny, self:names(key, true))
      end
    end
    table.sort(lists.deny)
  elseif value == false then
    if not denies then
      lists.allow = {}
    end
  elseif value == true then
    add(denies and lists.deny or {}, { "*" })
  else
    self.wrong = "it is a number"
  end
end

--- Reads what a frontmatter takes away.
---
--- `tools` that is there and empty allows nothing. A map with a `true` allows what is `true`, one
--- with `false` only denies that; `"*"` in it says what holds for the others.
---@param data table<string, any> of `panto.ext.frontmatter`
---@param positions? table<string, integer> the lines of the keys; a key that is empty is only there
---@return subagents.Restriction? restriction nil if nothing is taken away, or it is fatal
---@return subagents.Problem[] problems
---@return boolean is_fatal whether the profile must not be used
function M.read(data, positions)
  local problems = {}
  local reader = setmetatable({ problems = problems }, Reader)
  local lists = { allow = nil, deny = {}, has_entries = false }
  local is_fatal = false
  local function fail(code, message)
    reader:tell("error", code, "skipped: %s", message)
    is_fatal = true
  end

  reader.key = "tools"
  if data.tools ~= nil or (positions and positions.tools) then
    reader:value(data.tools == nil and "" or data.tools, false, lists)
    if reader.wrong then
      fail("tools", ("`tools` cannot be read: %s"):format(reader.wrong))
    elseif lists.allow and #lists.allow == 0 and lists.has_entries then
      fail("tools", "`tools` names no tool that is known here, so that none would be left")
    elseif lists.allow and #lists.allow == 0 then
      reader:tell("warning", "no_tools", "`tools` is empty: the profile has no tools")
    end
  end
  for _, key in ipairs(DENYING) do
    if data[key] ~= nil then
      reader.key, reader.wrong = key, nil
      reader:value(data[key], true, lists)
      if reader.wrong then
        fail("tools", ("`%s` cannot be read: %s"):format(key, reader.wrong))
      end
    end
  end
  local hidden = M.other_keys(data, reader)
  if hidden then
    fail("tools", hidden)
  end
  if is_fatal then
    return nil, problems, true
  end
  for _, name in ipairs(lists.allow or {}) do
    if name == "*" then
      lists.allow = nil
      break
    end
  end
  local deny = #lists.deny > 0 and lists.deny or nil
  local restriction = (lists.allow or deny) and { allow = lists.allow, deny = deny } or nil
  return restriction, problems, false
end

--- What restricts a profile, in letters alone.
local RESTRICTS = { tools = true, disallowedtools = true, excludedtools = true }

--- Whether a key looks like one that restricts, but for what nobody sees or tells apart.
---@param key string
---@return boolean
local function is_disguised(key)
  if M.KEYS[key] then
    return false
  end
  local lower = key:lower()
  local first = lower:match("^(%a+)[.%[:/]")
  if first and RESTRICTS[first] then
    return true
  end
  if not lower:find("[\x80-\xFF]") then
    return false
  end
  local plain = lower:gsub("[\xC2-\xF4][\x80-\xBF]*", "?")
  local bare = plain:gsub("[^%a]", "")
  if RESTRICTS[bare] then
    return true
  end
  for known in pairs(RESTRICTS) do
    if #known == #plain and known:find("^" .. plain:gsub("%W", ".") .. "$") then
      return true
    end
  end
  return false
end

--- Names keys that would take something away elsewhere, and those that are nearly ours.
---@param data table<string, any>
---@param reader subagents.RestrictionReader
---@return string? message a restriction that cannot be understood
function M.other_keys(data, reader)
  local hidden
  local keys = {}
  for key in pairs(data) do
    keys[#keys + 1] = tostring(key)
  end
  table.sort(keys)
  for _, key in ipairs(keys) do
    reader.key = key
    if is_disguised(key) then
      local shown = text.cut(text.one_line(key), 80)
      hidden = ("`%s` may restrict it, and cannot be read"):format(shown)
    end
    if NOT_ENFORCED[key] or key == "mode" then
      local said = word_of(data[key]) or ""
      if not NO[said] and not (key == "mode" and HARMLESS_MODES[said]) then
        reader:tell("warning", "not_enforced", "`%s` is not enforced here; use `tools`", key)
      end
    elseif not M.KEYS[key] then
      local ours = M.meant(key)
      local message = "`%s` is ignored; `%s` is meant?"
      if ours and ours:lower():find("tools$") then
        message = "`%s` restricts nothing; `%s` is meant?"
      end
      if ours and data[ours] ~= nil then
        message = "`%s` is ignored; `%s` counts"
      end
      if ours then
        reader:tell("warning", "near_key", message, text.cut(text.one_line(key), 80), ours)
      end
    end
  end
  return hidden
end

--- Whether an entry of a list means a tool.
---@param entry string
---@param name string
---@param is_lenient boolean
---@return boolean
local function matches(entry, name, is_lenient)
  if is_lenient then
    entry, name = entry:lower(), name:lower()
  end
  if entry == "*" or entry == name then
    return true
  end
  local prefix = entry:match("^(.+)%*$")
  if not prefix and entry:find("^mcp__") then
    -- A server by itself stands for all that it has.
    prefix = entry .. "__"
  end
  return prefix ~= nil and name:sub(1, #prefix) == prefix
end

--- What of the caller's tools is left.
---@param restriction subagents.Restriction?
---@param names string[]
---@return string[] kept in the order of `names`
---@return string[] unmatched entries that match no name
function M.apply(restriction, names)
  local kept, unmatched = {}, {}
  local allow = restriction and restriction.allow
  local deny = restriction and restriction.deny
  local has_matched = {}
  local function is_in(list, name, is_lenient)
    local found = false
    for _, entry in ipairs(list) do
      if matches(entry, name, is_lenient) then
        has_matched[entry], found = true, true
      end
    end
    return found
  end
  for _, name in ipairs(names) do
    local is_allowed = not allow or is_in(allow, name, false)
    local is_denied = deny ~= nil and is_in(deny, name, true)
    if is_allowed and not is_denied then
      kept[#kept + 1] = name
    end
  end
  for _, list in ipairs({ allow or {}, deny or {} }) do
    for _, entry in ipairs(list) do
      -- Another program's name for a tool of ours stands beside ours.
      local ours = OURS[entry:lower()]
      local is_told = list == allow
        or ((not ours or ours == entry) and not DELEGATION[entry:lower()])
      if not has_matched[entry] and entry ~= "*" and is_told then
        has_matched[entry] = true
        unmatched[#unmatched + 1] = entry
      end
    end
  end
  return kept, unmatched
end

return M
