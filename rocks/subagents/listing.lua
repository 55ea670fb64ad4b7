--- The children of a stored session, as their files tell of them.
local panto = require("panto")
local children = require("subagents.children")
local ending = require("subagents.ending")
local manifests = require("subagents.manifest")
local text = require("subagents.text")
local waking = require("subagents.waking")
local uv = require("luv")

local M = {}

--- What a file says of a child.
---@class subagents.Listed
---@field id string
---@field agent string
---@field status "completed"|"failed"|"cancelled"|"interrupted"|"running"|"unreadable"
---@field turns integer
---@field created string?
---@field modified string?
---@field model string?
---@field reasoning string?
---@field task string? the beginning of its last task
---@field usage panto.Usage
---@field error string?
---@field file string

---@async
---@param store panto.Store
---@param info panto.SessionInfo
---@param dir string
---@return subagents.Listed
local function read(store, info, dir)
  local listed = {
    file = dir .. "/" .. info.id .. ".jsonl",
    id = info.id,
    agent = "?",
    status = "unreadable",
    turns = 0,
    created = info.created,
    modified = info.modified,
    usage = {},
  }
  local manifest, wrong = manifests.read(store, info.id, true)
  local messages, message = store:load_messages(info.id)
  if not manifest or not messages or #messages == 0 then
    listed.error = not manifest and wrong or message
    return listed
  end
  listed.agent = manifest.profile
  local stamp
  for _, said in ipairs(messages) do
    local found = said.role == "user" and said.metadata and manifests.stamp_in(said.metadata)
    if found then
      stamp, listed.turns = found, listed.turns + 1
      listed.task = text.one_line(text.cut(text.sanitize(ending.text(said)), 200))
    end
    for kind, count in pairs(said.usage or {}) do
      listed.usage[kind] = (listed.usage[kind] or 0) + count
    end
  end
  listed.model, listed.reasoning = stamp and stamp.model, stamp and stamp.reasoning
  local ended = ending.of(messages[#messages], stamp)
  listed.status, listed.error = ended.status, ended.error
  if store:holder(info.id) then
    listed.status, listed.error = "running", nil
  end
  return listed
end

---@param usage panto.Usage
---@return string
local function usage_text(usage)
  local all = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
  return ("%d in, %d out"):format(all, usage.output or 0)
end

---@param listed subagents.Listed
---@param width integer of the longest profile
---@return string
local function line(listed, width)
  local name = panto.text.truncate(listed.agent, 24)
  local facts = { listed.turns == 1 and "1 turn" or listed.turns .. " turns" }
  if next(listed.usage) then
    facts[#facts + 1] = "tokens " .. usage_text(listed.usage)
  end
  facts[#facts + 1] = listed.model
  local lines = {
    ("%s  %s  %-11s  %s"):format(
      listed.id,
      name .. (" "):rep(width - panto.text.width(name)),
      listed.status,
      table.concat(facts, ", ")
    ),
  }
  if listed.task then
    lines[#lines + 1] = '  "' .. panto.text.truncate(listed.task, 100) .. '"'
  end
  if listed.error then
    local error = text.one_line(text.sanitize(text.text(listed.error)))
    lines[#lines + 1] = "  " .. panto.text.truncate(error, 110)
  end
  return table.concat(lines, "\n")
end

--- The children of a catalog, those that cannot be read among them, in the order of their ids.
---@async
---@param dir string
---@return subagents.Listed[]? found
---@return string? message
local function list(dir)
  local store = panto.file_system_jsonl_store({ dir = dir })
  local infos, ids = {}, {}
  for _, info in ipairs(store:list() or {}) do
    infos[info.id] = info
  end
  local request, failure, code = uv.fs_scandir(dir)
  if not request and code ~= "ENOENT" then
    return nil, failure
  end
  for name in
    function()
      return request and uv.fs_scandir_next(request)
    end
  do
    ids[#ids + 1] = name:match("^(.*)%.jsonl$")
  end
  table.sort(ids)
  local found = panto.json.array({})
  for i, id in ipairs(ids) do
    found[i] = read(store, infos[id] or { id = text.text(id) }, dir)
    waking.pause()
  end
  return found
end

--- The primary that is meant.
---@async
---@param args string
---@return string? id
---@return string? message
---@return string? sessions the directory where it lies
local function primary(args)
  local session = panto.ext.session_info()
  local sessions = session and session.directory or panto.ext.dirs.sessions
  if not sessions then
    return nil, "nothing says where sessions lie"
  end
  local store = panto.file_system_jsonl_store({ dir = sessions })
  if args == "" then
    -- One that has just begun has no file, as that of a command by itself.
    local own = session and uv.fs_stat(("%s/%s.jsonl"):format(sessions, session.id))
    return own and session.id or store:latest(), "there is no session here yet", sessions
  end
  local id, message = store:resolve(args)
  message = message or ("there is no session `%s`; `panto sessions` lists them"):format(args)
  return id, message, sessions
end

--- Lists the children of a session.
---@async
---@param args string the beginning of its id, or nothing
---@return panto.ext.CommandOutput
function M.children(args)
  local id, message, sessions = primary(args)
  if not id or not sessions then
    return { text = message, exit_code = 2 }
  end
  local found, failure = list(children.directory(sessions, id))
  if not found then
    return { text = ("the children cannot be listed: %s"):format(failure), exit_code = 1 }
  end
  local lines, width = {}, 0
  for _, listed in ipairs(found) do
    width = math.max(width, panto.text.width(panto.text.truncate(listed.agent, 24)))
  end
  for i, listed in ipairs(found) do
    lines[i] = line(listed, width)
  end
  if #lines == 0 then
    lines[1] = ("the session %s has no children"):format(id)
  end
  return { text = table.concat(lines, "\n"), data = found }
end

return M
