--- Where skills lie, and which are there.
local files = require("_files")
local markdown = require("_markdown")
local skill_file = require("_skill")

local M = {}

--- How deep directories are looked into, how many of them, and how many skills there are.
local MAX_DEPTH = 8
local MAX_DIRECTORIES = 2000
local MAX_ENTRIES = 2000
local MAX_SKILLS = 500

--- The file that makes a directory a skill.
local MAIN = "SKILL.md"

---@class agent.SkillPlace
---@field path string
---@field takes_loose_files boolean whether `.md` files in it are skills, too
---@field must_exist boolean whether a person named it

--- The settings of `[extensions.settings.skills]`, each with its type checked.
---@class agent.SkillSettings
---@field paths string[] more directories, relative to the project
---@field extra string[] paths of `--skill`
---@field disabled boolean `--no-skills`
---@field enableSkillCommands boolean

---@param ext panto.ext
---@return agent.SkillSettings
function M.settings(ext)
  local given = ext.settings("skills")
  local settings = { paths = {}, extra = {}, disabled = false, enableSkillCommands = true }
  local function warn(message, ...)
    ext.diagnose("warning", ("[extensions.settings.skills]: " .. message):format(...))
  end
  given = type(given) == "table" and given or {}
  local keys = {}
  for key in pairs(given) do
    keys[#keys + 1] = tostring(key)
  end
  table.sort(keys)
  for _, key in ipairs(keys) do
    local value = given[key]
    local default = settings[key]
    if default == nil then
      warn("`%s` is unknown; there are `paths` and `enableSkillCommands`", key)
    elseif type(value) ~= type(default) then
      warn("`%s` is a %s, not a %s", key, type(value), type(default))
    elseif type(value) == "table" then
      for i, path in ipairs(value) do
        if type(path) == "string" and path ~= "" then
          table.insert(settings[key], path)
        else
          warn("`%s[%d]` is no path", key, i)
        end
      end
    else
      settings[key] = value
    end
  end
  return settings
end

--- The places that count, those that win first.
---@param ext panto.ext
---@param settings agent.SkillSettings
---@return agent.SkillPlace[]
function M.list(ext, settings)
  local dirs = ext.dirs
  local places = {}
  local function add(path, takes_loose_files, must_exist)
    places[#places + 1] =
      { path = path, takes_loose_files = takes_loose_files, must_exist = must_exist or false }
  end
  for _, path in ipairs(settings.extra) do
    add(path, true, true)
  end
  if settings.disabled then
    return places
  end

  local layers = {}
  for _, layer in ipairs(dirs.layers) do
    layers[layer.name] = layer.dir
  end
  local function native(name)
    if layers[name] then
      add(files.join(layers[name], "skills"), true)
    end
  end
  native("bundle")
  native("local")
  native("project")
  -- Without these layers the project is not trusted.
  if layers.project or layers["local"] then
    local top = files.git_root(dirs.cwd) or dirs.project_root
    for _, dir in ipairs(files.up_to(dirs.cwd, top)) do
      add(files.join(dir, ".agents/skills"), false)
    end
  end
  for _, path in ipairs(settings.paths) do
    if path:sub(1, 2) == "~/" and dirs.home then
      path = files.join(dirs.home, path:sub(3))
    elseif path:sub(1, 1) ~= "/" then
      path = files.join(dirs.project_root, path)
    end
    add(path, false, true)
  end
  native("user")
  if dirs.home then
    add(files.join(dirs.home, ".agents/skills"), false)
  end
  native("base")
  return places
end

--- Looks for skill files.
---@class agent.SkillSearch
---@field ext panto.ext
---@field seen table<string, boolean> real paths of directories and files
---@field directories integer how many were looked into
---@field was_cut boolean whether something was left out, and told
---@field found { file: string, dir: string? }[]
local Search = {}
Search.__index = Search

---@param path string
---@return boolean is_new whether nothing led here before
function Search:_enter(path)
  local real = files.real(path) or path
  if self.seen[real] then
    return false
  end
  self.seen[real] = true
  return true
end

---@param level "info"|"warning"
---@param message string
---@param path string
function Search:_tell(level, message, path)
  markdown.diagnose(self.ext, level, message, path)
end

---@param file string
---@param dir string?
function Search:_add(file, dir)
  if self:_enter(file) then
    self.found[#self.found + 1] = { file = file, dir = dir }
  end
end

---@param dir string
---@param takes_loose_files boolean
---@param depth integer
function Search:_visit(dir, takes_loose_files, depth)
  if not self:_enter(dir) then
    local real, above = files.real(dir), files.real(files.parent(dir) or "/")
    if depth > 1 and real and above and files.is_within(above, real) then
      self:_tell("info", "skipped: the link leads back to where it is", dir)
    end
    return
  end
  if depth > MAX_DEPTH then
    return self:_tell("warning", "no skills are looked for as deep as this", dir)
  end
  if self.directories >= MAX_DIRECTORIES or #self.found >= MAX_SKILLS then
    if not self.was_cut then
      local message = "there is too much: no skills are looked for here and in what follows"
      self:_tell("warning", message, dir)
    end
    self.was_cut = true
    return
  end
  self.directories = self.directories + 1
  local main = files.join(dir, MAIN)
  if files.kind(main) == "file" then
    return self:_add(main, dir)
  end
  local names, message = files.list(dir, MAX_ENTRIES)
  if not names then
    return self:_tell("warning", "skipped: " .. message, dir)
  end
  for _, name in ipairs(names) do
    if name:sub(1, 1) ~= "." and name ~= "node_modules" then
      local path = files.join(dir, name)
      local kind, why, code = files.kind(path)
      if kind == "directory" then
        self:_visit(path, false, depth + 1)
      elseif kind == "file" and takes_loose_files and name:lower():match("%.md$") then
        self:_add(path)
      elseif not kind and (name:lower():match("%.md$") or code == "ELOOP") then
        self:_tell("warning", "skipped: " .. why, path)
      end
    end
  end
end

---@param place agent.SkillPlace
function Search:visit(place)
  local kind, message, code = files.kind(place.path)
  if kind == "directory" then
    self:_visit(place.path, place.takes_loose_files, 1)
  elseif kind == "file" and place.must_exist then
    local is_main = files.name(place.path) == MAIN
    self:_add(place.path, is_main and files.parent(place.path) or nil)
  elseif place.must_exist then
    self:_tell("warning", "no skills here: " .. (message or "it is a " .. kind), place.path)
  elseif not kind and code ~= "ENOENT" and code ~= "ENOTDIR" then
    self:_tell("warning", "no skills here: " .. message, place.path)
  end
end

--- Finds and reads all skills. Of two with one name the first counts.
---@param ext panto.ext
---@param places agent.SkillPlace[]
---@return agent.Skill[]
function M.read(ext, places)
  local search =
    setmetatable({ ext = ext, seen = {}, directories = 0, was_cut = false, found = {} }, Search)
  for _, place in ipairs(places) do
    search:visit(place)
  end
  local skills, by_name = {}, {}
  for _, found in ipairs(search.found) do
    local skill = skill_file.read(ext, found.file, found.dir)
    local other = skill and by_name[skill.name]
    if other then
      local message = ("skipped: `%s` has a skill named `%s`, too"):format(other.file, other.name)
      markdown.diagnose(ext, "warning", message, skill.file)
    elseif skill then
      by_name[skill.name] = skill
      skills[#skills + 1] = skill
    end
  end
  table.sort(skills, function(a, b)
    return a.name < b.name
  end)
  return skills
end

return M
