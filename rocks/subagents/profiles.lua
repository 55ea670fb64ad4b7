local M = {}
local C = {}
C.__index = C
function C:refresh() return self end
function C:near() return {} end
function M.discover(ext)
  local list = {
    { name = "general", description = "Does anything.", layer = "builtin", body = function() return "You are general." end },
    { name = "reviewer", description = "Reviews.", layer = "builtin", restriction = { allow = { "read", "grep" } }, body = function() return "You review." end },
  }
  local by = {}
  for _, p in ipairs(list) do by[p.name] = p end
  return setmetatable({ list = list, by_name = by, diagnostics = {}, shadowed = {} }, C)
end
function M.check() return {}, 0 end
return M
