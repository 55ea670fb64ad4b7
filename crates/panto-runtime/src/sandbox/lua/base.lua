--- The base library. What runs code of the chunk (`pcall`, `tostring`, `pairs`) is written anew in
--- Lua, so that the budget's hook can stop it at any instruction; a C function that called back
--- would be out of its reach. What is taken over as it is calls nothing.

local native, env, kit = ...

local error, type, select, next = error, type, select, next
local tointeger = math.tointeger
local rawget, rawpcall, rawtostring = rawget, pcall, tostring
local rawgetmetatable, rawsetmetatable = getmetatable, setmetatable

for _, name in next, {
  "assert", "error", "next", "rawequal", "rawget", "rawlen", "rawset", "select", "tonumber",
  "type", "_VERSION",
} do
  env[name] = _ENV[name]
end
env._G = env

env.math = {}
for name, value in next, math do
  env.math[name] = value
end
env.utf8 = {}
for name, value in next, utf8 do
  env.utf8[name] = value
end

--- Raises at the caller of the function that calls this, or that returns a helper's tail call of it.
function kit.bad(position, name, expected, value)
  error(
    "bad argument #" .. position .. " to '" .. name .. "' (" .. expected .. " expected, got "
      .. type(value) .. ")",
    3
  )
end
local bad = kit.bad

--- An argument as an integer.
function kit.integer(position, name, value, default)
  if value == nil and default then
    return default
  end
  local number = tointeger(value)
  if not number then
    return bad(position, name, "integer", value)
  end
  return number
end

--- The metamethod of a table, read without running anything.
function kit.handler(value, event)
  if type(value) ~= "table" then
    return nil
  end
  local metatable = rawgetmetatable(value)
  return metatable and rawget(metatable, event)
end
local handler = kit.handler

--- Whether reading the table runs no code of the chunk.
function kit.is_plain(value)
  return rawgetmetatable(value) == nil
end

--- Looks at what an error carries. Memory that ran out ends the chunk: to go on would be to fail,
--- and to collect garbage, at every instruction. Rust's functions raise for no other reason.
function kit.witness(value)
  if value == "not enough memory" or type(value) == "userdata" then
    native.exhausted()
    -- Here the hook finds it.
    while true do
    end
  end
end
local witness = kit.witness

local function caught(ok, ...)
  if not ok then
    witness((...))
  end
  return ok, ...
end

function env.pcall(f, ...)
  return caught(rawpcall(f, ...))
end
local pcall = env.pcall

local function handled(on_error, ok, ...)
  if ok then
    return true, ...
  end
  local _, value = pcall(on_error, (...))
  return false, value
end

--- The handler runs when the stack is unwound: as a message handler no hook could stop it.
function env.xpcall(f, on_error, ...)
  return handled(on_error, pcall(f, ...))
end

--- No address is told: it would be the host's.
function env.tostring(value)
  local kind = type(value)
  if kind == "string" then
    return value
  elseif kind == "number" or kind == "boolean" or kind == "nil" then
    return rawtostring(value)
  end
  local convert = handler(value, "__tostring")
  if convert ~= nil then
    local text = convert(value)
    if type(text) ~= "string" then
      error("'__tostring' must return a string", 2)
    end
    return text
  end
  local name = handler(value, "__name")
  return type(name) == "string" and name or kind
end

function env.getmetatable(value)
  if type(value) ~= "table" then
    return nil
  end
  local metatable = rawgetmetatable(value)
  local shown = metatable and rawget(metatable, "__metatable")
  if shown ~= nil then
    return shown
  end
  return metatable
end

function env.setmetatable(value, metatable)
  if type(value) ~= "table" then
    bad(1, "setmetatable", "table", value)
  elseif metatable ~= nil and type(metatable) ~= "table" then
    bad(2, "setmetatable", "nil or table", metatable)
  end
  if handler(value, "__metatable") ~= nil then
    error("cannot change a protected metatable", 2)
  end
  -- Lua looks for it now or never, so this is all it takes.
  if metatable and rawget(metatable, "__gc") ~= nil then
    error("'__gc' is not available here", 2)
  end
  return rawsetmetatable(value, metatable)
end

function env.pairs(value)
  local iterate = handler(value, "__pairs")
  if iterate ~= nil then
    local f, state, first = iterate(value)
    return f, state, first
  elseif type(value) ~= "table" then
    bad(1, "pairs", "table", value)
  end
  return next, value, nil
end

local function following(list, index)
  index = index + 1
  local value = list[index]
  if value ~= nil then
    return index, value
  end
end

function env.ipairs(...)
  if select("#", ...) == 0 then
    error("bad argument #1 to 'ipairs' (table expected, got no value)", 2)
  end
  return following, (...), 0
end
