--- What people see of profiles and children: `/agents`, and `panto session children`.
local panto = require("panto")
local listing = require("subagents.listing")
local profiles = require("subagents.profiles")
local uv = require("luv")

local M = {}

local LAYERS = { builtin = "built-in" }

local USAGE = [[
panto agents               lists the profiles for children
panto agents check [PATH]  examines a file or a directory, by default all that there are
Flags of panto stand in front: panto --trust agents. With --json behind it, the data.]]

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
  local origin = LAYERS[profile.layer] or profile.layer
  if profile.shadows then
    origin = ("%s, in place of the %s one"):format(
      origin,
      LAYERS[profile.shadows] or profile.shadows
    )
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
    local allowed = table.concat(restriction.allow, " ")
    facts[#facts + 1] = "tools " .. (allowed ~= "" and allowed or "none")
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
    lines[#lines + 1] = ("%s (%s): not used, the %s one counts\n  %s"):format(
      profile.name,
      LAYERS[profile.layer] or profile.layer,
      LAYERS[profile.shadowed_by] or profile.shadowed_by,
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

--- Whether the project's layer counts.
---@return boolean
local function has_project()
  for _, layer in ipairs(panto.ext.dirs.layers) do
    if layer.name == "project" then
      return true
    end
  end
  return false
end

---@param path string? as the person wrote it
---@return panto.ext.CommandOutput
local function check(path)
  local shown = path
  if path and path:sub(1, 1) ~= "/" then
    path = panto.ext.cwd() .. "/" .. path
  end
  if path and not uv.fs_stat(path) then
    return { text = ("there is nothing at `%s`"):format(shown), exit_code = 2 }
  end
  local findings, checked = profiles.check(panto.ext, path)
  local project = panto.ext.dirs.project_root .. "/.panto/agents"
  if not path and not has_project() and uv.fs_stat(project) then
    -- Files need no trust to be examined.
    local more, count = profiles.check(panto.ext, project)
    table.move(more, 1, #more, #findings + 1, findings)
    checked = checked + count
  end
  local lines, is_wrong = {}, false
  for i, finding in ipairs(findings) do
    lines[i] = ("%s: %s: %s"):format(place_of(finding), finding.level, finding.message)
    is_wrong = is_wrong or finding.level ~= "info"
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
    exit_code = is_wrong and 1 or 0,
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
        runs:refresh()
        return list(runs.profiles)
      elseif word == "check" then
        return check(rest ~= "" and rest or nil)
      end
      local is_asked = word == "--help" or word == "-h" or word == "help"
      return { text = USAGE, exit_code = is_asked and 0 or 2 }
    end,
  })
  panto.ext.register_command({
    name = "session:children",
    description = "Lists the children of a session: `session:children ID`; of this one without ID.",
    handler = listing.children,
  })
end

return M
