--- What the standard tools share: their arguments, paths and words.
local panto = require("panto")
local uv = require("luv")

local M = {}

--- One argument: its name, its type, and whether it must be there.
---@alias agent.Argument { [1]: string, [2]: agent.Kind, [3]: boolean? }
---@alias agent.Kind "string"|"path"|"integer"|"number"|"boolean"

local READ = {
  string = function(value)
    return type(value) == "string" and value or nil
  end,
  path = function(value)
    return type(value) == "string" and value ~= "" and not value:find("\0", 1, true) and value
      or nil
  end,
  integer = function(value)
    return math.tointeger(tonumber(value))
  end,
  number = function(value)
    local number = tonumber(value)
    -- Not a number is unlike itself.
    return number == number and number or nil
  end,
  boolean = function(value)
    if type(value) == "boolean" then
      return value
    elseif value == "true" or value == "false" then
      return value == "true"
    end
  end,
}

--- Reads a call's input. Models send null or an empty text for what they leave out, and numbers as
--- texts.
---@param input table
---@param known agent.Argument[]
---@return table? arguments
---@return string? message which argument is wrong
function M.arguments(input, known)
  local arguments = {}
  for _, argument in ipairs(known) do
    local name, kind, required = argument[1], argument[2], argument[3]
    local value = input[name]
    if value == panto.json.null or (value == "" and not required) then
      value = nil
    end
    if value ~= nil then
      local read = READ[kind](value)
      if read == nil then
        return nil, ("`%s` must be %s %s"):format(name, kind == "integer" and "an" or "a", kind)
      end
      arguments[name] = read
    elseif required then
      return nil, ("`%s` is missing"):format(name)
    end
  end
  return arguments
end

--- A number within bounds, or what it is without one.
---@param value number?
---@param default number
---@param least number
---@param most number
---@return number
function M.within(value, default, least, most)
  return math.max(least, math.min(value or default, most))
end

--- The directory that relative paths start from.
---@return string
function M.cwd()
  local ext = panto.ext
  return ext.cwd and ext.cwd() or uv.cwd() or "/"
end

--- A path as the system needs it: absolute, without `~`.
---@param path string
---@return string
function M.resolve(path)
  if path == "~" or path:sub(1, 2) == "~/" then
    path = (uv.os_homedir() or "~") .. path:sub(2)
  elseif path:sub(1, 1) ~= "/" then
    path = M.cwd() .. "/" .. path
  end
  path = path:gsub("/+", "/")
  while path:find("/./", 1, true) do
    path = path:gsub("/%./", "/")
  end
  path = path:gsub("/%.$", "/")
  return #path > 1 and path:gsub("/$", "") or path
end

--- A path as it is said: from the working directory if it lies there, on one line.
---@param path string absolute
---@return string
function M.shown(path)
  local cwd = M.cwd():gsub("/$", "")
  if path == cwd or path == cwd .. "/" then
    path = "."
  elseif path:sub(1, #cwd + 1) == cwd .. "/" then
    path = path:sub(#cwd + 2)
  end
  if not utf8.len(path) then
    local text, rest = M.utf8(path)
    path = rest == "" and text or text .. "\u{FFFD}"
  end
  if path:find("%c") then
    path = path:gsub("%c", function(character)
      return character == "\n" and "\\n" or ("\\x%02X"):format(character:byte())
    end)
    return '"' .. path .. '"'
  end
  return path
end

--- A whole number with separators.
---@param number integer
---@return string
function M.count(number)
  local text = ("%d"):format(number):reverse():gsub("(%d%d%d)", "%1,"):reverse()
  return (text:gsub("^,", ""))
end

--- A number of things, in words.
---@param number integer
---@param one string
---@param many string?
---@return string
function M.of(number, one, many)
  return M.count(number) .. " " .. (number == 1 and one or many or one .. "s")
end

--- Parks until `start` calls what it is given.
---@async
---@param start fun(done: fun(...))
---@return any ... what it was called with
function M.await(start)
  local co = coroutine.running()
  local results
  start(function(...)
    results = table.pack(...)
    coroutine.resume(co)
  end)
  while not results do
    coroutine.yield()
  end
  return table.unpack(results, 1, results.n)
end

--- Where a path leads once links are followed; the path itself if there is nothing.
---@async
---@param path string
---@return string
function M.real(path)
  local _, real = M.await(function(done)
    uv.fs_realpath(path, done)
  end)
  return real or path
end

--- How many entries are looked at for a name that is elsewhere.
local LOOKED_AT = 20000

--- What a model is told of a path that is not there: names that are.
---@async
---@param path string absolute
---@return string
function M.missing(path)
  local files = panto.ext.files
  local found = files.nearest(path) or {}
  if found[1] == path then
    return ("`%s` is a link to something that does not exist"):format(M.shown(path))
  elseif #found == 0 then
    local name = path:match("[^/]+$")
    local elsewhere = name
      and files.walk({
        path = M.cwd(),
        globs = { (name:gsub("[%[%]{}*?\\!]", "?")) },
        limit = 3,
        max_visited = LOOKED_AT,
      })
    for _, entry in ipairs(elsewhere and elsewhere.entries or {}) do
      found[#found + 1] = entry.path
    end
  end
  local message = ("`%s` does not exist"):format(M.shown(path))
  if #found == 0 then
    return message
  end
  local names = {}
  for position, name in ipairs(found) do
    names[position] = "`" .. M.shown(name) .. "`"
  end
  return ("%s; there is %s"):format(message, table.concat(names, ", "))
end

--- What a model is told when a file cannot be used.
---@async
---@param path string absolute
---@param message string of `panto.ext.files`
---@param code string? of `panto.ext.files`
---@return nil
---@return string
function M.refused(path, message, code)
  if code == "not_found" then
    return nil, M.missing(path)
  elseif code == "is_directory" then
    return nil, ("`%s` is a directory; `ls` shows what is in it"):format(M.shown(path))
  elseif code == "too_large" then
    message = message .. "; look at parts of it with `grep` or `shell`"
  end
  local first, last = message:find(path, 1, true)
  if first then
    message = message:sub(1, first - 1) .. M.shown(path) .. message:sub(last + 1)
  end
  return nil, message
end

--- Bytes as valid UTF-8; what is none becomes U+FFFD. A character that the end cuts in two is
--- given back.
---@param bytes string
---@return string text
---@return string rest at most three bytes
function M.utf8(bytes)
  local parts, start = {}, 1
  while true do
    local length, wrong = utf8.len(bytes, start)
    if length then
      parts[#parts + 1] = bytes:sub(start)
      return table.concat(parts), ""
    end
    parts[#parts + 1] = bytes:sub(start, wrong - 1)
    if #bytes - wrong < 3 and bytes:find("^[\xC2-\xF4][\x80-\xBF]*$", wrong) then
      local lead, have = bytes:byte(wrong), #bytes - wrong + 1
      if have < (lead < 0xE0 and 2 or lead < 0xF0 and 3 or 4) then
        return table.concat(parts), bytes:sub(wrong)
      end
    end
    parts[#parts + 1] = "\u{FFFD}"
    start = wrong + 1
  end
end

return M
