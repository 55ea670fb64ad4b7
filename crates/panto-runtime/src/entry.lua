-- How Lua code is entered: handlers as coroutines that report their own end, and calls that must not wait.
local report, abandoned, yielded, traceback, create, MUST_NOT_WAIT = ...
local find = string.find
local error, pcall, setmetatable, tostring, type, xpcall = error, pcall, setmetatable, tostring, type, xpcall
local close, isyieldable, resume, status, yield =
  coroutine.close, coroutine.isyieldable, coroutine.resume, coroutine.status, coroutine.yield

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

-- Settles a call whose coroutine was closed by somebody else.
local guard = {
  __close = function(self)
    if self.key then
      abandoned(self.key)
    end
  end,
}

local function done(ended)
  ended.key = nil
end

--- Runs a handler. Whoever resumes the coroutine last, the end is reported from inside it.
local function enter(key, handler, ...)
  local running <close> = setmetatable({ key = key }, guard)
  report(key, xpcall(handler, on_error, ...))
  done(running)
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

-- Where nothing can be yielded across, such as in a comparison of `table.sort`, Lua's own message says nothing of the
-- entry point. It fails as a whole, even if the error is caught.
function coroutine.yield(...)
  if not isyieldable() and yielded() then
    error(MUST_NOT_WAIT, 2)
  end
  return yield(...)
end

return enter, call, close
