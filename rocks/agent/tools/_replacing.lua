--- Exact replacements in a text, all of them or none.
local std = require("agent.tools._std")

local M = {}

--- How many places are named.
local NAMED = 8

---@class agent.Edit
---@field old_text string
---@field new_text string
---@field all boolean?

--- Where `part` begins in `text`, without overlaps.
local function places(text, part)
  local found, start = {}, 1
  while true do
    local first, last = text:find(part, start, true)
    if not first then
      return found
    end
    found[#found + 1] = first
    start = last + 1
  end
end

--- The lines at which positions are.
local function line_numbers(text, positions)
  local numbers, line, start = {}, 1, 1
  for index = 1, math.min(#positions, NAMED) do
    local _, breaks = text:sub(start, positions[index] - 1):gsub("\n", "")
    line, start = line + breaks, positions[index]
    numbers[index] = ("%d"):format(line)
  end
  if #positions > NAMED then
    numbers[#numbers + 1] = "…"
  end
  return (#positions == 1 and "line " or "lines ") .. table.concat(numbers, ", ")
end

--- Lines without what whitespace may make of them; those at the end that are empty go.
local function bare_lines(text)
  local lines = {}
  for line in (text .. "\n"):gmatch("(.-)\r?\n") do
    lines[#lines + 1] = line:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")
  end
  while lines[#lines] == "" do
    lines[#lines] = nil
  end
  return lines
end

local function begins_at(lines, wanted, position)
  for offset = 1, #wanted do
    if lines[position + offset - 1] ~= wanted[offset] then
      return false
    end
  end
  return true
end

--- Hints are looked for in texts of up to so many bytes.
local HINTED = 1024 * 1024

--- What may help whoever looked for what is not there.
local function hint(text, original, old)
  if text ~= original and original:find(old, 1, true) then
    return "; an earlier edit of this call has changed it"
  end
  if old:find("^%s*%d+→") then
    return "; it has the line numbers that `read` shows, which are not part of the file"
  end
  if #text > HINTED then
    return ""
  end
  local wanted, lines = bare_lines(old), bare_lines(text)
  if #wanted == 0 then
    return ""
  end
  local first
  for position = 1, #lines do
    if begins_at(lines, wanted, position) then
      return ("; text that differs only in whitespace is at line %d"):format(position)
    end
    if not first and wanted[1] ~= "" and lines[position] == wanted[1] then
      first = position
    end
  end
  return first and ("; its first line is at line %d, but what follows differs"):format(first) or ""
end

--- Both texts of an edit with the line ends of the text that they are for.
local function fitted(text, edit, newline)
  local old, new = edit.old_text, edit.new_text
  if newline ~= "mixed" then
    return old:gsub("\r\n", "\n"), new:gsub("\r\n", "\n")
  elseif not text:find(old, 1, true) and not old:find("\r", 1, true) then
    return old:gsub("\n", "\r\n"), new:gsub("\r?\n", "\r\n")
  end
  return old, new
end

local function one(text, original, edit, newline)
  if edit.old_text == "" then
    return nil, "`old_text` is empty"
  elseif edit.old_text == edit.new_text then
    return nil, "`old_text` and `new_text` are the same"
  end
  local old, new = fitted(text, edit, newline)
  local found = places(text, old)
  if #found == 0 then
    return nil, "`old_text` was not found" .. hint(text, original, old)
  elseif #found > 1 and not edit.all then
    local message = "`old_text` was found %d times (%s); add what stands around it, or set `all`"
    return nil, message:format(#found, line_numbers(text, found))
  end
  local parts, start = {}, 1
  for _, first in ipairs(found) do
    parts[#parts + 1] = text:sub(start, first - 1)
    start = first + #old
  end
  parts[#parts + 1] = text:sub(start)
  return table.concat(parts, new), #found
end

--- Applies edits to a text, in order.
---@param text string
---@param edits agent.Edit[]
---@param newline "none"|"lf"|"crlf"|"mixed" what ends the text's lines
---@return string? changed
---@return integer|string replaced how many places, or what is wrong
function M.apply(text, edits, newline)
  local is_crlf = newline == "crlf"
  if is_crlf then
    text = text:gsub("\r\n", "\n")
  end
  local original, replaced = text, 0
  for index, edit in ipairs(edits) do
    local changed, count = one(text, original, edit, newline)
    if not changed then
      local where = #edits > 1 and ("edit %d of %d: "):format(index, #edits) or ""
      local nothing = #edits > 1 and ". Nothing was changed" or ""
      return nil, where .. count .. nothing
    end
    text, replaced = changed, replaced + count
  end
  if is_crlf then
    text = text:gsub("\n", "\r\n")
  end
  return text, replaced
end

--- Reads a list of edits as a model gives it.
---@param value any
---@return agent.Edit[]? edits
---@return string? message
function M.read(value)
  if type(value) ~= "table" or #value == 0 then
    return nil, "`edits` must be a list of `{ old_text, new_text, all? }`"
  end
  local edits = {}
  for index, entry in ipairs(value) do
    if type(entry) ~= "table" then
      return nil, ("edit %d must be `{ old_text, new_text, all? }`"):format(index)
    end
    local edit, wrong = std.arguments(entry, {
      { "old_text", "string", true },
      { "new_text", "string", true },
      { "all", "boolean" },
    })
    if not edit then
      return nil, ("edit %d: %s"):format(index, wrong)
    end
    edits[index] = edit
  end
  return edits
end

return M
