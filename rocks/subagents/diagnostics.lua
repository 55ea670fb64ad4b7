--- What is told to people, each once.
local panto = require("panto")

local M = {}

--- How many problems of profiles are told one by one, in every session anew.
local MOST = 5

---@param found subagents.Diagnostic
local function tell(found)
  local position = found.file and { file = found.file, line = found.line, column = found.column }
  panto.ext.diagnose(found.level, found.message, position)
end

--- What reading profiles has found.
---@param found subagents.Diagnostic[]
function M.profiles(found)
  local problems = 0
  for _, diagnostic in ipairs(found) do
    local is_problem = diagnostic.level ~= "info"
    problems = problems + (is_problem and 1 or 0)
    if not is_problem or problems <= MOST then
      tell(diagnostic)
    end
  end
  if problems > MOST then
    local message = "profiles have %d problems more, which `panto agents` lists"
    panto.ext.diagnose("warning", message:format(problems - MOST))
  end
end

--- Entries of a profile's lists of tools that are no tool of the caller.
---@param profile subagents.Profile
---@param names string[]
function M.unmatched(profile, names)
  for _, name in ipairs(names) do
    local message = ("the profile `%s` names a tool `%s` that is not there"):format(
      profile.name,
      name
    )
    panto.ext.diagnose("warning", message, profile.file and { file = profile.file })
  end
end

--- The bound of the settings.
---@param settings table<string, any>
---@param default integer
---@return integer
function M.concurrency(settings, default)
  for key in pairs(settings) do
    if key ~= "concurrency" then
      local message = "[extensions.settings.subagents] has no `%s`; it has `concurrency`"
      panto.ext.diagnose("warning", message:format(tostring(key)))
    end
  end
  local given = settings.concurrency
  if given == nil then
    return default
  end
  local bound = math.tointeger(given)
  if bound and bound >= 1 then
    return bound
  end
  local message = "`concurrency` of [extensions.settings.subagents] must be a whole number from 1 "
    .. "on; %d counts instead"
  panto.ext.diagnose("warning", message:format(default))
  return default
end

return M
