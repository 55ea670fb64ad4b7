--- What `subagents.models` answers: always little of a large catalog.
local panto = require("panto")
local arguments = require("subagents.arguments")
local text = require("subagents.text")

local M = {}

local KNOWN = { "provider", "query", "limit", "model", "agent" }
local DEFAULT_LIMIT = 10
local MOST = 50
local MAX_DESCRIPTION = 200

---@param value any
---@return string json
local function json(value)
  return assert(panto.json.encode(value))
end

--- What a model takes, with what a child would get that names no level.
---@param model table of `panto.ext.models`
---@param default string?
---@return table
local function described(model, default)
  local levels = model.reasoning
  local answer = {
    model = model.model,
    name = model.name,
    context_window = model.context_window,
    max_output = model.max_output,
    reasoning_levels = levels and panto.json.array(levels) or nil,
    default_reasoning = default,
  }
  if not levels then
    answer.note = "which reasoning levels it knows is not recorded; any is passed on"
  end
  return answer
end

---@param levels string[]?
---@param label string?
---@return boolean
local function knows(levels, label)
  if not levels or not label then
    return true
  end
  for _, level in ipairs(levels) do
    if level == label then
      return true
    end
  end
  return false
end

---@param session panto.ext.SessionInfo
---@param profiles subagents.Catalog
---@return string
local function overview(session, profiles)
  local providers = panto.json.array({})
  for _, provider in ipairs(panto.ext.models() or {}) do
    if provider.configured or (provider.usable and provider.models > 0) then
      table.insert(providers, {
        name = provider.name,
        models = provider.models,
        usable = provider.usable,
      })
    end
  end
  local list = panto.json.array({})
  for i, profile in ipairs(profiles.list) do
    list[i] = {
      name = profile.name,
      description = (text.cut(profile.description, MAX_DESCRIPTION)),
      model = profile.model,
      reasoning = profile.reasoning,
    }
  end
  return json({
    inherited = { model = session.model, reasoning = session.reasoning },
    providers = providers,
    profiles = list,
  })
end

---@param reference string
---@param session panto.ext.SessionInfo
---@return string? json
---@return string? message
local function one_model(reference, session)
  local model, message = panto.ext.models({ model = reference })
  if not model then
    return nil, message
  end
  local default = session.reasoning
  local answer = described(model, knows(model.reasoning, default) and default or nil)
  if default and not answer.default_reasoning and #model.reasoning > 0 then
    answer.note = ("it does not know the inherited level `%s`: give `reasoning`"):format(default)
  end
  return json(answer)
end

---@param name string
---@param session panto.ext.SessionInfo
---@param profiles subagents.Catalog
---@return string? json
---@return string? message
local function one_profile(name, session, profiles)
  local profile, unknown = profiles:find(name)
  if not profile then
    return nil, unknown
  end
  local reference = profile.model or session.model
  local model, message = panto.ext.models({ model = reference })
  if not model then
    return nil, ("the profile `%s` asks for `%s`: %s"):format(name, reference, message)
  end
  local takes_none = model.reasoning and #model.reasoning == 0
  local reasoning = profile.reasoning or (not takes_none and session.reasoning or nil)
  local answer = described(model, reasoning)
  answer.agent, answer.description = profile.name, profile.description
  local config, wrong = panto.ext.resolve_model({ model = reference, reasoning = reasoning or "" })
  if not config then
    answer.error = wrong
  end
  return json(answer)
end

---@param given table
---@return string? json
---@return string? message
local function search(given)
  local limit = math.max(1, math.min(given.limit or DEFAULT_LIMIT, MOST))
  local models, total = panto.ext.models({
    provider = given.provider,
    query = given.query,
    limit = limit,
  })
  if not models then
    return nil, total --[[@as string]]
  end
  local list = panto.json.array({})
  for i, model in ipairs(models) do
    list[i] = {
      model = model.model,
      name = model.name,
      context_window = model.context_window,
      reasoning_levels = model.reasoning and panto.json.array(model.reasoning) or nil,
    }
  end
  local more = math.type(total) == "integer" and total - #list or 0
  local answer = { models = list }
  if more > 0 then
    answer.more = ("%d more match; narrow `query`"):format(more)
  end
  return json(answer)
end

--- Answers a query.
---@param input table
---@param profiles subagents.Catalog
---@return string? json
---@return string? message
function M.answer(input, profiles)
  local given = {}
  for name, value in pairs(input) do
    given[name] = value
  end
  -- Models write numbers as texts, too.
  if not arguments.is_absent(given.limit) then
    given.limit = math.tointeger(tonumber(given.limit)) or given.limit
  end
  local wrong = arguments.check(given, KNOWN, { limit = "number" })
  if wrong then
    return nil, wrong
  end
  for _, name in ipairs(KNOWN) do
    if arguments.is_absent(given[name]) then
      given[name] = nil
    end
  end
  if given.limit and math.type(given.limit) ~= "integer" then
    return nil, "`limit` must be a whole number"
  end
  local exact = given.model and "model" or given.agent and "agent"
  if exact and (given.provider or given.query or (given.model and given.agent)) then
    return nil, "give `model`, or `agent`, or words to search for: one of them"
  end
  local session, message = panto.ext.session_info()
  if not session then
    return nil, message
  end
  if given.model then
    return one_model(given.model, session)
  elseif given.agent then
    return one_profile(given.agent, session, profiles)
  elseif given.provider or given.query or given.limit then
    return search(given)
  end
  return overview(session, profiles)
end

return M
