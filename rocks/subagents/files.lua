--- The files below the directory of a layer: which there are, and what is in one.
local text = require("subagents.text")
local uv = require("luv")

local M = {}

--- As much as `panto.ext.frontmatter` reads.
local MAX_BYTES = 1024 * 1024

--- Of one layer: how deep directories are looked into, how many of them, how many entries of one,
--- and how many profiles.
local MAX_DEPTH = 16
local MAX_DIRECTORIES = 1000
local MAX_ENTRIES = 5000
local MAX_FILES = 2000

--- A file as it was found.
---@class subagents.Found
---@field path string
---@field relative string to the layer's directory
---@field stat table

---@param dir string
---@param name string
---@return string
function M.join(dir, name)
  return dir:sub(-1) == "/" and dir .. name or dir .. "/" .. name
end

---@param stat table
---@return string
local function identity(stat)
  return stat.dev .. ":" .. stat.ino
end

--- A message of the file system without the path, which is told beside it.
---@param message string?
---@param path string
---@return string
function M.without_path(message, path)
  message = message or "it cannot be read"
  local ending = ": " .. path
  if message:sub(-#ending) == ending then
    message = message:sub(1, -#ending - 1)
  end
  return message
end

--- Looks for files in the directory of a layer.
---@class subagents.Walk
---@field files subagents.Found[]
---@field diagnostics subagents.Diagnostic[] with `relative`
---@field seen table<string, boolean> identities of directories
---@field above table<string, boolean> those of the directories that are being looked into
---@field directories integer
---@field was_cut boolean
local Walk = {}
Walk.__index = Walk

---@param level "info"|"warning"
---@param code string
---@param message string
---@param path string
---@param relative string
function Walk:tell(level, code, message, path, relative)
  table.insert(self.diagnostics, {
    level = level,
    code = code,
    message = text.text(message),
    file = text.text(path),
    relative = relative,
  })
end

---@param name string
---@return boolean
local function is_markdown(name)
  return name:find("%.[mM][dD]$") ~= nil
end

--- The names in a directory that can matter, sorted by their bytes, links behind all others: what a
--- link leads to counts where it lies.
---@param dir string
---@return string[]? names
---@return integer|string first_link its index, or the message
local function list(dir)
  local request, message = uv.fs_scandir(dir)
  if not request then
    return nil, M.without_path(message, dir)
  end
  local names, links = {}, {}
  for name, kind in uv.fs_scandir_next, request do
    local is_left_out = name:byte() == 46 or name == "node_modules"
    if not is_left_out and (kind ~= "file" or is_markdown(name)) then
      local into = kind == "link" and links or names
      into[#into + 1] = name
    end
  end
  table.sort(names)
  table.sort(links)
  local first_link = #names + 1
  return table.move(links, 1, #links, first_link, names), first_link
end

---@param dir string
---@param prefix string what is before the names in it, relative to the layer's directory
---@param stat table
---@param depth integer
function Walk:visit(dir, prefix, stat, depth)
  local id = identity(stat)
  if self.above[id] then
    return self:tell("info", "loop", "skipped: the link leads back to where it is", dir, prefix)
  elseif self.seen[id] then
    return
  end
  if depth > MAX_DEPTH then
    local message = "no profiles are looked for as deep as this"
    return self:tell("warning", "too_deep", message, dir, prefix)
  end
  if self.directories >= MAX_DIRECTORIES then
    return self:cut(dir, prefix)
  end
  self.directories = self.directories + 1
  self.seen[id], self.above[id] = true, true
  local names, first_link = list(dir)
  if not names then
    self:tell("warning", "unreadable", "skipped: " .. first_link, dir, prefix)
  end
  for i, name in ipairs(names or {}) do
    if i > MAX_ENTRIES or #self.files >= MAX_FILES then
      self:cut(M.join(dir, name), prefix .. name)
      break
    end
    self:entry(M.join(dir, name), prefix .. name, i >= first_link, depth)
  end
  self.above[id] = nil
end

---@param path string
---@param relative string
function Walk:cut(path, relative)
  if not self.was_cut then
    local message = "there is too much: no profiles are looked for here and in what follows"
    self:tell("warning", "too_many", message, path, relative)
  end
  self.was_cut = true
end

---@param path string
---@param relative string
---@param is_link boolean
---@param depth integer
function Walk:entry(path, relative, is_link, depth)
  local stat, message, code = uv.fs_stat(path)
  if not stat then
    -- A file that is gone by now is nobody's mistake, a link to nothing is.
    if is_link or code ~= "ENOENT" then
      self:tell("warning", "dangling", "skipped: " .. M.without_path(message, path), path, relative)
    end
  elseif stat.type == "directory" then
    self:visit(path, relative .. "/", stat, depth + 1)
  elseif not is_markdown(relative) then
    return
  elseif stat.type ~= "file" then
    local why = ("skipped: it is a %s, not a file"):format(stat.type)
    self:tell("info", "not_a_file", why, path, relative)
  elseif not utf8.len(relative) then
    self:tell("warning", "encoding", "skipped: the path is not UTF-8", path, relative)
  else
    table.insert(self.files, { path = path, relative = relative, stat = stat })
  end
end

--- Files sorted by relative path. One that is reached twice counts once.
---@param files subagents.Found[]
---@return subagents.Found[]
local function once(files)
  local known, kept = {}, {}
  -- Without directories they are sorted already, and this is asked often.
  for i = 2, #files do
    if files[i].relative < files[i - 1].relative then
      table.sort(files, function(a, b)
        return a.relative < b.relative
      end)
      break
    end
  end
  for _, found in ipairs(files) do
    local dev, ino = found.stat.dev, found.stat.ino
    local on_device = known[dev] or {}
    known[dev] = on_device
    if not on_device[ino] then
      on_device[ino] = true
      kept[#kept + 1] = found
    end
  end
  return kept
end

--- What lies in the directory of a layer.
---@param dir string
---@param seen table<string, boolean> what has been looked into already
---@return subagents.Walk
function M.find(dir, seen)
  local self = setmetatable({
    files = {},
    diagnostics = {},
    seen = seen,
    above = {},
    directories = 0,
    was_cut = false,
  }, Walk)
  local stat, message, code = uv.fs_stat(dir)
  if not stat then
    if code ~= "ENOENT" and code ~= "ENOTDIR" then
      local why = "no profiles here: " .. M.without_path(message, dir)
      self:tell("warning", "unreadable", why, dir, "")
    end
    return self
  elseif stat.type ~= "directory" then
    self:tell("warning", "not_a_directory", "no profiles here: it is no directory", dir, "")
    return self
  end
  self:visit(dir, "", stat, 1)
  self.files = once(self.files)
  return self
end

--- Reads a regular file, which may have changed since it was looked at.
---@param path string
---@return string? bytes nil if there are too many, too
---@return string? message
---@return string? code
function M.read(path)
  local file, message = io.open(path, "rb")
  if not file then
    return nil, (message:gsub("^.*: ", "")), "unreadable"
  end
  local bytes, failure = file:read(MAX_BYTES + 1)
  file:close()
  if not bytes and failure then
    return nil, failure, "unreadable"
  end
  bytes = bytes or ""
  if #bytes > MAX_BYTES then
    return nil, ("it has more than %d bytes"):format(MAX_BYTES), "too_large"
  end
  return bytes
end

return M
