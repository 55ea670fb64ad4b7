--- A program's output: its head and its tail are kept, and all of it in a file once it is long.
local uv = require("luv")
local std = require("agent.tools._std")

local M = {}

--- Up to so many bytes all of it is kept.
local WHOLE = 48 * 1024
local HEAD, TAIL = 16 * 1024, 30 * 1024
--- How many bytes may wait for the disk before the program has to.
local UNWRITTEN = 4 * 1024 * 1024
local MAX_FILE = 256 * 1024 * 1024

---@class agent.Output
local Output = {}
Output.__index = Output

--- Output that is to come. `on_change` is called when something was written.
---@param on_change fun()
---@return agent.Output
function M.new(on_change)
  return setmetatable({
    total = 0,
    parts = {},
    on_change = on_change,
    unwritten = {},
    waiting = 0,
    offset = 0,
  }, Output)
end

local function write_on(output)
  if output.is_writing or not output.fd or output.waiting == 0 then
    return
  end
  local data = table.concat(output.unwritten)
  output.unwritten, output.is_writing = {}, true
  uv.fs_write(output.fd, data, output.offset, function(err, written)
    output.is_writing = false
    if err then
      output.failure, output.unwritten, output.waiting = err, {}, 0
    else
      output.offset, output.waiting = output.offset + written, output.waiting - written
      if written < #data then
        table.insert(output.unwritten, 1, data:sub(written + 1))
      end
      write_on(output)
    end
    output.on_change()
  end)
end

local function keep(output, data)
  if output.failure or output.offset + output.waiting >= MAX_FILE then
    return
  end
  output.unwritten[#output.unwritten + 1] = data
  output.waiting = output.waiting + #data
  write_on(output)
end

--- Begins to write to a file, which only this user may read.
local function spill(output, all)
  output.is_opening = true
  uv.fs_mkstemp(uv.os_tmpdir() .. "/panto-shell-XXXXXX", function(err, fd, path)
    output.is_opening = false
    if err then
      output.failure, output.unwritten, output.waiting = err, {}, 0
    elseif output.is_closed then
      uv.fs_close(fd)
    else
      output.fd, output.path = fd, path
      write_on(output)
    end
    output.on_change()
  end)
  keep(output, all)
end

--- Takes what the program wrote.
---@param data string
function Output:add(data)
  self.total = self.total + #data
  if self.tail then
    self.tail = self.tail .. data
    if #self.tail > 2 * TAIL then
      self.tail = self.tail:sub(-TAIL)
    end
    return keep(self, data)
  end
  self.parts[#self.parts + 1] = data
  if self.total > WHOLE then
    local all = table.concat(self.parts)
    self.head, self.tail, self.parts = all:sub(1, HEAD), all:sub(HEAD + 1):sub(-TAIL), {}
    spill(self, all)
  end
end

--- Whether the program should wait for the disk.
---@return boolean
function Output:is_behind()
  return self.waiting > UNWRITTEN
end

--- Whether all is written that is to be.
---@return boolean
function Output:is_settled()
  return not self.is_opening and not self.is_writing and self.waiting == 0
end

function Output:close()
  self.is_closed = true
  if self.fd then
    uv.fs_close(self.fd, function() end)
    self.fd = nil
  end
end

--- What is shown of the output, as valid UTF-8: all, or head and tail at whole lines.
---@return string
function Output:text()
  if not self.tail then
    local text, rest = std.utf8(table.concat(self.parts))
    return rest == "" and text or text .. "\u{FFFD}"
  end
  local head = self.head:match("^.*\n") or self.head
  local tail = self.tail:sub(-TAIL)
  local line = tail:find("\n", 1, true)
  -- One long line has no better place to be cut at.
  tail = line and line < #tail and tail:sub(line + 1) or tail:gsub("^[\x80-\xBF]+", "")
  local note = ("[… %s left out"):format(std.of(self.total - #head - #tail, "byte"))
  if self.path and not self.failure then
    local first = self.offset < self.total and "the first " .. std.of(self.offset, "byte") or "all"
    note = ("%s; %s of it is in %s …]"):format(note, first, self.path)
  else
    note = note .. " …]"
  end
  head, tail = std.utf8(head), std.utf8(tail)
  return head .. (head:sub(-1) == "\n" and "" or "\n") .. note .. "\n" .. tail
end

return M
