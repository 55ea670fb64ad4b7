--- The bound on how many children run at once, and the queue in front of it: first come, first
--- served.
local waking = require("subagents.waking")

local M = {}

--- How many children run at once if nothing else is set.
M.DEFAULT = 4

---@class subagents.Gate
---@field limit integer
---@field running integer
---@field first integer
---@field last integer
---@field queue table<integer, subagents.Place>
local Gate = {}
Gate.__index = Gate

--- Somebody's place: in the queue, then inside.
---@class subagents.Place
---@field state "queued"|"inside"|"left"
---@field position integer? in the queue
---@field co thread? who waits for it

---@param limit integer
---@return subagents.Gate
function M.new(limit)
  return setmetatable({ limit = limit, running = 0, first = 1, last = 0, queue = {} }, Gate)
end

--- Takes a place: inside, if there is room and nobody waits.
---@return subagents.Place
function Gate:place()
  if self.running < self.limit and self.first > self.last then
    self.running = self.running + 1
    return { state = "inside" }
  end
  self.last = self.last + 1
  local place = { state = "queued", position = self.last }
  self.queue[self.last] = place
  return place
end

--- Waits until the place is inside, or was left.
---@async
---@param place subagents.Place
---@return boolean is_inside
function Gate:enter(place) -- luacheck: no self
  while place.state == "queued" do
    place.co = coroutine.running()
    coroutine.yield()
  end
  place.co = nil
  return place.state == "inside"
end

--- Lets the next ones in.
---@param gate subagents.Gate
local function admit(gate)
  while gate.first <= gate.last and gate.running < gate.limit do
    local place = gate.queue[gate.first]
    gate.queue[gate.first] = nil
    gate.first = gate.first + 1
    -- Whoever has left the queue leaves a gap.
    if place then
      gate.running = gate.running + 1
      place.state = "inside"
      waking.wake(place.co)
    end
  end
end

--- Gives a place up, in the queue or inside. Idempotent.
---@param place subagents.Place
function Gate:leave(place)
  if place.state == "queued" then
    self.queue[place.position] = nil
    place.state = "left"
    waking.wake(place.co)
  elseif place.state == "inside" then
    place.state = "left"
    self.running = self.running - 1
  end
  admit(self)
end

return M
