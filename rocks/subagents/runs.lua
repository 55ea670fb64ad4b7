--- Running children: from a call of the model to its result.
local panto = require("panto")
local arguments = require("subagents.arguments")
local children = require("subagents.children")
local diagnostics = require("subagents.diagnostics")
local jobs = require("subagents.jobs")
local manifests = require("subagents.manifest")
local progress = require("subagents.progress")
local results = require("subagents.results")

local M = {}

--- One turn of a child, from its allocation to its end.
---@class subagents.Run
---@field child subagents.Child
---@field context panto.ext.ToolContext
---@field place subagents.Place?
---@field turn subagents.Turn?
---@field is_cancelled boolean
---@field was_queued boolean?
---@field result subagents.Result?
---@field wrote subagents.Wrote
---@field beside table<subagents.Wrote, true> of those that ran at the same time

--- What a child has written in its turn.
---@class subagents.Wrote
---@field id string
---@field paths table<string, true>

---@class subagents.Runs
---@field gate subagents.Gate
---@field profiles subagents.Catalog
---@field active table<string, subagents.Run> by id
---@field looked_for string? the batch for whose calls the profiles were looked at last
local Runs = {}
Runs.__index = Runs

---@param gate subagents.Gate
---@param profiles subagents.Catalog
---@return subagents.Runs
function M.new(gate, profiles)
  return setmetatable({ gate = gate, profiles = profiles, active = {} }, Runs)
end

--- Looks for profiles that have changed, and tells what is wrong with them now.
function Runs:refresh()
  local now = self.profiles:refresh()
  if now ~= self.profiles then
    self.profiles = now
    diagnostics.profiles(now.diagnostics)
  end
end

--- Looks for profiles that have changed, once for the calls of an answer.
---@param runs subagents.Runs
---@param context panto.ext.ToolContext
local function refresh(runs, context)
  if runs.looked_for ~= context.batch_id then
    runs.looked_for = context.batch_id
    runs:refresh()
  end
end

--- A configuration for a turn. A model that takes no level at all is not asked for the one that a
--- child only inherits; any other that does not know it is an error.
---@param model string
---@param reasoning string? what was chosen for it
---@param inherited string? what there is without a choice
---@return panto.Config? config
---@return string? message
local function configure(model, reasoning, inherited)
  local is_live = model == (panto.ext.session_info() or {}).model
  if not reasoning and inherited then
    local known = panto.ext.models({ model = model })
    local takes_none = known and known.reasoning and #known.reasoning == 0
    reasoning = not takes_none and inherited or nil
  end
  local provider = model:match("^[^:]+")
  for _, offered in ipairs(is_live and {} or panto.ext.models() or {}) do
    if offered.name == provider and not offered.usable then
      return nil, ("there is no key for the provider `%s`"):format(provider)
    end
  end
  return panto.ext.resolve_model({ model = model, reasoning = reasoning or "" })
end

--- A new child for a call.
---@async
---@param runs subagents.Runs
---@param given subagents.Arguments
---@param context panto.ext.ToolContext
---@param session panto.ext.SessionInfo
---@return subagents.Child? child
---@return string? message
local function begin(runs, given, context, session)
  refresh(runs, context)
  local profile, unknown = runs.profiles:find(given.agent)
  if not profile then
    return nil, unknown
  end
  local body, unreadable = profile.body()
  if not body then
    return nil, ("the profile `%s` cannot be read: %s"):format(profile.name, unreadable)
  end
  local config, wrong = configure(
    given.model or profile.model or session.model,
    given.reasoning or profile.reasoning,
    session.reasoning
  )
  if not config then
    return nil, ("the profile `%s` cannot run so: %s"):format(profile.name, wrong)
  end
  local child, message = children.begin({
    session = session,
    caller = context.agent,
    profile = profile,
    body = body,
    config = config,
    tool_call_id = context.tool_call_id,
  })
  if child and child.unmatched and #child.unmatched > 0 then
    diagnostics.unmatched(profile, child.unmatched)
    local names = table.concat(child.unmatched, ", ")
    table.insert(child.notices, "its profile names tools that are not there: " .. names)
  end
  return child, message
end

--- A child of before, for a call.
---@async
---@param runs subagents.Runs
---@param given subagents.Arguments
---@param context panto.ext.ToolContext
---@param session panto.ext.SessionInfo
---@return subagents.Child? child
---@return string? message
local function go_on(runs, given, context, session)
  if runs.active[given.id] then
    return nil, children.refusal(given.id, nil, "in_use_here")
  end
  local placeholder, nothing = panto.ext.resolve_model({})
  if not placeholder then
    return nil, nothing
  end
  refresh(runs, context)
  local lost
  local child, message = children.go_on({
    session = session,
    caller = context.agent,
    id = given.id,
    profiles = runs.profiles,
    placeholder = placeholder,
    configure = function(last)
      local model = given.model or (last and last.model) or session.model
      local inherited = session.reasoning
      if last then
        inherited = last.reasoning
      end
      local config, wrong = configure(model, given.reasoning, inherited)
      if not config then
        local advice = given.model and "" or "; give `model` to go on with another one"
        return nil,
          ("the child `%s` cannot go on with `%s`: %s%s"):format(given.id, model, wrong, advice)
      end
      if last and last.model ~= model and not panto.ext.models({ model = last.model }) then
        lost = ("its last model `%s` is no longer available"):format(last.model)
      end
      return config
    end,
  })
  if child and lost then
    table.insert(child.notices, lost)
  end
  return child, message
end

---@param run subagents.Run
---@return { path: string, ids: string[] }[]?
local function conflicts(run)
  local by_path, paths = {}, {}
  for other in pairs(run.beside) do
    for path in pairs(other.paths) do
      if run.wrote.paths[path] then
        if not by_path[path] then
          by_path[path] = panto.json.array({})
          paths[#paths + 1] = path
        end
        table.insert(by_path[path], other.id)
      end
    end
  end
  if #paths == 0 then
    return nil
  end
  table.sort(paths)
  local list = panto.json.array({})
  for i, path in ipairs(paths) do
    table.sort(by_path[path])
    list[i] = { path = path, ids = by_path[path] }
  end
  return list
end

--- Notes in the conversation how a turn ended that its messages do not tell from a crash.
---@param child subagents.Child
---@param result subagents.Result
local function note_end(child, result)
  local conversation = child.agent:conversation()
  for position = conversation and conversation:len() or 0, 1, -1 do
    local metadata = conversation:message_metadata(position)
    local stamp = metadata and manifests.stamp_in(metadata)
    if stamp then
      stamp.ended = { status = result.status, stop = result.stop, error = result.error }
      child.agent:set_message_metadata(position, metadata)
      return
    end
  end
end

--- Ends a run: its slot is free, its conversation is let go, and its end is told. Once.
---@param runs subagents.Runs
---@param run subagents.Run
---@param part table of a result
local function finish(runs, run, part)
  if run.result then
    return
  end
  local child = run.child
  local result = part
  result.id, result.agent = child.id, child.profile
  result.model, result.reasoning = child.config.model, child.config.reasoning
  result.resumable = children.is_kept(child)
  result.notices = #child.notices > 0 and panto.json.array(child.notices) or nil
  result.conflicts = conflicts(run)
  run.result = result
  runs.active[child.id] = nil
  if result.resumable and result.status ~= "completed" then
    -- It is only for listings; the result does not depend on it.
    pcall(note_end, child, result)
  end
  child.agent:close()
  if run.place then
    runs.gate:leave(run.place)
  end
  progress.ended(run)
end

--- What a turn says, on its way to whoever watches.
---@param run subagents.Run
---@param event panto.Event
local function heard(run, event)
  if event.type == "tool_result" and event.status == "ok" and event.details then
    local changed = event.details.changed
    for _, path in ipairs(type(changed) == "table" and changed or {}) do
      run.wrote.paths[path] = true
    end
  end
  progress.event(run, event)
end

--- Runs a child, and waits for its end.
---@async
---@param runs subagents.Runs
---@param run subagents.Run
---@param prompt string
local function carry_out(runs, run, prompt)
  local child = run.child
  -- What was stopped while it began does not wait for others either.
  local may_run = not run.context.cancelled() and runs.gate:enter(run.place)
  if not may_run or run.is_cancelled or run.context.cancelled() then
    finish(runs, run, {
      status = "cancelled",
      stop = "cancelled",
      error = "the child was cancelled before its turn began",
    })
    return
  end
  for _, other in pairs(runs.active) do
    if other.turn then
      other.beside[run.wrote] = true
      run.beside[other.wrote] = true
    end
  end
  progress.running(run)
  local stamp = manifests.of_turn({
    model = child.config.model,
    reasoning = child.config.reasoning,
    tools = panto.json.array(child.tools),
    tool_call_id = run.context.tool_call_id,
  })
  local turn, message = jobs.start(child.agent, prompt, stamp, {
    event = function(event)
      heard(run, event)
    end,
    settled = function(result)
      finish(runs, run, results.of_turn(result))
    end,
  })
  if not turn then
    finish(runs, run, { status = "failed", stop = "error", error = message })
    return
  end
  run.turn = turn
  jobs.wait(turn)
  if not run.result then
    finish(runs, run, { status = "failed", stop = "error", error = "its end was lost" })
  end
end

--- Ends what a call has begun, however the call ends.
---@param runs subagents.Runs
---@param run subagents.Run
---@return table closable
local function guard(runs, run)
  return setmetatable({}, {
    __close = function(_, failure)
      if run.result then
        return
      end
      run.is_cancelled = true
      if run.turn then
        -- Its slot is free, and its end is told, when it has really ended.
        jobs.abandon(run.turn)
        return
      end
      finish(runs, run, {
        status = failure and "failed" or "cancelled",
        stop = failure and "error" or "cancelled",
        error = failure and tostring(failure) or "the call was ended",
      })
    end,
  })
end

--- The handler of `subagents.run`.
---@async
---@param input table
---@param context panto.ext.ToolContext
---@return panto.ext.ToolOutput?
---@return string? message
function Runs:call(input, context)
  local given, wrong = arguments.read(input)
  if not given then
    return nil, wrong
  end
  local session, nothing = panto.ext.session_info()
  if not session then
    return nil, nothing
  end
  local child, message = (given.id and go_on or begin)(self, given, context, session)
  if not child then
    return nil, message
  end
  ---@type subagents.Run
  local run = {
    child = child,
    context = context,
    is_cancelled = false,
    wrote = { id = child.id, paths = {} },
    beside = {},
  }
  self.active[child.id] = run
  local _ <close> = guard(self, run)
  run.place = self.gate:place()
  run.was_queued = run.place.state == "queued"
  progress.started(run, given.prompt)
  carry_out(self, run, given.prompt)
  return results.tool_output(run.result)
end

--- Stops a run, wherever it is. It settles by itself.
---@param runs subagents.Runs
---@param run subagents.Run
local function cancel(runs, run)
  run.is_cancelled = true
  if run.turn then
    jobs.cancel(run.turn)
  elseif run.place and run.place.state == "queued" then
    runs.gate:leave(run.place)
  end
end

--- Stops the children that calls of these batches have begun; all of them without a list.
---@param batch_ids string[]?
function Runs:cancel(batch_ids)
  local is_meant = {}
  for _, id in ipairs(batch_ids or {}) do
    is_meant[id] = true
  end
  for _, run in pairs(self.active) do
    if not batch_ids or is_meant[run.context.batch_id] then
      cancel(self, run)
    end
  end
end

return M
