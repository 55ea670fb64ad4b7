--- Resumes parked coroutines from the loop, never from within one another: a chain of calls that
--- end at once would nest as deep as it is long.
local uv = require("luv")

local M = {}

---@type thread[]
local ready = {}
local async

local function resume_all()
  local batch = ready
  ready = {}
  for _, co in ipairs(batch) do
    -- One that was closed meanwhile is dead, and that is fine.
    coroutine.resume(co)
  end
end

--- Resumes a coroutine soon, if there is one.
---@param co thread?
function M.wake(co)
  if not co then
    return
  end
  ready[#ready + 1] = co
  if not async then
    async = assert(uv.new_async(resume_all))
    async:unref()
  end
  async:send()
end

--- Lets others go on, where that may be: who runs for long without a pause is stopped.
function M.pause()
  if coroutine.isyieldable() then
    M.wake(coroutine.running())
    coroutine.yield()
  end
end

return M
