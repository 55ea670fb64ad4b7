-- How Lua code is entered: what is made of errors, and calls that must not wait.
local traceback, create, MUST_NOT_WAIT = ...
local find = string.find
local pcall, tostring, type, xpcall = pcall, tostring, type, xpcall
local close, resume, status = coroutine.close, coroutine.resume, coroutine.status

local function text_of(e)
  if type(e) == "string" then
    return e
  end
  -- `tostring` may run code of whoever raised it. A Rust panic as an error value would go off when Rust sees it.
  local ok, text = pcall(tostring, e)
  if ok and not find(text, "^[^\n]*: 0x%x+$") then
    return text
  end
  return "(error object is a " .. type(e) .. " value)"
end

local function on_error(e)
  -- There is hardly any stack left, and walking all of it takes long.
  if type(e) == "string" and find(e, "stack overflow", 1, true) then
    return { message = e, traceback = "" }
  end
  return { message = text_of(e), traceback = traceback() }
end

local function finish(co, alive, ok, ...)
  if status(co) == "suspended" then
    close(co)
    return false, { message = MUST_NOT_WAIT, traceback = "" }
  end
  if not alive then
    -- The wrapper itself failed, for lack of memory or of stack.
    return false, { message = text_of(ok), traceback = "" }
  end
  return ok, ...
end

--- Runs a function that must not wait, to its end.
local function call(f, ...)
  local co = create(xpcall)
  return finish(co, resume(co, f, on_error, ...))
end

return on_error, call, close
