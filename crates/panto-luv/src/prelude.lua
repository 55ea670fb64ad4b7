-- What the binding needs of Lua itself. Given a marker and a function that makes a traceback.
local FAIL, traceback = ...
local error, tostring, type, xpcall = error, tostring, type, xpcall

-- After the marker come a message and the level at which to raise it. `check` and `error` are tail calls, so that level 2
-- is the caller of the guarded function.
local function check(first, ...)
  if first == FAIL then
    return error(...)
  end
  return first, ...
end

--- Makes misuse an error of the caller's, and a plain string.
local function guarded(f)
  return function(...)
    return check(f(...))
  end
end

-- Every error becomes a string here: a Rust panic inside an error value would go off when it is looked at.
local function on_error(e)
  local message = type(e) == "string" and e or tostring(e)
  return { tostring(message), traceback() }
end

local function outcome(ok, failure)
  if ok then
    return nil
  end
  -- An error inside `on_error` arrives as a string.
  if type(failure) ~= "table" then
    return tostring(failure), ""
  end
  return failure[1], failure[2]
end

--- Calls a callback. Answers nothing, or message and traceback.
local function enter(f, ...)
  return outcome(xpcall(f, on_error, ...))
end

--- Makes a function of a value with `__call`.
local function callable(value)
  return function(...)
    return value(...)
  end
end

return guarded, enter, callable
