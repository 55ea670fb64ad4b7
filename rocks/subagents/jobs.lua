--- Drives the turns of children: one pipe wakes for all of them, and each is drained when it does.
local uv = require("luv")
local waking = require("subagents.waking")

local M = {}

--- So many events of one child, then it is the next one's turn.
local AT_ONCE = 256

--- A turn that runs.
---@class subagents.Turn
---@field job panto.Job
---@field heard subagents.Heard
---@field is_settled boolean
---@field co thread? who waits for it

--- Who hears of a turn.
---@class subagents.Heard
---@field event fun(event: panto.Event)
---@field settled fun(result: panto.JobResult) once

---@type table<subagents.Turn, true>
local live = {}
---@type { read: integer, write: integer }?
local pipe
local reader, again

---@param turn subagents.Turn
---@param result panto.JobResult
local function settle(turn, result)
  turn.is_settled = true
  live[turn] = nil
  turn.job:close()
  turn.heard.settled(result)
end

---@param turn subagents.Turn
---@return boolean has_more
local function drain(turn)
  for _ = 1, AT_ONCE do
    local event = turn.job:next_event()
    if event then
      turn.heard.event(event)
    else
      local result = turn.job:result()
      if result then
        settle(turn, result)
      end
      return false
    end
  end
  return true
end

local function drain_all()
  local turns, failure, has_more = {}, nil, false
  for turn in pairs(live) do
    turns[#turns + 1] = turn
  end
  for _, turn in ipairs(turns) do
    -- What fails for one must not keep the others waiting.
    local ok, more = xpcall(drain, debug.traceback, turn)
    has_more = has_more or more == true
    failure = not ok and more or failure
    if turn.is_settled then
      waking.wake(turn.co)
    end
  end
  if has_more then
    again:send()
  end
  if failure then
    error(failure, 0)
  end
end

--- The writing end of the pipe.
---@return integer? fd
---@return string? message
local function wake_fd()
  if not pipe then
    local made, message = uv.pipe({ nonblock = true }, { nonblock = true })
    if not made then
      return nil, message
    end
    again = assert(uv.new_async(drain_all))
    again:unref()
    reader = assert(uv.new_pipe(false))
    assert(reader:open(made.read))
    reader:unref()
    reader:read_start(function(_, bytes)
      if bytes then
        drain_all()
      end
    end)
    pipe = made
  end
  return pipe.write
end

--- Starts a turn.
---@param agent panto.Agent
---@param prompt string
---@param metadata table<string, any>
---@param heard subagents.Heard
---@return subagents.Turn? turn
---@return string? message
function M.start(agent, prompt, metadata, heard)
  local fd, wrong = wake_fd()
  if not fd then
    return nil, wrong
  end
  local job, message = agent:run_async({ prompt = prompt, metadata = metadata, wake_fd = fd })
  if not job then
    return nil, message
  end
  local turn = { job = job, heard = heard, is_settled = false }
  live[turn] = true
  return turn
end

--- Waits until a turn has settled.
---@async
---@param turn subagents.Turn
function M.wait(turn)
  while not turn.is_settled do
    turn.co = coroutine.running()
    coroutine.yield()
  end
end

--- Asks a turn to stop.
---@param turn subagents.Turn
function M.cancel(turn)
  if not turn.is_settled then
    turn.job:request_cancel()
  end
end

--- Ends a turn that nobody waits for any more. It is heard of until it has settled.
---@param turn subagents.Turn
function M.abandon(turn)
  turn.co = nil
  if not turn.is_settled then
    turn.job:request_cancel({ grace_ms = 0 })
  end
end

return M
