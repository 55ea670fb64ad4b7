--- The children of a stored session, as their files tell of them.
local panto = require("panto")
local children = require("subagents.children")
local manifests = require("subagents.manifest")

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
---@field usage panto.Usage
---@field error string?

--- How the last turn ended. A crash leaves a turn that nothing ended.
---@param messages panto.Message[]
---@param stamp subagents.Stamp?
---@return string status
---@return string? error
local function status_of(messages, stamp)
  if stamp and stamp.ended then
    return stamp.ended.status, stamp.ended.error
  end
  local last = messages[#messages]
  if last.role == "assistant" and last.stop ~= "tool_calls" then
    return last.stop == "cancelled" and "cancelled" or "completed"
  end
  return "interrupted", "its last turn was cut off, by a crash or a kill"
end

---@async
---@param store panto.Store
---@param info panto.SessionInfo
---@return subagents.Listed
local function read(store, info)
  local listed = {
    id = info.id,
    agent = "?",
    status = "unreadable",
    turns = 0,
    created = info.created,
    modified = info.modified,
    usage = {},
  }
  local manifest, wrong = manifests.read(store, info.id)
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
    end
    for kind, count in pairs(said.usage or {}) do
      listed.usage[kind] = (listed.usage[kind] or 0) + count
    end
  end
  listed.model, listed.reasoning = stamp and stamp.model, stamp and stamp.reasoning
  listed.status, listed.error = status_of(messages, stamp)
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
---@return string
local function line(listed)
  local text = ("%s  %-12s  %-11s  %s"):format(
    listed.id,
    panto.text.truncate(listed.agent, 24),
    listed.status,
    listed.turns == 1 and "1 turn" or listed.turns .. " turns"
  )
  if next(listed.usage) then
    text = text .. ", tokens " .. usage_text(listed.usage)
  end
  text = listed.model and text .. ", " .. listed.model or text
  return listed.error and text .. "\n  " .. panto.text.truncate(listed.error, 110) or text
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
  elseif args == "" then
    local which = "which session? give its id; `panto sessions` lists them"
    return session and session.id, which, sessions
  end
  local id, message = panto.file_system_jsonl_store({ dir = sessions }):resolve(args)
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
  local store = panto.file_system_jsonl_store({ dir = children.directory(sessions, id) })
  local list, lines = panto.json.array({}), {}
  for i, info in ipairs(store:list() or {}) do
    list[i] = read(store, info)
    lines[i] = line(list[i])
  end
  if #lines == 0 then
    lines[1] = ("the session %s has no children"):format(id)
  end
  return { text = table.concat(lines, "\n"), data = list }
end

return M
