--- Coroutines, and how a chunk starts, parks and ends.
---
--- Every yield is tagged, with a value that the chunk cannot get at: a yield of its own goes to its
--- own `resume`, a park goes through all of them to the host, and one without a tag is the budget's
--- hook, which stopped that coroutine for good: then whoever resumed it stops too. Without `close`:
--- it would run `__close` handlers from C.

local native, env, kit = ...

local error, type, select = error, type, select
local create, resume, yield = coroutine.create, coroutine.resume, coroutine.yield
local running, status = coroutine.running, coroutine.status
local load, pcall, rawequal, tostring = load, pcall, rawequal, tostring
local bad, witness = kit.bad, kit.witness

local YIELDED, ENDED, PARKED = {}, {}, "parked"

--- The coroutine in which the chunk itself runs.
local main

local M = {}
env.coroutine = M

local function begin(f, ...)
  return ENDED, f(...)
end

function M.create(f)
  if type(f) ~= "function" then
    bad(1, "create", "function", f)
  end
  return create(function(...)
    return begin(f, ...)
  end)
end

local function stepped(co, ok, tag, ...)
  if not ok then
    witness(tag)
    return false, tag
  end
  while rawequal(tag, PARKED) do
    return stepped(co, resume(co, yield(PARKED)))
  end
  -- Stopped by the hook, which now finds this coroutine as well.
  while not rawequal(tag, YIELDED) and not rawequal(tag, ENDED) do
  end
  return true, ...
end

function M.resume(co, ...)
  if type(co) ~= "thread" then
    bad(1, "resume", "coroutine", co)
  end
  return stepped(co, resume(co, ...))
end

local function unwrapped(ok, ...)
  if not ok then
    error((...), 0)
  end
  return ...
end

function M.wrap(f)
  if type(f) ~= "function" then
    bad(1, "wrap", "function", f)
  end
  local co = M.create(f)
  return function(...)
    return unwrapped(stepped(co, resume(co, ...)))
  end
end

function M.yield(...)
  if running() == main then
    error("attempt to yield from outside a coroutine", 2)
  end
  return yield(YIELDED, ...)
end

function M.running()
  local co = running()
  return co, co == main
end

function M.isyieldable()
  return running() ~= main
end

function M.status(co)
  if type(co) ~= "thread" then
    bad(1, "status", "coroutine", co)
  end
  return status(co)
end

local function answered(ok, ...)
  if not ok then
    error((...), 2)
  end
  return ...
end

--- Makes one function of the host's. `path` is its name, taken apart: all but the last part are
--- tables. Called as a method of its table, it does not get the table.
function kit.give(id, parks, path)
  local home
  local holder = env
  for i = 1, #path - 1 do
    home = holder[path[i]]
    if type(home) ~= "table" then
      home = {}
      holder[path[i]] = home
    end
    holder = home
  end
  local call = native.call
  if parks then
    call = function(...)
      local ok, message = native.request(...)
      if not ok then
        return false, message
      end
      return yield(PARKED)
    end
  end
  holder[path[#path]] = function(...)
    if home and rawequal((...), home) then
      return answered(call(id, select(2, ...)))
    end
    return answered(call(id, ...))
  end
end

--- Compiles text, never bytecode, piece by piece, so that the clock is looked at. Protected here, it
--- is out of reach of the host's message handler.
function kit.compile(name)
  local _, chunk, message = pcall(load, native.piece, name, "t", env)
  -- Reading fails for one reason only.
  return chunk, type(message) == "userdata" and "not enough memory" or message
end

local function settled(ok, ...)
  if ok then
    local refused = native.finish(...)
    return not refused, refused
  end
  local value = ...
  witness(value)
  if type(value) == "string" then
    return false, value
  elseif type(value) == "number" then
    return false, tostring(value)
  end
  return false, "(the error is a " .. type(value) .. " value)"
end

--- Runs in the chunk's coroutine: all that is left for Rust are `true`, or `false` and a text.
function kit.enter(chunk, ...)
  main = running()
  return settled(pcall(chunk, ...))
end
