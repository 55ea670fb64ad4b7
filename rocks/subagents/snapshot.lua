--- What the layers have, as of one moment.
local files = require("subagents.files")
local reading = require("subagents.reading")
local uv = require("luv")
local waking = require("subagents.waking")

local M = {}

--- How long files are read before others go on, in nanoseconds.
local BUDGET = 50 * 1000 * 1000

---@class subagents.Layer
---@field name string
---@field files subagents.File[]
---@field diagnostics subagents.Diagnostic[] of the walk, with `relative`

---@class subagents.LayerPlace
---@field name string
---@field dir string

--- Where profiles lie; of two with one name the later counts.
---@param ext panto.ext
---@return subagents.LayerPlace[]
function M.places(ext)
  local places = {}
  for i, layer in ipairs(ext.dirs.layers) do
    places[i] = { name = layer.name, dir = files.join(layer.dir, "agents") }
  end
  return places
end

---@param found subagents.Found
---@param file subagents.File
---@return boolean
local function is_as_read(found, file)
  local old, new = file.stat, found.stat
  return not file.is_fresh
    and old.size == new.size
    and old.ino == new.ino
    and old.dev == new.dev
    and old.mtime.nsec == new.mtime.nsec
    and old.mtime.sec == new.mtime.sec
    and old.ctime.nsec == new.ctime.nsec
    and old.ctime.sec == new.ctime.sec
end

--- Reads what lies in some places.
---@param places subagents.LayerPlace[]
---@param read fun(found: subagents.Found): subagents.File
---@return subagents.Layer[]
function M.read(places, read)
  local layers, seen = {}, {}
  local deadline = uv.hrtime() + BUDGET
  for i, place in ipairs(places) do
    local found = files.find(place.dir, seen)
    local layer = { name = place.name, files = {}, diagnostics = found.diagnostics }
    for j, entry in ipairs(found.files) do
      layer.files[j] = read(entry)
      if uv.hrtime() > deadline then
        waking.pause()
        deadline = uv.hrtime() + BUDGET
      end
    end
    layers[i] = layer
  end
  return layers
end

--- Reads all layers; files that are as they were are taken over.
---@param ext panto.ext
---@param before subagents.Layer[]
---@return subagents.Layer[]
function M.again(ext, before)
  local known = {}
  for _, layer in ipairs(before) do
    for _, file in ipairs(layer.files) do
      known[file.path] = file
    end
  end
  return M.read(M.places(ext), function(found)
    local file = known[found.path]
    return file and is_as_read(found, file) and file or reading.load(ext, found, false)
  end)
end

--- Whether two readings have the same files and found the same on their way. A file that was read
--- anew is another one.
---@param old subagents.Layer[]
---@param new subagents.Layer[]
---@return boolean
function M.are_same(old, new)
  if #old ~= #new then
    return false
  end
  for i, layer in ipairs(old) do
    local other = new[i]
    if #layer.files ~= #other.files or #layer.diagnostics ~= #other.diagnostics then
      return false
    end
    for j, file in ipairs(layer.files) do
      if file ~= other.files[j] then
        return false
      end
    end
    for j, diagnostic in ipairs(layer.diagnostics) do
      local now = other.diagnostics[j]
      if diagnostic.file ~= now.file or diagnostic.message ~= now.message then
        return false
      end
    end
  end
  return true
end

return M
