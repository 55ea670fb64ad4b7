--- Rules: what people write into `AGENTS.md` for every agent that works there.
---
--- They are text, and so they are read in a project that is not trusted, too.
local panto = require("panto")
local files = require("_files")
local markdown = require("_markdown")
local words = require("_words")

--- Where the rules stand among the sections of the system prompt.
local ORDER = 100

local NAME = "AGENTS.md"

--- Of one file, and of all together. What is larger is not even read.
local MAX_BYTES = 32 * 1024
local MAX_TOTAL_BYTES = 96 * 1024
local MAX_READ_BYTES = 4 * 1024 * 1024

local INTRODUCTION = [[
# Rules

People wrote these rules for work in these directories and what is below them. Where two disagree
the later one counts; what the user asks for counts more.
]]

--- The directories whose rules count, the most general first.
---@return { dir: string, inside: string?, is_users: boolean }[] with what its file must not leave
local function directories()
  local dirs = panto.ext.dirs
  local list = {}
  local is_trusted = false
  for _, layer in ipairs(dirs.layers) do
    if layer.name == "user" then
      list[#list + 1] = { dir = layer.dir, is_users = true }
    end
    is_trusted = is_trusted or layer.name == "project" or layer.name == "local"
  end
  local top = files.git_root(dirs.cwd) or dirs.project_root
  local up = files.up_to(dirs.cwd, top)
  for i = #up, 1, -1 do
    -- A stranger's link must not bring the user's own files into a prompt.
    list[#list + 1] = { dir = up[i], inside = not is_trusted and top or nil, is_users = false }
  end
  return list
end

--- The text of a file, if it is there and is text.
---@param file string
---@return string?
local function read(file)
  local text, message = files.read(file, MAX_READ_BYTES)
  if not text then
    markdown.diagnose(panto.ext, "warning", "these rules are skipped: " .. message, file)
    return nil
  end
  text = text:gsub("^\xEF\xBB\xBF", "")
  if not utf8.len(text) or text:find("\0", 1, true) then
    local why = "these rules are skipped: the file is no UTF-8 text"
    markdown.diagnose(panto.ext, "warning", why, file)
    return nil
  end
  text = words.printable(text):match("^%s*(.-)%s*$")
  return text ~= "" and text or nil
end

---@class agent.Rules
---@field file string
---@field text string
---@field is_users boolean
---@field room integer how many bytes of the text are shown

--- All rules that there are, the most general first.
---@return agent.Rules[]
local function all()
  local list, seen = {}, {}
  for _, place in ipairs(directories()) do
    local file = files.join(place.dir, NAME)
    local kind = files.kind(file)
    local real = kind == "file" and files.real(file)
    local inside = place.inside and (files.real(place.inside) or place.inside)
    if kind and kind ~= "file" and kind ~= "directory" then
      local message = ("these rules are skipped: it is a %s, not a file"):format(kind)
      markdown.diagnose(panto.ext, "warning", message, file)
    end
    if real and not seen[real] then
      seen[real] = true
      if inside and not files.is_within(real, inside) then
        local message = "these rules are skipped: the file is a link that leaves the project"
        markdown.diagnose(panto.ext, "warning", message, file)
      else
        local text = read(file)
        if text then
          list[#list + 1] = { file = file, text = text, is_users = place.is_users, room = 0 }
        end
      end
    end
  end
  return list
end

--- Shares the room out: the user's own rules come first, then those that are nearest.
---@param list agent.Rules[]
local function share(list)
  local room = MAX_TOTAL_BYTES
  local function give(rules)
    rules.room = math.min(#rules.text, room, MAX_BYTES)
    room = room - rules.room
  end
  for _, rules in ipairs(list) do
    if rules.is_users then
      give(rules)
    end
  end
  for i = #list, 1, -1 do
    if not list[i].is_users then
      give(list[i])
    end
  end
end

---@param rules agent.Rules
---@return string?
local function delimited(rules)
  local kept, was_cut = words.cut(rules.text, rules.room)
  if was_cut then
    local message = "only the first %d of %d bytes of these rules are in the prompt"
    message = message:format(#kept, #rules.text)
    markdown.diagnose(panto.ext, "warning", message, rules.file)
    if kept == "" then
      return nil
    end
    kept = kept
      .. ("\n[cut after %d of %d bytes; the file has the rest]"):format(#kept, #rules.text)
  end
  local path, inner = words.path(rules.file), words.enclosed(kept, "rules")
  return ('<rules path="%s">\n%s\n</rules>'):format(path, inner)
end

--- The section of the system prompt; nil without rules.
---@return string?
local function section()
  local list = all()
  if #list == 0 then
    return nil
  end
  share(list)
  local parts = {}
  for _, rules in ipairs(list) do
    parts[#parts + 1] = delimited(rules)
  end
  return INTRODUCTION .. "\n" .. table.concat(parts, "\n\n")
end

return {
  name = "rules",
  activate = function()
    local text = section()
    if text then
      panto.ext.section("rules", text, { order = ORDER })
    end
  end,
}
