--- Files and directories as skills, commands and rules need them: whole, sorted, bounded.
---
--- Everything here is immediate, since activation waits for it anyway.
local uv = require("luv")

local M = {}

--- Joins two paths.
---@param dir string
---@param name string
---@return string
function M.join(dir, name)
  return dir:sub(-1) == "/" and dir .. name or dir .. "/" .. name
end

--- The directory above, or nil at the top.
---@param path string
---@return string?
function M.parent(path)
  local dir = path:match("^(.*)/[^/]+/*$")
  if not dir then
    return nil
  end
  return dir == "" and "/" or dir
end

--- The last part of a path.
---@param path string
---@return string
function M.name(path)
  return path:match("([^/]+)/*$") or path
end

--- Whether `path` is `dir` or lies below it, going by their text alone.
---@param path string
---@param dir string
---@return boolean
function M.is_within(path, dir)
  return path == dir or path:sub(1, #dir + 1) == dir .. "/" or dir == "/"
end

--- A message of the file system without the path, which is told beside it.
---@param message string?
---@param path string
---@return string?
local function without_path(message, path)
  local ending = ": " .. path
  if message and message:sub(-#ending) == ending then
    message = message:sub(1, -#ending - 1)
  end
  return message
end

--- What is there, links followed: `file`, `directory`, another type, or nil and why.
---@param path string
---@return string? kind
---@return string? message
---@return string? code such as `ENOENT`
function M.kind(path)
  local stat, message, code = uv.fs_stat(path)
  if not stat then
    return nil, without_path(message, path), code
  end
  return stat.type
end

--- The path without links, or nil if nothing is there.
---@param path string
---@return string?
function M.real(path)
  return (uv.fs_realpath(path))
end

--- Reads a regular file.
---@param path string
---@param max_bytes integer
---@return string? text nil if it is larger, too
---@return string? message
function M.read(path, max_bytes)
  -- Opening a pipe would wait for its other end.
  local kind, why = M.kind(path)
  if kind ~= "file" then
    return nil, why or ("it is a %s, not a file"):format(kind)
  end
  local file, message = io.open(path, "rb")
  if not file then
    return nil, (message:gsub("^.*: ", ""))
  end
  local text, failure = file:read(max_bytes + 1)
  file:close()
  if not text and failure then
    return nil, failure
  end
  text = text or ""
  if #text > max_bytes then
    return nil, ("it has more than %d bytes"):format(max_bytes)
  end
  return text
end

--- The names in a directory, sorted by their bytes.
---@param dir string
---@param max_entries integer no more are looked at
---@return string[]? names
---@return string? message
function M.list(dir, max_entries)
  local request, message = uv.fs_scandir(dir)
  if not request then
    return nil, without_path(message, dir)
  end
  local names = {}
  for name in uv.fs_scandir_next, request do
    names[#names + 1] = name
  end
  table.sort(names)
  for i = #names, max_entries + 1, -1 do
    names[i] = nil
  end
  return names
end

--- The directories from `from` up to `to`, both included, nearest first; only `from` if `to` is
--- not above it.
---@param from string
---@param to string
---@return string[]
function M.up_to(from, to)
  if not M.is_within(from, to) then
    return { from }
  end
  local dirs = { from }
  local dir = from
  while dir ~= to do
    dir = M.parent(dir)
    if not dir then
      break
    end
    dirs[#dirs + 1] = dir
  end
  return dirs
end

--- The nearest directory with `.git` from `from` upwards.
---@param from string
---@return string?
function M.git_root(from)
  local dir = from
  while dir do
    if M.kind(M.join(dir, ".git")) then
      return dir
    end
    dir = M.parent(dir)
  end
end

return M
