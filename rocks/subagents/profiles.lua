--- Profiles: Markdown files with frontmatter, each a role that a child can have.
---
--- They are read leniently. What was recovered is told with its line; one bad file costs no other
--- file anything; what restricts a profile and cannot be understood costs the profile. Everything
--- here is immediate: whoever asks waits for it anyway, and a thousand files are read sooner than a
--- hop to another thread and back is made for each.
local builtin = require("subagents.builtin")
local files = require("subagents.files")
local reading = require("subagents.reading")
local snapshot = require("subagents.snapshot")
local text = require("subagents.text")
local uv = require("luv")

local M = {}

---@param profile subagents.Profile
---@return subagents.Profile
local function copy(profile)
  local made = {}
  for key, value in pairs(profile) do
    made[key] = value
  end
  return made
end

--- The built-in profiles, as a layer's.
---@param ext panto.ext
---@return subagents.Profile[]
local function builtins(ext)
  local profiles = {}
  for i, source in ipairs(builtin.TEXTS) do
    local profile, _, body = reading.parse(ext, source)
    local cleaned = reading.prompt(body)
    profile.layer = "builtin"
    profile.body = function()
      return cleaned
    end
    profiles[i] = profile
  end
  return profiles
end

---@class subagents.Catalog
---@field list subagents.Profile[] by name
---@field by_name table<string, subagents.Profile>
---@field shadowed subagents.Profile[] those that another one of their name takes the place of
---@field diagnostics subagents.Diagnostic[]
---@field private ext panto.ext
---@field private layers subagents.Layer[]
---@field private builtin subagents.Profile[]
local Catalog = {}
Catalog.__index = Catalog

--- Adds a profile, in the order in which later ones win.
---@param profile subagents.Profile
---@param tell fun(level: string, code: string, message: string)
function Catalog:add(profile, tell)
  local other = rawget(self.by_name, profile.name)
  if other and other.layer == profile.layer then
    profile.shadowed_by = other.layer
    table.insert(self.shadowed, profile)
    local message = "skipped: `%s` has a profile named `%s`, too, and comes first"
    tell("warning", "duplicate", message:format(other.file, other.name))
    return
  end
  if other then
    profile.shadows, other.shadowed_by = other.layer, profile.layer
    table.insert(self.shadowed, other)
    local message = "takes the place of the built-in profile `%s`"
    if other.file then
      message = "takes the place of the profile `%s` of the layer `%s`"
    end
    tell("info", "shadows", message:format(profile.name, other.layer))
  end
  self.by_name[profile.name] = profile
end

--- Says which names are nearly the same.
---@param profiles subagents.Profile[] in the order of layers and files
---@param tell_of fun(profile: subagents.Profile): fun(level: string, code: string, message: string)
local function compare(profiles, tell_of)
  local looks = {}
  for _, profile in ipairs(profiles) do
    local look = text.look(profile.name)
    local other = looks[look]
    if other and other.name ~= profile.name then
      local is_case = other.name:lower() == profile.name:lower()
      local message = "`%s` looks like `%s`, and is another name"
      if is_case then
        message = "`%s` and `%s` differ only in case; each is called by its own name"
      end
      local code = is_case and "case_clash" or "look_alike"
      tell_of(profile)("warning", code, message:format(profile.name, other.name))
    end
    looks[look] = looks[look] or profile
  end
end

--- Decides which profile has which name.
---@param ext panto.ext
---@param layers subagents.Layer[]
---@param built_in subagents.Profile[]
---@return subagents.Catalog
local function resolve(ext, layers, built_in)
  -- A name is the same in any of its forms.
  local by_name = setmetatable({}, {
    __index = function(names, name)
      local composed = type(name) == "string" and utf8.len(name) and text.composed(ext, name)
      return composed and composed ~= name and rawget(names, composed) or nil
    end,
  })
  local self = setmetatable({
    ext = ext,
    layers = layers,
    builtin = built_in,
    list = {},
    by_name = by_name,
    shadowed = {},
    diagnostics = {},
  }, Catalog)
  for _, profile in ipairs(built_in) do
    by_name[profile.name] = copy(profile)
  end
  local added, told = {}, {}
  local function tell_of(profile)
    return function(level, code, message)
      local list_of = told[profile.file] or {}
      told[profile.file] = list_of
      table.insert(list_of, { level = level, code = code, message = message, file = profile.file })
    end
  end
  for _, layer in ipairs(layers) do
    for _, file in ipairs(layer.files) do
      if file.profile then
        local profile = copy(file.profile)
        profile.layer = layer.name
        self:add(profile, tell_of(profile))
        added[#added + 1] = profile
      end
    end
  end
  local winners = {}
  for _, profile in ipairs(built_in) do
    winners[#winners + 1] = by_name[profile.name].layer == "builtin" and profile or nil
  end
  for _, profile in ipairs(added) do
    winners[#winners + 1] = by_name[profile.name] == profile and profile or nil
  end
  compare(winners, tell_of)
  for _, profile in pairs(by_name) do
    table.insert(self.list, profile)
  end
  table.sort(self.list, function(a, b)
    return a.name < b.name
  end)
  self:collect(told)
  return self
end

--- Puts what was found into the order of the files.
---@param told table<string, subagents.Diagnostic[]> by file, what its name came to
---@private
function Catalog:collect(told)
  for _, layer in ipairs(self.layers) do
    local places = {}
    for _, diagnostic in ipairs(layer.diagnostics) do
      places[#places + 1] = { relative = diagnostic.relative, list = { diagnostic } }
    end
    for _, file in ipairs(layer.files) do
      if #file.diagnostics > 0 or told[file.path] then
        places[#places + 1] = { relative = file.relative, list = file.diagnostics }
        places[#places + 1] = { relative = file.relative, list = told[file.path] or {} }
      end
    end
    for i, place in ipairs(places) do
      place.order = i
    end
    table.sort(places, function(a, b)
      if a.relative ~= b.relative then
        return a.relative < b.relative
      end
      return a.order < b.order
    end)
    for _, place in ipairs(places) do
      for _, diagnostic in ipairs(place.list) do
        local plain = copy(diagnostic)
        plain.relative = nil
        table.insert(self.diagnostics, plain)
      end
    end
  end
end

--- The catalog as it is now: this one, if nothing has changed.
---@return subagents.Catalog
function Catalog:refresh()
  local layers = snapshot.again(self.ext, self.layers)
  if snapshot.are_same(self.layers, layers) then
    return self
  end
  return resolve(self.ext, layers, self.builtin)
end

--- Names that may be meant, the nearest first.
---@param name string
---@return string[] names three at most
function Catalog:near(name)
  local wanted = text.look(text.cut(text.text(name), 4 * reading.MAX_NAME))
  local most = math.max(2, #wanted // 3)
  local found = {}
  for _, profile in ipairs(self.list) do
    local look = text.look(profile.name)
    local distance = text.distance(wanted, look, most)
    if distance > most and #wanted >= 3 then
      local is_part = look:find(wanted, 1, true)
        or (#look >= 3 and wanted:find(look, 1, true) ~= nil)
      distance = is_part and most or distance
    end
    if distance <= most then
      found[#found + 1] = { name = profile.name, distance = distance }
    end
  end
  table.sort(found, function(a, b)
    if a.distance ~= b.distance then
      return a.distance < b.distance
    end
    return a.name < b.name
  end)
  local names = {}
  for i = 1, math.min(3, #found) do
    names[i] = found[i].name
  end
  return names
end

--- The profile of a name, or which may be meant.
---@param name string
---@return subagents.Profile? profile
---@return string? message
function Catalog:find(name)
  local profile = self.by_name[name]
  if profile then
    return profile
  end
  local near = self:near(name)
  local hint = #near > 0 and (" did you mean `%s`?"):format(table.concat(near, "`, `")) or ""
  return nil, ("there is no profile `%s`;%s `subagents.models {}` lists all"):format(name, hint)
end

M.places = snapshot.places

--- Reads all profiles that there are.
---@param ext panto.ext
---@return subagents.Catalog
function M.discover(ext)
  local layers = snapshot.again(ext, {})
  return resolve(ext, layers, builtins(ext))
end

--- Examines files without leniency: whatever had to be recovered, ignored or left out is a finding.
--- That a profile takes another layer's place is none.
---@param ext panto.ext
---@param path? string a file or a directory; all layers without it
---@return subagents.Diagnostic[] findings
---@return integer files_checked
function M.check(ext, path)
  local places = M.places(ext)
  local given, checked = nil, 0
  local function examine(entry)
    checked = checked + 1
    return reading.load(ext, entry, true)
  end
  if path then
    local stat, message = uv.fs_stat(path)
    local name = path:match("([^/]+)/*$") or path
    local is_file = stat and stat.type == "file"
    if not stat or not (is_file or stat.type == "directory") then
      local why = stat and ("it is a %s"):format(stat.type) or files.without_path(message, path)
      local finding = { level = "error", code = "not_found", message = text.text(why) }
      finding.file = text.text(path)
      return { finding }, 0
    end
    if is_file then
      local file = examine({ path = path, relative = name, stat = stat })
      given = { name = "given", files = { file }, diagnostics = {} }
    end
    places = { { name = "given", dir = path } }
  end
  local layers = given and { given } or snapshot.read(places, examine)
  local findings = {}
  for _, diagnostic in ipairs(resolve(ext, layers, path and {} or builtins(ext)).diagnostics) do
    if diagnostic.code ~= "shadows" then
      findings[#findings + 1] = diagnostic
    end
  end
  return findings, checked
end

return M
