--- What is told to people, each once.
local panto = require("panto")

local M = {}

--- What reading profiles has found.
---@param found table[]
function M.profiles(found)
  for _, diagnostic in ipairs(found) do
    local position
    if diagnostic.file then
      position =
        { file = diagnostic.file, line = diagnostic.line, column = diagnostic.column }
    end
    panto.ext.diagnose(diagnostic.level, diagnostic.message, position)
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
  local given = settings.concurrency
  if given == nil then
    return default
  end
  local bound = math.tointeger(given)
  if bound and bound >= 1 then
    return bound
  end
  local message = "`concurrency` of [extensions.settings.subagents] must be a whole number from 1 "
    .. "on; it is %d now"
  panto.ext.diagnose("warning", message:format(default))
  return default
end

return M
