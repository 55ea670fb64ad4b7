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

--- How long turns are drained before others go on, in nanoseconds.
local BUDGET = 20 * 1000 * 1000

--- Those that run. The first one is drained next.
---@type subagents.Turn[]
local live = {}
---@type { read: integer, write: integer }?
local pipe
local reader, again
--- Whether a draining has begun and not come to its end.
local is_draining = false

---@param turn subagents.Turn
---@param result panto.JobResult
local function settle(turn, result)
  turn.is_settled = true
  -- Before anybody hears of it: who listens may be stopped.
  waking.wake(turn.co)
  turn.job:close()
  turn.heard.settled(result)
end

--- Tells what a turn has said.
---@param turn subagents.Turn
---@param deadline integer
---@return boolean has_more
local function drain(turn, deadline)
  for _ = 1, AT_ONCE do
    local event = turn.job:next_event()
    if not event then
      local result = turn.job:result()
      if result then
        settle(turn, result)
      end
      return false
    end
    turn.heard.event(event)
    if uv.hrtime() > deadline then
      return true
    end
  end
  return true
end

---@param turn subagents.Turn
local function forget_if_settled(turn)
  for i = #live, 1, -1 do
    if turn.is_settled and live[i] == turn then
      table.remove(live, i)
    end
  end
end

--- Drains all turns, each behind the others that wait. Whoever listens may raise, or be stopped for
--- running long, and this with him: then it goes on when `again` is called.
local function drain_all()
  is_draining = true
  again:send()
  local deadline = uv.hrtime() + BUDGET
  local has_more = false
  for _ = 1, #live do
    local turn = table.remove(live, 1)
    if not turn then
      break
    end
    -- One that was stopped while it settled is only taken out.
    if not turn.is_settled then
      live[#live + 1] = turn
      has_more = drain(turn, deadline) or has_more
      forget_if_settled(turn)
    end
    if uv.hrtime() > deadline then
      -- The others are next.
      return
    end
  end
  is_draining = has_more
end

local function go_on()
  if is_draining then
    drain_all()
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
    again = assert(uv.new_async(go_on))
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
  live[#live + 1] = turn
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
