--- What the tools that write need to know: which files an agent has read and as what, and who
--- works on a file now.
local std = require("agent.tools._std")

local M = {}

--- How many sessions are remembered; of the others no file was read.
local MAX_SESSIONS = 256

--- By session, fingerprints by path.
local seen = {}
--- The sessions, the oldest first.
local sessions = {}

local function of_session(context)
  local agent = context.agent
  local session = agent and agent:session_id() or ""
  if not seen[session] then
    seen[session] = {}
    sessions[#sessions + 1] = session
    if #sessions > MAX_SESSIONS then
      seen[table.remove(sessions, 1)] = nil
    end
  end
  return seen[session]
end

--- Notes what an agent knows a file to hold.
---@async
---@param context table
---@param path string absolute
---@param fingerprint string
function M.note(context, path, fingerprint)
  of_session(context)[std.real(path)] = fingerprint
end

--- What an agent knows a file to hold.
---@async
---@param context table
---@param path string absolute
---@return string? fingerprint
function M.known(context, path)
  return of_session(context)[std.real(path)]
end

--- Who waits for a path, by path. A list is there for as long as somebody has the path.
local queues = {}

local function grant(path)
  local queue = queues[path]
  while #queue > 0 do
    local place = table.remove(queue, 1)
    if not place.gone then
      place.granted = true
      coroutine.resume(place.co)
      return
    end
  end
  queues[path] = nil
end

local Lock = {
  __close = function(lock)
    grant(lock.path)
  end,
}

local Waiting = {
  __close = function(waiting)
    waiting.place.gone = true
    -- Closed between the grant and the resumption.
    if waiting.place.granted and not waiting.place.taken then
      grant(waiting.path)
    end
  end,
}

--- Waits until nobody else works on a file. To be kept in a to-be-closed variable.
---@async
---@param path string absolute
---@return table lock
function M.lock(path)
  path = std.real(path)
  if queues[path] then
    local place = { co = coroutine.running() }
    table.insert(queues[path], place)
    local _ <close> = setmetatable({ place = place, path = path }, Waiting)
    while not place.granted do
      coroutine.yield()
    end
    place.taken = true
  else
    queues[path] = {}
  end
  return setmetatable({ path = path }, Lock)
end

--- Text with the line ends that a file has.
---@param text string
---@param newline "none"|"lf"|"crlf"|"mixed"
---@return string
function M.with_newlines(text, newline)
  if newline ~= "crlf" then
    return text
  end
  return (text:gsub("\r\n", "\n"):gsub("\n", "\r\n"))
end

return M
