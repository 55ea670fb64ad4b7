--- Tells of children to whoever watches: the session's readers, and other extensions. None of it
--- is part of a conversation.
local panto = require("panto")
local results = require("subagents.results")
local text = require("subagents.text")

local M = {}

--- How many columns of a task are told.
local MAX_TASK = 60

---@param run subagents.Run
---@return table tag what says whose an event is
local function tag(run)
  return {
    id = run.child.id,
    agent = run.child.profile,
    tool_call_id = run.context.tool_call_id,
    batch_id = run.context.batch_id,
  }
end

--- A line for people who see nothing else.
---@param run subagents.Run
---@param what string
local function note(run, what)
  local line = ("%s %s: %s"):format(run.child.profile, run.child.id, what)
  -- The call may have been ended already.
  pcall(run.context.progress, { note = line })
end

---@param name string
---@param data table
local function emit(name, data)
  -- Text that JSON cannot say must not keep a child from its end.
  pcall(panto.ext.emit, name, data)
end

--- A child has its id. It is queued, if there is no room.
---@param run subagents.Run
---@param prompt string
function M.started(run, prompt)
  local data = tag(run)
  data.model, data.reasoning = run.child.config.model, run.child.config.reasoning
  data.is_new, data.is_queued = run.child.is_new, run.place.state == "queued"
  data.prompt = prompt
  emit("subagents.start", data)
  local what = data.is_queued and "queued" or run.child.is_new and "started" or "goes on"
  local task = text.one_line(text.cut(text.sanitize(prompt), 200))
  task = panto.text.truncate(task, MAX_TASK)
  note(run, ("%s with %s: %s"):format(what, data.model, task))
end

--- A child has a slot, and its turn begins.
---@param run subagents.Run
function M.running(run)
  emit("subagents.running", tag(run))
  if run.was_queued then
    note(run, "started")
  end
end

--- What a child's turn tells, as streams tell it.
---@param run subagents.Run
---@param event panto.Event
function M.event(run, event)
  local data, copy = tag(run), {}
  -- Without the whole text that a delta can be asked for.
  for key, value in next, event do
    copy[key] = value
  end
  data.event = copy
  emit("subagents.event", data)
end

--- A child has ended.
---@param run subagents.Run
function M.ended(run)
  local data, result = tag(run), run.result
  for key, value in pairs(results.details(result)) do
    data[key] = value
  end
  emit("subagents.end", data)
  local said = { result.status }
  if result.truncated then
    said[#said + 1] = "cut short"
  end
  for _, conflict in ipairs(result.conflicts or {}) do
    said[#said + 1] = ("another child also wrote %s"):format(conflict.path)
  end
  if result.usage and result.usage.output then
    said[#said + 1] = ("%d tokens out"):format(result.usage.output)
  end
  local line = table.concat(said, ", ")
  -- That it was stopped is no news.
  if result.error and result.status == "failed" then
    line = line .. ": " .. result.error
  end
  note(run, line)
end

return M
