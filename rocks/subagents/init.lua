--- Delegation: a model hands tasks to child agents, which run in this process with conversations of
--- their own.
---
--- The tools are `subagents.run` and `subagents.models`, the commands `/agents` and
--- `/session:children`.
local panto = require("panto")
local catalog = require("subagents.catalog")
local children = require("subagents.children")
local commands = require("subagents.commands")
local diagnostics = require("subagents.diagnostics")
local ending = require("subagents.ending")
local gate = require("subagents.gate")
local profiles = require("subagents.profiles")
local prompts = require("subagents.prompts")
local results = require("subagents.results")
local runs = require("subagents.runs")

--- The result of a call that a crash cut off, if its child is on disk: what the child's file tells,
--- which may have come to its end.
---@param by_call table<string, subagents.OfCall>
---@param tool_call_id string
---@return string?
local function interrupted(by_call, tool_call_id)
  local found = by_call[tool_call_id]
  if not found then
    return nil
  end
  local result = {
    id = found.id,
    agent = found.profile,
    status = "cancelled",
    stop = "cancelled",
    resumable = true,
  }
  local ended = found.is_last and ending.read(found.store, found.id)
  if ended and ended.status ~= "interrupted" then
    result.status, result.stop = ended.status, ended.stop
    result.output, result.error = ended.output, ended.error
    result.notices = { "the call was interrupted after the child had ended" }
  else
    result.error = "the call was interrupted before the child had ended; what it did may have had "
      .. "effects, and its conversation is kept as far as it came"
  end
  return results.text(result)
end

---@param running subagents.Runs
local function listen(running)
  panto.ext.on("turn_interrupt", function(event)
    running:cancel(event.batch_ids)
  end)
  panto.ext.on("session_end", function()
    running:cancel()
  end)
  -- All calls that a crash has cut off come at once, in the first turn behind it.
  local by_call
  panto.ext.on("turn_end", function()
    by_call = nil
  end)
  panto.ext.on("tool_result", function(event)
    if event.interrupted and event.tool_name == prompts.NAMESPACE .. "run" then
      local session = panto.ext.session_info()
      by_call = by_call or (session and children.by_call(session)) or {}
      local text = interrupted(by_call, event.id)
      if text then
        event.output = text
      end
    end
  end)
end

return {
  name = "subagents",
  activate = function()
    local found = profiles.discover(panto.ext)
    diagnostics.profiles(found.diagnostics)
    local settings = panto.ext.settings("subagents")
    local bound = diagnostics.concurrency(settings, gate.DEFAULT)
    local running = runs.new(gate.new(bound), found)

    local run = prompts.run(found.list)
    run.handler = function(input, context)
      return running:call(input, context)
    end
    panto.ext.register_tool(run)

    local models = prompts.MODELS
    panto.ext.register_tool({
      name = models.name,
      description = models.description,
      schema = models.schema,
      handler = function(input)
        running:refresh()
        return catalog.answer(input, running.profiles)
      end,
    })
    commands.register(running)
    listen(running)
  end,
}
