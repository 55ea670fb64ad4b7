--- Prompt commands: each Markdown file of a layer's `commands` is a slash command whose text is
--- submitted as the person's prompt.
local panto = require("panto")
local command_text = require("_command")
local files = require("_files")
local markdown = require("_markdown")
local words = require("_words")

local MAX_DEPTH = 4
local MAX_ENTRIES = 1000
local MAX_COMMANDS = 500

---@class agent.PromptCommand
---@field name string
---@field file string
---@field layer string

--- The commands of a directory: `a/b.md` is `a:b`.
---@param layer { name: string, dir: string }
---@param seen table<string, boolean> real directories
---@return agent.PromptCommand[]
local function of_layer(layer, seen)
  local found = {}
  local function visit(dir, prefix, depth)
    local real = files.real(dir)
    if not real or seen[real] or depth > MAX_DEPTH then
      return
    end
    seen[real] = true
    local names, message = files.list(dir, MAX_ENTRIES)
    if not names then
      markdown.diagnose(panto.ext, "warning", "no commands here: " .. message, dir)
      return
    end
    for _, name in ipairs(names) do
      local path = files.join(dir, name)
      local is_skipped = name:find("^[._]") or name == "node_modules" or #found >= MAX_COMMANDS
      local kind, why = nil, nil
      if not is_skipped then
        kind, why = files.kind(path)
      end
      local stem = name:match("^(.+)%.[mM][dD]$")
      if kind == "directory" then
        visit(path, prefix .. name .. ":", depth + 1)
      elseif kind == "file" and stem then
        found[#found + 1] = { name = prefix .. stem, file = path, layer = layer.name }
      elseif stem and why then
        markdown.diagnose(panto.ext, "warning", "skipped: " .. why, path)
      end
    end
  end
  visit(files.join(layer.dir, "commands"), "", 1)
  return found
end

--- All commands by name; those of a higher layer count.
---@return agent.PromptCommand[]
local function all()
  local by_name, seen = {}, {}
  for _, layer in ipairs(panto.ext.dirs.layers) do
    for _, command in ipairs(of_layer(layer, seen)) do
      local other = by_name[command.name]
      if not other or other.layer ~= command.layer then
        if other then
          local message = ("`%s` is used for `/%s` instead"):format(command.file, command.name)
          markdown.diagnose(panto.ext, "info", message, other.file)
        end
        by_name[command.name] = command
      else
        local message = ("skipped: `%s` is `/%s` already"):format(other.file, other.name)
        markdown.diagnose(panto.ext, "warning", message, command.file)
      end
    end
  end
  local list = {}
  for _, command in pairs(by_name) do
    list[#list + 1] = command
  end
  table.sort(list, function(a, b)
    return a.name < b.name
  end)
  return list
end

--- What a list of commands says of one: its description, else its first line.
---@param read agent.Markdown
---@return string
local function description(read)
  local data = read.data or {}
  local text = words.one_line(words.scalar(data.description) or "")
  if text == "" then
    local line = words.printable(read.body):match("([^\n]*%S[^\n]*)") or ""
    text = words.one_line(line:gsub("^#+%s*", ""))
  end
  text = words.cut(text, 200)
  -- `[file]` is a list for YAML, and a usual way to name an argument.
  local given = data["argument-hint"]
  local hint = words.scalar(given)
  if type(given) == "table" then
    local items = {}
    for i, item in ipairs(given) do
      items[i] = words.scalar(item) or "…"
    end
    hint = "[" .. table.concat(items, ", ") .. "]"
  end
  hint = words.one_line(hint or "")
  if hint ~= "" then
    text = ("%s (arguments: %s)"):format(text, words.cut(hint, 100))
  end
  return text
end

---@param command agent.PromptCommand
local function register(command)
  local read = markdown.read(panto.ext, command.file)
  if not read then
    return
  end
  if not read.body:find("%S") then
    markdown.diagnose(panto.ext, "warning", "skipped: the command has no text", command.file)
    return
  end
  local registered, message = pcall(panto.ext.register_command, {
    name = command.name,
    description = description(read),
    -- Extensions and skills with a command of the name are not to lose it to a text.
    fallback = true,
    file = command.file,
    handler = function(arguments)
      local body, why = markdown.body(panto.ext, command.file)
      if not body then
        error(why, 0)
      end
      return { prompt = command_text.expand(body, arguments) }
    end,
  })
  if not registered then
    local why = ("no command `/%s`: %s"):format(command.name, message)
    markdown.diagnose(panto.ext, "warning", why, command.file)
  end
end

return {
  name = "commands",
  activate = function()
    for _, command in ipairs(all()) do
      register(command)
    end
  end,
}
