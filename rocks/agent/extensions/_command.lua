--- Prompt commands: a Markdown text with places for arguments.
local M = {}

--- Cuts arguments at white space; quotes keep together what is between them, a backslash the next
--- character as it is. An open quote goes to the end.
---@param text string
---@return string[]
function M.arguments(text)
  local list = {}
  local word, quote
  local at = 1
  while at <= #text do
    local char = text:sub(at, at)
    if char == "\\" and quote ~= "'" and at < #text then
      at = at + 1
      word = (word or "") .. text:sub(at, at)
    elseif quote then
      if char == quote then
        quote = nil
      else
        word = word .. char
      end
    elseif char == '"' or char == "'" then
      quote = char
      word = word or ""
    elseif char:find("%s") then
      list[#list + 1] = word
      word = nil
    else
      word = (word or "") .. char
    end
    at = at + 1
  end
  list[#list + 1] = word
  return list
end

--- Puts arguments into a text: `$ARGUMENTS` is all of them, `$1` to `$9` one each, empty if it was
--- not given. What is put in is not looked into again. A text without places gets the arguments
--- behind it.
---@param body string
---@param arguments string as they were written
---@return string
function M.expand(body, arguments)
  local positional = M.arguments(arguments)
  local has_places = false
  local expanded = body:gsub("%$([%w_]+)", function(name)
    if name == "ARGUMENTS" then
      has_places = true
      return arguments
    end
    -- `$10` is ten dollars.
    local position = name:match("^[1-9]$")
    if position then
      has_places = true
      return positional[tonumber(position)] or ""
    end
    return nil
  end)
  if not has_places and arguments ~= "" then
    expanded = expanded:gsub("%s+$", "") .. "\n\n" .. arguments
  end
  return expanded
end

return M
