--- A command in a process group of its own, with its output, until it ends or is ended.
local uv = require("luv")
local outputs = require("agent.tools._output")
local std = require("agent.tools._std")

local M = {}

--- How often it is looked whether the turn was cancelled, and output is shown.
local TICK_MS = 50
--- How long the group has between a polite signal and the last one. Within a turn's own time.
local GRACE_MS = 700
--- So many ticks without output are the end of it, where somebody else keeps the pipe open.
local QUIET_TICKS = 3
local MAX_TICKS_AFTER_EXIT = 20
--- How much is shown at once while it runs.
local MAX_SHOWN = 16 * 1024

---@class agent.Command
---@field command string for `sh -c`
---@field cwd string
---@field env string[]? `NAME=VALUE` each
---@field timeout_ms integer
---@field cancelled fun(): boolean
---@field show fun(text: string) shows output while the command runs

local Run = {}
Run.__index = Run

--- Signals the whole group, which is there for as long as one of it is.
function Run:signal(name)
  uv.kill(-self.pid, name)
end

function Run:stop(why)
  if not self.why then
    self.why, self.last_at = why, uv.now() + GRACE_MS
    self:signal("sigterm")
  end
end

--- Shows what is new, in pieces of whole characters.
function Run:show_new(is_last)
  if #self.fresh == 0 then
    return
  end
  local bytes, mark = table.concat(self.fresh), ""
  if #bytes > MAX_SHOWN then
    bytes = bytes:sub(-MAX_SHOWN):gsub("^[\x80-\xBF]+", "")
    mark = "[…]"
  end
  local text, rest = std.utf8(bytes)
  text = mark .. text
  self.fresh = { not is_last and rest ~= "" and rest or nil }
  if text ~= "" then
    self.options.show(text)
  end
end

function Run:tick()
  self:show_new()
  if self.options.cancelled() then
    self:stop("cancelled")
  elseif uv.now() >= self.times_out_at and not self.code then
    self:stop("timeout")
  end
  if self.last_at and uv.now() >= self.last_at then
    self:signal("sigkill")
  end
  if self.code then
    self.ticks, self.quiet = self.ticks + 1, self.quiet + 1
  end
  self:wake()
end

--- Whether the command has ended and its output is complete, as far as can be told.
function Run:is_over()
  local is_complete = self.has_ended
    or self.quiet >= QUIET_TICKS
    or self.ticks >= MAX_TICKS_AFTER_EXIT
  -- What does not heed the polite signal is not left behind.
  local is_killed = not self.last_at or uv.now() >= self.last_at or not uv.kill(-self.pid, 0)
  return self.code ~= nil and is_complete and is_killed and self.output:is_settled()
end

function Run:wake()
  if self.output:is_behind() ~= self.is_held then
    self.is_held = not self.is_held
    if self.is_held then
      self.pipe:read_stop()
    elseif not self.has_ended then
      self:read()
    end
  end
  if self:is_over() and not self.is_woken then
    self.is_woken = true
    coroutine.resume(self.co)
  end
end

function Run:read()
  self.pipe:read_start(function(err, data)
    if data then
      self.quiet = 0
      self.output:add(data)
      self.fresh[#self.fresh + 1] = data
    elseif not err or err ~= "EAGAIN" then
      self.has_ended = true
    end
    self:wake()
  end)
end

--- Whatever happens, nothing is left: neither processes that were to end nor handles.
function Run:__close()
  if self.pid and not self.code then
    self:signal("sigkill")
  end
  for _, handle in ipairs({ self.timer, self.pipe, self.process }) do
    if not handle:is_closing() then
      handle:close()
    end
  end
  self.output:close()
end

local function spawn(run)
  local options = run.options
  local fds, message = uv.pipe({ nonblock = true }, { nonblock = false })
  if not fds then
    return nil, message
  end
  run.pipe = uv.new_pipe(false)
  run.pipe:open(fds.read)
  -- One pipe for both, so that they stay in order. No input: a question gets no answer.
  local process, pid = uv.spawn("/bin/sh", {
    args = { "-c", options.command },
    stdio = { nil, fds.write, fds.write },
    cwd = options.cwd,
    env = options.env,
    detached = true,
  }, function(code, signal)
    run.code, run.signal_number = code, signal
    run:wake()
  end)
  uv.fs_close(fds.write)
  if not process then
    return nil, pid
  end
  run.process, run.pid = process, pid
  return true
end

--- Runs a command to its end.
---@async
---@param options agent.Command
---@return table? result `{ text, path?, code, signal, why?, left_behind }`
---@return string? message why it did not start
function M.run(options)
  local run <close> = setmetatable({
    options = options,
    co = coroutine.running(),
    fresh = {},
    quiet = 0,
    ticks = 0,
    is_held = false,
    times_out_at = uv.now() + options.timeout_ms,
    timer = uv.new_timer(),
  }, Run)
  run.output = outputs.new(function()
    run:wake()
  end)
  local started, message = spawn(run)
  if not started then
    return nil, message
  end
  run:read()
  run.timer:start(TICK_MS, TICK_MS, function()
    run:tick()
  end)
  while not run:is_over() do
    coroutine.yield()
  end
  if run.why then
    run:signal("sigkill")
  end
  run:show_new(true)
  return {
    text = run.output:text(),
    path = run.output.path,
    code = run.code,
    signal = run.signal_number,
    why = run.why,
    left_behind = not run.has_ended and not run.why,
  }
end

return M
