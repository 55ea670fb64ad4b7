-- What the interpreter needs of Lua itself: chunks run as those of the reference's program `lua` do. Given the functions
-- that Rust has for it; loaded before any chunk can change the libraries.
local take_failure, has_failed = ...
local coroutine, debug, error, load, loadfile, pcall = coroutine, debug, error, load, loadfile, pcall
local globals, rawget, setmetatable, tostring, type, xpcall = _G, rawget, setmetatable, tostring, type, xpcall
local getmetatable, traceback, stdout = debug.getmetatable, debug.traceback, io.stdout
local close, resume, status = coroutine.close, coroutine.resume, coroutine.status
local gsub, match, unpack = string.gsub, string.match, table.unpack

--- The text of an error value, and whether a traceback is to follow it.
local function described(e)
  if type(e) == "string" or type(e) == "number" then
    return tostring(e), true
  end
  local meta = getmetatable(e)
  local own = type(meta) == "table" and rawget(meta, "__tostring")
  if own then
    local ok, text = pcall(own, e)
    if ok and type(text) == "string" then
      return text, false
    end
  end
  return "(error object is a " .. type(e) .. " value)", true
end

local function on_error(e)
  local text, is_traced = described(e)
  return is_traced and traceback(text, 2) or text
end

--- Leaves out the frames of this file, which are the outermost.
local function trimmed(text)
  return (gsub(text, "\n\t%[C%]: in function 'xpcall'\n\t%[panto%].*$", "\n\t[C]: in ?"))
end

local function outcome(ok, message)
  if ok then
    return nil
  end
  return trimmed(type(message) == "string" and message or (described(message)))
end

--- Calls a function; gives what went wrong as text.
local function call(f, ...)
  -- Not a tail call: the frame is where a traceback is cut off.
  local failure = outcome(xpcall(f, on_error, ...))
  return failure
end

local M = {}

function M.chunk(text, name)
  local f, message = load(text, "=" .. name)
  if not f then
    return message
  end
  return call(f)
end

--- Runs a file with the arguments that `arg` has by now; without a path it is standard input.
function M.script(path)
  local f, message = loadfile(path)
  if not f then
    return message
  end
  local arg = globals.arg
  if type(arg) ~= "table" then
    return "'arg' is not a table"
  end
  return call(f, unpack(arg))
end

--- Runs a file without arguments.
function M.file(path)
  local f, message = loadfile(path)
  if not f then
    return message
  end
  return call(f)
end

--- Requires `module`, or `global=module`, into a global.
function M.library(spec)
  local global, module = match(spec, "^([^=]*)=(.*)$")
  if not global then
    -- What follows a hyphen tells versions apart and is no part of the name.
    global, module = match(spec, "^([^-]*)"), spec
  end
  return call(function()
    globals[global] = globals.require(module)
  end)
end

--- Writes out what is buffered; gives what went wrong.
function M.flush()
  -- Raises if the chunk has closed it.
  local ok, done, message = pcall(stdout.flush, stdout)
  if ok and not done then
    return "could not write the output: " .. tostring(message)
  end
  -- `print` flushes by itself, and lets what went wrong go.
  return ok and has_failed(stdout) and "could not write the output" or nil
end

--- A loader that raises what Rust gives after nil.
function M.loader(make)
  return function()
    local module, message = make()
    if module == nil then
      error(message, 2)
    end
    return module
  end
end

--- An error that a callback has raised, with the traceback of the callback.
local failure_meta = {
  __name = "callback error",
  __tostring = function(self)
    return self.message .. "\n" .. self.traceback
  end,
}

local function after(ok, ...)
  if not ok then
    local message = ...
    -- This is a tail call of `uv.run`, so level 2 is its caller.
    error(message, 2)
  end
  local message, trace = take_failure()
  if message then
    -- Without the frames of the loop.
    trace = gsub(trace, "\n\t%[C%]: in function 'xpcall'\n\tluv:.*$", "")
    error(setmetatable({ message = message, traceback = trace }, failure_meta), 0)
  end
  return ...
end

--- Makes `uv.run` raise what its callbacks raised.
function M.guard(uv)
  local run = uv.run
  function uv.run(...)
    return after(pcall(run, ...))
  end
end

-- The wait for which each parked coroutine is parked; one that went on otherwise is parked for none.
local waits = setmetatable({}, { __mode = "k" })

--- Says that a coroutine parks; gives its ticket.
function M.park(co)
  local ticket = {}
  waits[co] = ticket
  return ticket
end

--- Goes on with a coroutine that parked with this ticket. Gives message and traceback of what it raised.
function M.wake(co, ticket)
  if waits[co] ~= ticket or status(co) ~= "suspended" then
    return nil
  end
  waits[co] = nil
  local ok, e = resume(co)
  if ok then
    return nil
  end
  local message, trace = (described(e)), traceback(co)
  close(co)
  return message, trace
end

return M
