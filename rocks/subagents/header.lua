--- Where the keys of a frontmatter stand. Its reader says what they are, not where; and a
--- restriction that it took for something else must not get lost.
local text = require("subagents.text")

local M = {}

---@class subagents.Header
---@field lines table<string, integer> by key, the last one of a name
---@field written table<string, boolean> the restrictions whose key has something behind it
---@field owners table<integer, string> by line, the key that it belongs to
---@field indented { key: string, line: integer }[] what looks like a restriction further in
---@field broken { key: string, line: integer }? a restriction without its colon

local RESTRICTS = { tools = true, disallowedTools = true, excludedTools = true }

--- What stands for nothing in YAML.
local EMPTY = { [""] = true, ["~"] = true, null = true, Null = true, NULL = true }
EMPTY['""'], EMPTY["''"] = true, true

--- What some take for the end of a line, and YAML does not.
local ENDS = { "\u{2028}", "\u{2029}", "\u{85}" }

--- The restriction that stands behind such an end.
---@param line string
---@return string? key
local function hidden_in(line)
  if not line:find("[\xC2\xE2]") then
    return nil
  end
  local parts = line
  for _, ending in ipairs(ENDS) do
    parts = parts:gsub(ending, "\n")
  end
  for key in parts:gmatch("\n%s*(%a+)%s*:") do
    if RESTRICTS[key] then
      return key
    end
  end
end

---@param bytes string
---@return subagents.Header
function M.read(bytes)
  local found = { lines = {}, written = {}, owners = {}, indented = {}, broken = nil }
  local at = bytes:sub(1, 3) == "\xEF\xBB\xBF" and 4 or 1
  local number, is_open, owner = 0, false, nil
  while at <= #bytes do
    local stop = bytes:find("[\r\n]", at) or #bytes + 1
    local line = bytes:sub(at, stop - 1)
    at = bytes:sub(stop, stop + 1) == "\r\n" and stop + 2 or stop + 1
    number = number + 1
    if not is_open then
      if line:find("%S") then
        if not (line:find("^%-%-%-%s*$") or line:find("^%-%-%-ya?ml%s*$")) then
          return found
        end
        is_open = true
      end
    elseif line:find("^%-%-%-%s*$") or line:find("^%.%.%.%s*$") then
      return found
    else
      local hidden = hidden_in(line)
      if hidden then
        found.broken = found.broken or { key = hidden, line = number }
      end
      local key, behind = line:match("^[\"']?([%w_][%w_.-]*)[\"']?%s*:()")
      local inner = not key and line:match("^[%s,{-]+[\"']?(%a+)[\"']?%s*:")
      local word = not key and line:match("^(%a+)%s*[^%w%s:]?%f[\0%s]")
      if key then
        owner = key
        found.lines[key] = number
        if RESTRICTS[key] then
          local rest = text.trim(line:sub(behind))
          found.written[key] = not EMPTY[rest] and rest:sub(1, 1) ~= "#"
        end
      elseif inner and RESTRICTS[inner] then
        table.insert(found.indented, { key = inner, line = number })
      elseif word and RESTRICTS[word] then
        found.broken = found.broken or { key = word, line = number }
      elseif line:find("^%s*{") and not next(found.lines) then
        -- All keys in braces: where `tools` is empty, it is there all the same.
        if line:find("[{,]%s*[\"']?tools[\"']?%s*:") then
          found.lines.tools = number
        end
      end
      found.owners[number] = owner
    end
  end
  return found
end

return M
