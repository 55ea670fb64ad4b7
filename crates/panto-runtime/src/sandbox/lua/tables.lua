--- The table library in Lua: metamethods and comparators run where the hook reaches, and work is
--- counted by the element. `sort` is a merge sort: it is stable, and ends with any comparator.

local native, env, kit = ...

local error, type, select, next = error, type, select, next
local math_type, min = math.type, math.min
local maxinteger = math.maxinteger
local concat, unpack = table.concat, table.unpack
local bad, integer, is_plain = kit.bad, kit.integer, kit.is_plain

local M = {}
env.table = M

--- Values that `unpack` gives at most.
local MOST_UNPACKED = 100000

local function length(list)
  local n = #list
  if math_type(n) ~= "integer" then
    error("object length is not an integer", 3)
  end
  return n
end

local function list_of(name, value)
  if type(value) ~= "table" then
    return bad(1, name, "table", value)
  end
  return value
end

function M.pack(...)
  return { n = select("#", ...), ... }
end

function M.insert(list, ...)
  list_of("insert", list)
  local n = length(list)
  local count = select("#", ...)
  if count == 1 then
    list[n + 1] = (...)
    return
  elseif count ~= 2 then
    error("wrong number of arguments to 'insert'", 2)
  end
  local position, value = ...
  position = integer(2, "insert", position)
  if position < 1 or position > n + 1 then
    error("bad argument #2 to 'insert' (position out of bounds)", 2)
  end
  for i = n, position, -1 do
    list[i + 1] = list[i]
  end
  list[position] = value
end

function M.remove(list, position)
  list_of("remove", list)
  local n = length(list)
  position = integer(2, "remove", position, n)
  if position ~= n and (position < 1 or position > n + 1) then
    error("bad argument #2 to 'remove' (position out of bounds)", 2)
  end
  local value = list[position]
  while position < n do
    list[position] = list[position + 1]
    position = position + 1
  end
  list[position] = nil
  return value
end

function M.move(from, first, last, target, to)
  list_of("move", from)
  first, last, target = integer(2, "move", first), integer(3, "move", last), integer(4, "move", target)
  to = to == nil and from or to
  if last < first then
    return to
  elseif first <= 0 and last >= maxinteger + first then
    error("bad argument #3 to 'move' (too many elements to move)", 2)
  elseif target > maxinteger - (last - first) then
    error("bad argument #4 to 'move' (destination wrap around)", 2)
  end
  if target > last or target <= first or to ~= from then
    for i = 0, last - first do
      to[target + i] = from[first + i]
    end
  else
    for i = last - first, 0, -1 do
      to[target + i] = from[first + i]
    end
  end
  return to
end

function M.concat(list, separator, first, last)
  list_of("concat", list)
  if separator == nil then
    separator = ""
  elseif type(separator) ~= "string" and type(separator) ~= "number" then
    bad(2, "concat", "string", separator)
  end
  first = integer(3, "concat", first, 1)
  last = last == nil and length(list) or integer(4, "concat", last)
  local pieces, count = {}, 0
  for i = first, last do
    local piece = list[i]
    if type(piece) ~= "string" and type(piece) ~= "number" then
      error("invalid value (at index " .. i .. ") in table for 'concat'", 2)
    end
    count = count + 1
    pieces[count] = piece
  end
  return concat(pieces, separator)
end

function M.unpack(list, first, last)
  first = integer(2, "unpack", first, 1)
  last = last == nil and length(list) or integer(3, "unpack", last)
  if first > last then
    return
  end
  local count = last - first
  if count < 0 or count >= MOST_UNPACKED then
    error("too many results to unpack", 2)
  end
  native.charge(count)
  if type(list) == "table" and is_plain(list) then
    return unpack(list, first, last)
  end
  local plain = {}
  for i = 0, count do
    plain[i + 1] = list[first + i]
  end
  return unpack(plain, 1, count + 1)
end

--- Merges two neighbouring runs of `from`, which begin at `first` and `second` and end before
--- `stop`, into `to`.
local function merge(from, to, first, second, stop, precedes)
  local i, j = first, second
  for k = first, stop - 1 do
    local take
    if i >= second then
      take = true
    elseif j < stop then
      if precedes then
        take = precedes(from[j], from[i])
      else
        take = from[j] < from[i]
      end
    end
    if take then
      to[k], j = from[j], j + 1
    else
      to[k], i = from[i], i + 1
    end
  end
end

function M.sort(list, precedes)
  list_of("sort", list)
  if precedes ~= nil and type(precedes) ~= "function" then
    bad(2, "sort", "function", precedes)
  end
  local n = length(list)
  local from, to = {}, {}
  for i = 1, n do
    from[i] = list[i]
  end
  local width = 1
  while width < n do
    for first = 1, n, 2 * width do
      merge(from, to, first, min(first + width, n + 1), min(first + 2 * width, n + 1), precedes)
    end
    from, to, width = to, from, 2 * width
  end
  for i = 1, n do
    list[i] = from[i]
  end
end
