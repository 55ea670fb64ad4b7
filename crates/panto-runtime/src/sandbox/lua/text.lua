--- The string library, and the metatable of strings. Patterns are matched in Rust, step by counted
--- step; `gsub` calls its replacement from Lua. Without `dump`, `pack` and `unpack`.

local native, env, kit = ...

local error, type, next, select = error, type, next, select
local rawtostring, tostring = tostring, env.tostring
local tonumber, math_type = tonumber, math.type
local find_plain, match_own, format = string.find, string.match, string.format
local rep, sub, byte = string.rep, string.sub, string.byte
local concat, unpack = table.concat, table.unpack
local bad, integer, handler = kit.bad, kit.integer, kit.handler

local M = {}
for _, name in next, { "byte", "char", "len", "lower", "reverse", "sub", "upper" } do
  M[name] = string[name]
end
env.string = M

--- How a search treats a pattern: `^` may hold it to the start, nothing may, it is no pattern, or it
--- is none if nothing in it is special.
local ANCHORED, FREE, PLAIN, MAYBE_PLAIN = 0, 1, 2, 3

local function text(position, name, value)
  if type(value) == "string" then
    return value
  elseif type(value) == "number" then
    return rawtostring(value)
  end
  return bad(position, name, "string", value)
end

--- A position from the front; nil if it is behind the text.
local function place(s, init)
  if init < 0 then
    init = #s + init + 1
  end
  if init < 1 then
    return 1
  end
  return init <= #s + 1 and init or nil
end

local function positions(first, ...)
  if first == false then
    error((...), 2)
  end
  return first, ...
end

function M.find(s, pattern, init, plain)
  s, pattern = text(1, "find", s), text(2, "find", pattern)
  local from = place(s, integer(3, "find", init, 1))
  if not from then
    return nil
  end
  return positions(native.find(s, pattern, from, -1, plain and PLAIN or MAYBE_PLAIN))
end

local function captures(s, first, last, ...)
  if not first then
    if first == false then
      error(last, 2)
    end
    return nil
  elseif select("#", ...) == 0 then
    return sub(s, first, last)
  end
  return ...
end

function M.match(s, pattern, init)
  s, pattern = text(1, "match", s), text(2, "match", pattern)
  local from = place(s, integer(3, "match", init, 1))
  if not from then
    return nil
  end
  return captures(s, native.find(s, pattern, from, -1, ANCHORED))
end

function M.gmatch(s, pattern, init)
  s, pattern = text(1, "gmatch", s), text(2, "gmatch", pattern)
  local from, before = place(s, integer(3, "gmatch", init, 1)), -1
  local function advance(first, last, ...)
    if first then
      from, before = last + 1, last
    else
      from = nil
    end
    return captures(s, first, last, ...)
  end
  return function()
    if not from then
      return nil
    end
    return advance(native.find(s, pattern, from, before, FREE))
  end
end

--- Takes a replacement apart: texts, and numbers for the captures in it.
local function parts_of(replacement)
  local parts, from = {}, 1
  while true do
    local at = find_plain(replacement, "%", from, true)
    if not at then
      break
    end
    parts[#parts + 1] = sub(replacement, from, at - 1)
    local after = byte(replacement, at + 1)
    if after == 37 then
      parts[#parts + 1] = "%"
    elseif after and after >= 48 and after <= 57 then
      parts[#parts + 1] = after - 48
    else
      error("invalid use of '%' in replacement string", 3)
    end
    from = at + 2
  end
  parts[#parts + 1] = sub(replacement, from)
  return parts
end

local function filled(parts, found, whole)
  local pieces = {}
  for i = 1, #parts do
    local part = parts[i]
    if type(part) == "number" then
      if part == 0 or part == 1 and #found == 2 then
        part = whole
      else
        local number = part
        part = found[number + 2]
        if part == nil then
          error("invalid capture index %" .. number .. " in replacement string", 3)
        end
      end
    end
    pieces[i] = part
  end
  return concat(pieces)
end

function M.gsub(s, pattern, replacement, limit)
  s, pattern = text(1, "gsub", s), text(2, "gsub", pattern)
  local kind = type(replacement)
  if kind == "number" then
    kind, replacement = "string", rawtostring(replacement)
  elseif kind ~= "string" and kind ~= "table" and kind ~= "function" then
    bad(3, "gsub", "string/function/table", replacement)
  end
  limit = limit ~= nil and integer(4, "gsub", limit) or nil
  local parts = kind == "string" and parts_of(replacement)
  local anchored = sub(pattern, 1, 1) == "^"
  local pieces, count, copied, before = {}, 0, 1, -1
  while not limit or count < limit do
    local found = { native.find(s, pattern, copied, before, ANCHORED) }
    local first, last = found[1], found[2]
    if first == false then
      error(last, 2)
    elseif not first then
      break
    end
    count = count + 1
    local whole, value = sub(s, first, last), nil
    if parts then
      value = filled(parts, found, whole)
    elseif kind == "table" then
      value = replacement[#found > 2 and found[3] or whole]
    elseif #found > 2 then
      value = replacement(unpack(found, 3))
    else
      value = replacement(whole)
    end
    if not value then
      value = whole
    elseif type(value) ~= "string" and type(value) ~= "number" then
      error("invalid replacement value (a " .. type(value) .. ")", 2)
    end
    pieces[#pieces + 1] = sub(s, copied, first - 1)
    pieces[#pieces + 1] = value
    copied, before = last + 1, last
    if anchored then
      break
    end
  end
  pieces[#pieces + 1] = sub(s, copied)
  return concat(pieces), count
end

function M.rep(s, n, separator)
  s, n = text(1, "rep", s), integer(2, "rep", n)
  separator = separator == nil and "" or text(3, "rep", separator)
  local size = #s + #separator
  if n <= 0 or size == 0 then
    return ""
  elseif n > native.longest // size then
    error("resulting string too large", 2)
  end
  return rep(s, n, separator)
end

local NUMBERS = { a = 1, A = 1, c = 1, d = 1, e = 1, E = 1, f = 1, g = 1, G = 1, i = 1, o = 1, x = 1, X = 1 }

local function formatted(specification, kind, position, value)
  if kind == "s" then
    local shown = tostring(value)
    -- A width or a precision needs C, which takes no zero bytes then.
    return specification == "%s" and shown or format(specification, shown)
  elseif NUMBERS[kind] then
    if tonumber(value) == nil then
      error(
        "bad argument #" .. position .. " to 'format' (number expected, got " .. type(value) .. ")",
        3
      )
    end
    return format(specification, value)
  elseif kind == "q" and type(value) ~= "table" then
    return format(specification, value)
  end
  error("invalid conversion '" .. specification .. "' to 'format'", 3)
end

function M.format(template, ...)
  template = text(1, "format", template)
  local values, used = { ... }, 0
  local available = select("#", ...)
  local pieces, from = {}, 1
  while true do
    local at = find_plain(template, "%", from, true)
    if not at then
      break
    end
    pieces[#pieces + 1] = sub(template, from, at - 1)
    -- The pattern is ours, and looks at no more than a few bytes.
    local specification = match_own(sub(template, at, at + 12), "^%%[-+ #0]*%d?%d?%.?%d?%d?%a")
    if byte(template, at + 1) == 37 then
      specification = "%%"
      pieces[#pieces + 1] = "%"
    elseif not specification then
      error("invalid conversion '" .. sub(template, at, at + 2) .. "' to 'format'", 2)
    else
      used = used + 1
      if used > available then
        error("bad argument #" .. used + 1 .. " to 'format' (no value)", 2)
      end
      pieces[#pieces + 1] = formatted(specification, sub(specification, -1), used + 1, values[used])
    end
    from = at + #specification
  end
  pieces[#pieces + 1] = sub(template, from)
  return concat(pieces)
end

-- Lua does arithmetic on strings through their metatable, whose C functions call the metamethods of
-- the other operand. These do the same where the hook reaches.
local OPERATIONS = {
  __add = function(a, b) return a + b end,
  __sub = function(a, b) return a - b end,
  __mul = function(a, b) return a * b end,
  __mod = function(a, b) return a % b end,
  __pow = function(a, b) return a ^ b end,
  __div = function(a, b) return a / b end,
  __idiv = function(a, b) return a // b end,
  __unm = function(a) return -a end,
}

local function number(value)
  if type(value) == "string" or math_type(value) then
    return tonumber(value)
  end
end

local metatable = getmetatable("")
for event in next, metatable do
  metatable[event] = nil
end
metatable.__index = M
for event, operate in next, OPERATIONS do
  metatable[event] = function(a, b)
    local x, y = number(a), number(b)
    if x and y then
      return operate(x, y)
    end
    local other = handler(b, event)
    if other ~= nil then
      return (other(a, b))
    end
    local culprit = (type(b) == "string" or type(b) == "number") and a or b
    error("attempt to perform arithmetic on a " .. type(culprit) .. " value", 2)
  end
end
