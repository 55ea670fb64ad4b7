--- Children: where their conversations lie, how one begins and how one goes on.
local panto = require("panto")
local manifests = require("subagents.manifest")
local prompts = require("subagents.prompts")
local restriction = require("subagents.restriction")
local text = require("subagents.text")
local uv = require("luv")

local M = {}

--- A conversation that is ready for its next turn.
---@class subagents.Child
---@field id string
---@field profile string its name
---@field agent panto.Agent
---@field config panto.Config
---@field tools string[] the names of what it may call
---@field file string? where its conversation is kept
---@field is_new boolean
---@field notices string[]
---@field unmatched string[]? of its profile's lists

local CANONICAL = "^" .. ("%x"):rep(8) .. ("%-" .. ("%x"):rep(4)):rep(3) .. "%-" .. ("%x"):rep(12)

--- Whether a text may name a child: the canonical form of a UUID, so that no path is made of
--- anything else.
---@param id string
---@return boolean
function M.is_id(id)
  return #id == 36 and id:find(CANONICAL) ~= nil and id == id:lower()
end

--- The directory of a primary's children.
---@param sessions string the directory of the primary's session
---@param primary string its id
---@return string
function M.directory(sessions, primary)
  return sessions .. "/subagents/" .. primary
end

--- The store of the children of the session, and its directory; a store that keeps nothing if the
--- session is not kept.
---@param session panto.ext.SessionInfo
---@return panto.Store store
---@return string? dir
function M.store(session)
  if not session.directory then
    return panto.null_store(), nil
  end
  local dir = M.directory(session.directory, session.id)
  return panto.file_system_jsonl_store({ dir = dir }), dir
end

--- The tools of the caller that a child may have, less what its profile takes away.
---@param caller panto.Agent
---@param restricted subagents.Restriction?
---@return panto.ToolDeclaration[]? tools
---@return string[]|string names, or the message
---@return string[]? unmatched
local function tools_for(caller, restricted)
  local declared, message = caller:tools()
  if not declared then
    return nil, message or "the tools cannot be read"
  end
  local by_name, names = {}, {}
  for _, tool in ipairs(declared) do
    if tool.name:sub(1, #prompts.NAMESPACE) ~= prompts.NAMESPACE then
      by_name[tool.name] = tool
      names[#names + 1] = tool.name
    end
  end
  local unmatched
  if restricted then
    names, unmatched = restriction.apply(restricted, names)
  end
  local tools = {}
  for i, name in ipairs(names) do
    tools[i] = by_name[name]
  end
  table.sort(names)
  return tools, names, unmatched
end

--- Settles a call of the native module that gives `nil, message` if it fails.
local function check(value, message)
  if not value then
    error({ message = message }, 0)
  end
  return value
end

--- Runs `build`, and lets go of the agent if it fails.
---@param agent panto.Agent
---@param build fun()
---@return boolean ok
---@return string? message
local function built(agent, build)
  local ok, failure = xpcall(build, function(raised)
    return type(raised) == "table" and raised or debug.traceback(tostring(raised), 2)
  end)
  if ok then
    return true
  end
  agent:close()
  if type(failure) == "table" then
    return false, failure.message
  end
  error(failure, 0)
end

--- What people are told an agent is: on one line, and of so many bytes as a label can have.
---@param profile string
---@return string
local function label(profile)
  return (text.cut(text.one_line(text.text(profile)), 100))
end

---@class subagents.Beginning
---@field session panto.ext.SessionInfo
---@field caller panto.Agent
---@field profile subagents.Profile
---@field body string
---@field config panto.Config
---@field tool_call_id string

--- Begins a child. Nothing of it is on disk before its first answer.
---@async
---@param options subagents.Beginning
---@return subagents.Child? child
---@return string? message
function M.begin(options)
  local profile, session = options.profile, options.session
  local store, dir = M.store(session)
  local tools, names, unmatched = tools_for(options.caller, profile.restriction)
  if not tools then
    return nil, names --[[@as string]]
  end
  local agent, message = panto.agent({
    config = options.config,
    store = store,
    cwd = session.cwd,
    label = label(profile.name),
  })
  if not agent then
    return nil, message
  end
  local ok, failure = built(agent, function()
    check(agent:set_tools(tools))
    local context = options.caller:system_prompt()
    if context and context:find("%S") then
      check(agent:add_system_message(context))
    end
    local metadata = manifests.of_child({
      owner = session.id,
      profile = profile.name,
      tool_call_id = options.tool_call_id,
      tools = profile.restriction,
    })
    -- Some providers refuse an empty message.
    local is_empty = options.body == ""
    check(agent:add_system_message(prompts.ROLE, is_empty and metadata or nil))
    if not is_empty then
      check(agent:add_system_message(options.body, metadata))
    end
  end)
  if not ok then
    return nil, failure
  end
  local id = agent:session_id() --[[@as string]]
  return {
    id = id,
    profile = profile.name,
    agent = agent,
    config = options.config,
    tools = names,
    file = dir and dir .. "/" .. id .. ".jsonl",
    is_new = true,
    notices = {},
    unmatched = unmatched,
  }
end

local WHY = {
  not_found = "there is no child `%s` of this session; the id is in the result of the call that "
    .. "began it",
  in_use = "the child `%s` is in use by another process: %s",
  in_use_here = "the child `%s` is already active; wait for its result",
  newer_version = "the child `%s` was written by a newer version of panto",
  foreign = "`%s` is not a child of this session: %s",
}

--- Why a child cannot be had.
---@param id string
---@param message string?
---@param code string?
---@return string
function M.refusal(id, message, code)
  local known = WHY[code]
  if known then
    return known:format(id, message)
  end
  return ("the child `%s` cannot be read: %s"):format(id, message)
end

---@param list string[]
---@param other string[]
---@return string[] names in `list` and not in `other`
local function missing_in(list, other)
  local there, missing = {}, {}
  for _, name in ipairs(other) do
    there[name] = true
  end
  for _, name in ipairs(list) do
    if not there[name] then
      missing[#missing + 1] = name
    end
  end
  return missing
end

--- What has changed under a child since its last turn.
---@param child subagents.Child
---@param before subagents.Stamp?
---@param message panto.Message with its manifest
---@param profile subagents.Profile? as it is now
local function note_drift(child, before, message, profile)
  local notices = child.notices
  if before and before.tools then
    local gone = missing_in(before.tools, child.tools)
    local new = missing_in(child.tools, before.tools)
    if #gone > 0 then
      notices[#notices + 1] = "it no longer has the tools " .. table.concat(gone, ", ")
    end
    if #new > 0 then
      notices[#notices + 1] = "it now also has the tools " .. table.concat(new, ", ")
    end
  end
  local body = message.blocks[1] and message.blocks[1].text or ""
  if body == prompts.ROLE then
    body = ""
  end
  local keeps = "; the child keeps what it began with"
  if not profile then
    notices[#notices + 1] = ("the profile `%s` is gone"):format(child.profile) .. keeps
  elseif (profile.body()) ~= body then
    notices[#notices + 1] = ("the profile `%s` has changed"):format(child.profile) .. keeps
  end
end

---@class subagents.Continuation
---@field session panto.ext.SessionInfo
---@field caller panto.Agent
---@field id string
---@field profiles subagents.Catalog
---@field placeholder panto.Config until it is known which one it is
---@field configure fun(last: subagents.Stamp?): panto.Config?, string?

--- Goes on with a child. It is locked from then on.
---@async
---@param options subagents.Continuation
---@return subagents.Child? child
---@return string? message
function M.go_on(options)
  local id, session = options.id, options.session
  if not M.is_id(id) then
    return nil, "`id` must be the id in a result of `subagents.run`, a UUID"
  end
  local store, dir = M.store(session)
  if not dir then
    return nil, "this session is not kept, so its children are not either; start a new one"
  end
  local manifest, message, code = manifests.read(store, id)
  if not manifest then
    return nil, M.refusal(id, message --[[@as string]], code)
  end
  if manifest.owner ~= session.id then
    return nil, ("the child `%s` belongs to another session, `%s`"):format(id, manifest.owner)
  end
  local agent, failure, why = panto.agent({
    config = options.placeholder,
    store = store,
    session_id = id,
    cwd = session.cwd,
    label = label(manifest.profile),
  })
  if not agent then
    return nil, M.refusal(id, failure, why)
  end
  -- Read behind the lock: nobody can add a turn any more.
  local last = manifests.last_stamp(store, id)
  local config, wrong = options.configure(last)
  if not config then
    agent:close()
    return nil, wrong
  end
  local tools, names = tools_for(options.caller, manifest.tools)
  if not tools then
    agent:close()
    return nil, names --[[@as string]]
  end
  local ok, broken = built(agent, function()
    check(agent:set_config(config))
    check(agent:set_tools(tools))
  end)
  if not ok then
    return nil, broken
  end
  local child = {
    id = id,
    profile = manifest.profile,
    agent = agent,
    config = config,
    tools = names,
    file = dir .. "/" .. id .. ".jsonl",
    is_new = false,
    notices = {},
  }
  note_drift(child, last, message, options.profiles.by_name[manifest.profile])
  return child
end

--- Whether a child's conversation is on disk.
---@param child subagents.Child
---@return boolean
function M.is_kept(child)
  return child.file ~= nil and uv.fs_stat(child.file) ~= nil
end

---@class subagents.OfCall
---@field id string
---@field profile string
---@field store panto.Store
---@field is_last boolean whether the call is that of its last turn

--- The children on disk by the calls that began them and that went on with them last.
---@param session panto.ext.SessionInfo
---@return table<string, subagents.OfCall>
function M.by_call(session)
  local store, dir = M.store(session)
  local list = dir and store:list() or {}
  local by_call = {}
  -- The one that was modified last counts: some providers use an id again.
  for i = #list, 1, -1 do
    local id = list[i].id
    local manifest = manifests.read(store, id, true)
    if manifest and manifest.owner == session.id then
      local last = manifests.last_stamp(store, id)
      local called = { last and last.tool_call_id or false, manifest.tool_call_id or false }
      for _, call in ipairs(called) do
        if call then
          local is_last = last ~= nil and last.tool_call_id == call
          by_call[call] = { id = id, profile = manifest.profile, store = store, is_last = is_last }
        end
      end
    end
  end
  return by_call
end

return M
