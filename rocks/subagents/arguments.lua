--- What the model gives to `subagents.run`.
local panto = require("panto")
local text = require("subagents.text")

local M = {}

--- How long the name of something can be, and how many wrong ones are named.
local MAX_NAME = 512
local MOST_NAMED = 5

---@class subagents.Arguments
---@field agent string?
---@field id string?
---@field prompt string
---@field model string?
---@field reasoning string?

local KNOWN = { "agent", "id", "prompt", "model", "reasoning" }

local FORMS = "give `agent` and `prompt` to start a child, or `id` and `prompt` to go on with one"

---@param list string[]
---@return string
local function quoted(list)
  local names = {}
  for i, name in ipairs(list) do
    names[i] = "`" .. name .. "`"
  end
  return table.concat(names, ", ")
end

--- What stands for nothing: models fill in what they leave out.
---@param value any
---@return boolean
function M.is_absent(value)
  return value == nil or value == panto.json.null or value == ""
end

--- The arguments that nobody knows, and those that are no text.
---@param input table
---@param known string[]
---@param takes? table<string, string> types other than text
---@return string? message the same for the same input, whatever order it is in
function M.check(input, known, takes)
  local is_known = {}
  for _, name in ipairs(known) do
    is_known[name] = true
  end
  local unknown = {}
  for name in pairs(input) do
    if not is_known[name] then
      unknown[#unknown + 1] = tostring(name)
    end
  end
  if #unknown > 0 then
    table.sort(unknown)
    for i = #unknown, 1, -1 do
      unknown[i] = i <= MOST_NAMED and text.cut(unknown[i], 80) or nil
    end
    local many = #unknown > 1
    return ("there %s no argument%s %s; the arguments are %s"):format(
      many and "are" or "is",
      many and "s" or "",
      quoted(unknown),
      quoted(known)
    )
  end
  for _, name in ipairs(known) do
    local wanted = takes and takes[name] or "string"
    if not M.is_absent(input[name]) and type(input[name]) ~= wanted then
      return ("`%s` must be a %s"):format(name, wanted)
    end
  end
end

--- Reads a call's input.
---@param input table
---@return subagents.Arguments? arguments
---@return string? message
function M.read(input)
  local wrong = M.check(input, KNOWN)
  if wrong then
    return nil, wrong .. "; " .. FORMS
  end
  local arguments = {}
  for _, name in ipairs(KNOWN) do
    if not M.is_absent(input[name]) then
      arguments[name] = input[name]
    end
  end
  for _, name in ipairs({ "agent", "id", "model", "reasoning" }) do
    if #(arguments[name] or "") > MAX_NAME then
      return nil, ("`%s` has more than %d bytes; %s"):format(name, MAX_NAME, FORMS)
    end
  end
  if arguments.agent and arguments.id then
    return nil, "`agent` and `id` exclude each other: " .. FORMS
  end
  if not arguments.agent and not arguments.id then
    return nil, "`agent` or `id` is missing: " .. FORMS
  end
  if not (arguments.prompt and arguments.prompt:find("%S")) then
    return nil, "`prompt` is missing: " .. FORMS
  end
  return arguments
end

return M
