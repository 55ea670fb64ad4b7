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
local gate = require("subagents.gate")
local profiles = require("subagents.profiles")
local prompts = require("subagents.prompts")
local results = require("subagents.results")
local runs = require("subagents.runs")

--- The result of a call that a crash cut off, if its child is on disk.
---@param tool_call_id string
---@return string?
local function interrupted(tool_call_id)
  local session = panto.ext.session_info()
  local id, manifest = nil, nil
  if session then
    id, manifest = children.of_call(session, tool_call_id)
  end
  if not id then
    return nil
  end
  return results.text({
    id = id,
    agent = manifest.profile,
    status = "cancelled",
    stop = "cancelled",
    error = "the call was interrupted before its result was recorded; what the child did may have "
      .. "had effects, and its conversation is kept as far as it came",
    resumable = true,
  })
end

---@param running subagents.Runs
local function listen(running)
  panto.ext.on("turn_interrupt", function(event)
    running:cancel(event.batch_ids)
  end)
  panto.ext.on("session_end", function()
    running:cancel()
  end)
  panto.ext.on("tool_result", function(event)
    if event.interrupted and event.tool_name == prompts.NAMESPACE .. "run" then
      local text = interrupted(event.id)
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
