--- What people see of profiles and children: `/agents`, and `panto session children`.
local panto = require("panto")
local listing = require("subagents.listing")
local profiles = require("subagents.profiles")

local M = {}

---@param profile subagents.Profile
---@return table
local function profile_data(profile)
  local restriction = profile.restriction or {}
  return {
    name = profile.name,
    description = profile.description,
    layer = profile.layer,
    file = profile.file,
    shadows = profile.shadows,
    shadowed_by = profile.shadowed_by,
    model = profile.model,
    reasoning = profile.reasoning,
    tools = restriction.allow and panto.json.array(restriction.allow) or nil,
    denied_tools = restriction.deny and panto.json.array(restriction.deny) or nil,
  }
end

---@param diagnostic subagents.Diagnostic
---@return string
local function place_of(diagnostic)
  local place = diagnostic.file or "built in"
  place = diagnostic.line and place .. ":" .. diagnostic.line or place
  return diagnostic.column and place .. ":" .. diagnostic.column or place
end

---@param list table[]
---@param map fun(value: table): table
---@return table array
local function each(list, map)
  local array = panto.json.array({})
  for i, value in ipairs(list) do
    array[i] = map(value)
  end
  return array
end

---@param profile subagents.Profile
---@return string
local function profile_text(profile)
  local origin = profile.layer
  if profile.shadows then
    origin = ("%s, in place of the one in %s"):format(origin, profile.shadows)
  end
  local lines = { ("%s (%s)"):format(profile.name, origin) }
  if profile.description ~= "" then
    lines[2] = "  " .. panto.text.truncate(profile.description, 110)
  end
  local facts = {}
  if profile.model or profile.reasoning then
    facts[1] = "model " .. (profile.model or "inherited")
    facts[1] = profile.reasoning and facts[1] .. ", reasoning " .. profile.reasoning or facts[1]
  end
  local restriction = profile.restriction or {}
  if restriction.allow then
    facts[#facts + 1] = "tools " .. table.concat(restriction.allow, " ")
  end
  if restriction.deny then
    facts[#facts + 1] = "without " .. table.concat(restriction.deny, " ")
  end
  if #facts > 0 then
    lines[#lines + 1] = "  " .. table.concat(facts, "; ")
  end
  if profile.file then
    lines[#lines + 1] = "  " .. profile.file
  end
  return table.concat(lines, "\n")
end

---@param catalog subagents.Catalog
---@return panto.ext.CommandOutput
local function list(catalog)
  local lines = {}
  for i, profile in ipairs(catalog.list) do
    lines[i] = profile_text(profile)
  end
  for _, profile in ipairs(catalog.shadowed) do
    lines[#lines + 1] = ("%s (%s): not used, there is one in %s\n  %s"):format(
      profile.name,
      profile.layer,
      profile.shadowed_by,
      profile.file or "built in"
    )
  end
  if #catalog.diagnostics > 0 then
    lines[#lines + 1] = "diagnostics:"
    for _, diagnostic in ipairs(catalog.diagnostics) do
      lines[#lines + 1] = ("  %s: %s: %s"):format(
        diagnostic.level,
        place_of(diagnostic),
        diagnostic.message
      )
    end
  end
  return {
    text = table.concat(lines, "\n"),
    data = {
      profiles = each(catalog.list, profile_data),
      shadowed = each(catalog.shadowed, profile_data),
      diagnostics = panto.json.array(catalog.diagnostics),
    },
  }
end

---@param path string? as the person wrote it
---@return panto.ext.CommandOutput
local function check(path)
  if path and path:sub(1, 1) ~= "/" then
    path = panto.ext.cwd() .. "/" .. path
  end
  local findings, checked = profiles.check(panto.ext, path)
  local lines = {}
  for i, finding in ipairs(findings) do
    lines[i] = ("%s: %s: %s"):format(place_of(finding), finding.level, finding.message)
  end
  lines[#lines + 1] = ("%d %s checked, %d %s"):format(
    checked,
    checked == 1 and "file" or "files",
    #findings,
    #findings == 1 and "finding" or "findings"
  )
  return {
    text = table.concat(lines, "\n"),
    data = { files = checked, findings = panto.json.array(findings) },
    exit_code = #findings > 0 and 1 or 0,
  }
end

--- Registers the commands.
---@param runs subagents.Runs
function M.register(runs)
  panto.ext.register_command({
    name = "agents",
    description = "Lists the profiles for children; `agents check [PATH]` examines their files.",
    handler = function(args)
      local word, rest = args:match("^(%S*)%s*(.-)$")
      if word == "" then
        runs.profiles = runs.profiles:refresh()
        return list(runs.profiles)
      elseif word == "check" then
        return check(rest ~= "" and rest or nil)
      end
      return {
        text = ("agents takes nothing, or `check [PATH]`; not `%s`"):format(args),
        exit_code = 2,
      }
    end,
  })
  panto.ext.register_command({
    name = "session:children",
    description = "Lists the children of a session: `session:children ID`; of this one without ID.",
    handler = listing.children,
  })
end

return M
