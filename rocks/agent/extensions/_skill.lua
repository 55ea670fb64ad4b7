--- One skill: a Markdown file of the Agent Skills standard, read leniently.
local files = require("_files")
local markdown = require("_markdown")
local words = require("_words")

local M = {}

local MAX_NAME = 64
local MAX_DESCRIPTION = 1024
local MAX_COMPATIBILITY = 500
--- A longer one is a mistake, or worse.
local MAX_USABLE_NAME = 200

--- How many of a skill's files are named, and how deep they are looked for.
local MAX_FILES = 100
local MAX_DEPTH = 4

---@class agent.Skill
---@field name string
---@field description string one line
---@field file string the Markdown file
---@field dir string? its directory, if that is the skill's own
---@field is_hidden boolean only a person starts it
---@field license string?
---@field compatibility string?
---@field allowed_tools string[]
---@field metadata table<string, any>

--- What is wrong with a name, by the standard: lower-case ASCII letters, digits and single hyphens.
---@param name string
---@return string? message
function M.check_name(name)
  if utf8.len(name) > MAX_NAME then
    return ("the name has more than %d characters"):format(MAX_NAME)
  end
  if name:find("[^a-z0-9-]") then
    return ("the name `%s` has other characters than a-z, 0-9 and `-`"):format(name)
  end
  if name:find("^-") or name:find("-$") or name:find("--", 1, true) then
    return ("the name `%s` has a hyphen at an end, or two in a row"):format(name)
  end
end

---@param value any
---@return string[]
local function tools(value)
  local list = {}
  if type(value) == "table" then
    for _, item in ipairs(value) do
      list[#list + 1] = words.scalar(item)
    end
  elseif value ~= nil then
    for item in tostring(value):gmatch("[^%s,]+") do
      list[#list + 1] = item
    end
  end
  return list
end

--- Reads a skill. Most violations are told and it loads; without a description it does not.
---@param ext panto.ext
---@param file string
---@param dir string? the skill's own directory; nil for a single file
---@return agent.Skill?
function M.read(ext, file, dir)
  local function warn(message)
    markdown.diagnose(ext, "warning", message, file)
  end
  local read = markdown.read(ext, file)
  if not read then
    return nil
  end
  local data = read.data
  if not data then
    -- A loose Markdown file need not be meant as a skill, nor an empty one.
    if dir and read.body ~= "" then
      warn("skipped: the skill has no frontmatter with `name` and `description`")
    end
    return nil
  end

  local description = words.one_line(words.scalar(data.description) or "")
  if description == "" then
    warn("skipped: the skill has no `description`")
    return nil
  end
  local name = words.one_line(words.scalar(data.name) or "")
  if name == "" then
    name = dir and files.name(dir) or files.name(file):gsub("%.[mM][dD]$", "")
  end
  if not utf8.len(name) or #name > MAX_USABLE_NAME then
    warn(("skipped: the name has more than %d bytes, or is no text"):format(MAX_USABLE_NAME))
    return nil
  end
  local wrong = M.check_name(name)
  if wrong then
    warn(wrong)
  end
  if utf8.len(description) > MAX_DESCRIPTION then
    warn(("the description has more than %d characters"):format(MAX_DESCRIPTION))
  end
  local compatibility = words.scalar(data.compatibility)
  if compatibility and utf8.len(compatibility) > MAX_COMPATIBILITY then
    warn(("`compatibility` has more than %d characters"):format(MAX_COMPATIBILITY))
  end
  if not read.body:find("%S") then
    warn("the skill has no instructions")
  end
  return {
    name = name,
    description = description,
    file = file,
    dir = dir,
    is_hidden = words.says_yes(data["disable-model-invocation"]),
    license = words.scalar(data.license),
    compatibility = compatibility,
    allowed_tools = tools(data["allowed-tools"]),
    metadata = type(data.metadata) == "table" and data.metadata or {},
  }
end

--- The files of a skill besides its instructions, relative to its directory.
---@param skill agent.Skill
---@return string[] paths
---@return boolean were_cut
function M.files(skill)
  local found, seen = {}, {}
  local were_cut = false
  local function visit(dir, prefix, depth)
    local real = files.real(dir)
    if not real or seen[real] or depth > MAX_DEPTH then
      return
    end
    seen[real] = true
    for _, name in ipairs(files.list(dir, 1000) or {}) do
      if #found >= MAX_FILES then
        were_cut = true
        return
      end
      local path = files.join(dir, name)
      local is_hidden = name:sub(1, 1) == "." or name == "node_modules"
      local kind = not is_hidden and files.kind(path)
      if kind == "directory" then
        visit(path, prefix .. name .. "/", depth + 1)
      elseif kind == "file" and path ~= skill.file then
        found[#found + 1] = prefix .. name
      end
    end
  end
  if skill.dir then
    visit(skill.dir, "", 1)
  end
  return found, were_cut
end

--- The instructions of a skill as a model reads them, with where its files are.
---@param ext panto.ext
---@param skill agent.Skill
---@return string? text
---@return string? message
function M.text(ext, skill)
  local body, message = markdown.body(ext, skill.file)
  if not body then
    return nil, message
  end
  local dir = skill.dir or files.parent(skill.file) or "/"
  local lines = {
    ('<skill name="%s" location="%s">'):format(words.escape(skill.name), words.path(skill.file)),
    "Relative paths in it start at " .. words.path(dir) .. ".",
  }
  local list, were_cut = M.files(skill)
  if #list > 0 then
    lines[#lines + 1] = "Files of the skill:"
    for _, path in ipairs(list) do
      lines[#lines + 1] = "- " .. words.path(path)
    end
    if were_cut then
      lines[#lines + 1] = ("- … (only %d are named)"):format(#list)
    end
  end
  if #skill.allowed_tools > 0 then
    lines[#lines + 1] = "Tools that it expects: "
      .. words.escape(table.concat(skill.allowed_tools, ", "))
      .. "."
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = words.enclosed(words.printable(body), "skill"):match("^%s*(.-)%s*$")
  lines[#lines + 1] = "</skill>"
  return table.concat(lines, "\n")
end

return M
