-- A `panto.ext` that is as strict as a host's, and keeps what it is told.
local panto = require("panto")
local given = ...
local told = { tools = {}, commands = {}, sections = {}, diagnostics = {} }

local function text(value, what)
  assert(type(value) == "string" and utf8.len(value), what .. " is no UTF-8 text")
  return value
end

local ext = given.data
ext.dirs = given.dirs
ext.json = panto.json

function ext.settings(name)
  return given.settings[name] or {}
end

function ext.register_tool(tool)
  for _, field in ipairs({ "name", "description", "schema", "handler" }) do
    assert(tool[field], field .. " is missing")
  end
  assert(not told.tools[tool.name], "the tool is there already")
  assert(panto.json.encode(tool.schema))
  told.tools[tool.name] = tool
end

function ext.register_command(command)
  if not text(command.name, "name"):find("^%w[%w%-_.:]*$") then
    error("bad argument 'name' to 'register_command' (not a name)", 2)
  end
  assert(type(command.handler) == "function")
  text(command.description, "description")
  assert(not told.commands[command.name], "the command is there already")
  told.commands[command.name] = command
end

function ext.section(name, content, options)
  told.sections[text(name, "name")] = text(content, "text")
  assert(math.type(options.order) == "integer")
end

function ext.diagnose(level, message, position)
  assert(level == "info" or level == "warning" or level == "error")
  local place = ""
  if position then
    place = text(position.file, "file")
    for _, part in ipairs({ position.line or false, position.column or false }) do
      place = part and place .. ":" .. part or place
    end
    place = place .. ": "
  end
  table.insert(told.diagnostics, level .. ": " .. place .. text(message, "message"))
end

panto.ext = ext
return told
