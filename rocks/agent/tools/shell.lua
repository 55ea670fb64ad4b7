--- Runs a command.
local panto = require("panto")
local uv = require("luv")
local process = require("agent.tools._process")
local std = require("agent.tools._std")

local TIMEOUT_S, MIN_TIMEOUT_S, MAX_TIMEOUT_S = 120, 0.1, 3600

--- The environment for commands: without what the host keeps to itself.
---@return string[]
local function environment()
  local given = panto.ext.shell_environment and panto.ext.shell_environment()
  if given then
    return given
  end
  local variables = {}
  for name, value in pairs(uv.os_environ()) do
    variables[#variables + 1] = name .. "=" .. value
  end
  return variables
end

--- Whether a directory is one.
---@async
local function is_directory(path)
  local _, found = std.await(function(done)
    uv.fs_stat(path, done)
  end)
  return found and found.type == "directory"
end

--- How it ended, if not well, and the status that is.
local function ending(result, timeout_s)
  if result.why == "cancelled" then
    return "[cancelled; the command and what it started were ended]", "cancelled"
  elseif result.why == "timeout" then
    local text = "[timed out after %g s; the command and what it started were ended]"
    return text:format(timeout_s), "error"
  elseif result.signal ~= 0 then
    return ("[ended by signal %d]"):format(result.signal), "error"
  elseif result.code ~= 0 then
    return ("[exit code %d]"):format(result.code), "error"
  end
  return nil, "ok"
end

return {
  name = "shell",
  description = ([[
Runs a command with `sh -c`, without input and without a terminal, and gives what it writes to
standard output and standard error, and its exit code. Of long output the middle is left out;
all of it is in a file then. After `timeout_s` (%d unless given) the command and all that it started
is ended. The call ends when the command does: what goes on in the background should write to a
file.]]):format(TIMEOUT_S),
  schema = {
    type = "object",
    properties = {
      command = { type = "string", description = "The command." },
      timeout_s = { type = "number", description = "How many seconds it may take." },
      cwd = { type = "string", description = "Where it runs; by default the working directory." },
    },
    required = { "command" },
  },
  ---@async
  handler = function(input, context)
    local arguments, wrong = std.arguments(input, {
      { "command", "string", true },
      { "timeout_s", "number" },
      { "cwd", "path" },
    })
    if not arguments then
      return nil, wrong
    elseif arguments.command:find("\0", 1, true) then
      return nil, "`command` has a zero byte"
    end
    local timeout_s = arguments.timeout_s or TIMEOUT_S
    if not (timeout_s >= MIN_TIMEOUT_S and timeout_s <= MAX_TIMEOUT_S) then
      local message = "`timeout_s` must be from %g to %d, in seconds"
      return nil, message:format(MIN_TIMEOUT_S, MAX_TIMEOUT_S)
    end
    local cwd = std.resolve(arguments.cwd or ".")
    if not is_directory(cwd) then
      return nil, ("`cwd` is not a directory: `%s`"):format(std.shown(cwd))
    end
    local result, message = process.run({
      command = arguments.command,
      cwd = cwd,
      env = environment(),
      timeout_ms = math.ceil(timeout_s * 1000),
      cancelled = context.cancelled,
      show = context.output,
    })
    if not result then
      return nil, "the command could not be started: " .. message
    end
    local parts = { result.text ~= "" and result.text:gsub("\n$", "") or "[no output]" }
    local note, status = ending(result, timeout_s)
    parts[#parts + 1] = note
    if result.left_behind then
      parts[#parts + 1] = "[something that it started still runs, and is heard no longer]"
    end
    return {
      text = table.concat(parts, "\n"),
      status = status,
      details = { exit_code = result.code, signal = result.signal, output_file = result.path },
    }
  end,
}
