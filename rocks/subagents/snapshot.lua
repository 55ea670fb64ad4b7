--- What the layers have, as of one moment.
local files = require("subagents.files")
local reading = require("subagents.reading")

local M = {}

---@class subagents.Layer
---@field name string
---@field files subagents.File[]
---@field diagnostics subagents.Diagnostic[] of the walk, with `relative`

--- Where profiles lie; of two with one name the later counts.
---@param ext panto.ext
---@return { name: string, dir: string }[]
function M.places(ext)
  local places = {}
  for i, layer in ipairs(ext.dirs.layers) do
    places[i] = { name = layer.name, dir = files.join(layer.dir, "agents") }
  end
  return places
end

---@param old table
---@param new table
---@return boolean
local function is_same(old, new)
  return old.size == new.size
    and old.ino == new.ino
    and old.dev == new.dev
    and old.mtime.nsec == new.mtime.nsec
    and old.mtime.sec == new.mtime.sec
    and old.ctime.nsec == new.ctime.nsec
    and old.ctime.sec == new.ctime.sec
end

--- Reads layers; files that are as they were are taken over.
---@param ext panto.ext
---@param places { name: string, dir: string }[]
---@param known table<string, subagents.File> by path
---@return subagents.Layer[] layers
---@return boolean is_new whether a file was read
function M.read(ext, places, known)
  local layers, seen = {}, {}
  local is_new = false
  for i, place in ipairs(places) do
    local found = files.find(place.dir, seen)
    local layer = { name = place.name, files = {}, diagnostics = found.diagnostics }
    for j, entry in ipairs(found.files) do
      local file = known[entry.path]
      if not file or file.is_fresh or not is_same(file.stat, entry.stat) then
        file, is_new = reading.load(ext, entry, false), true
      end
      layer.files[j] = file
    end
    layers[i] = layer
  end
  return layers, is_new
end

--- Whether two readings have the same files and found the same on their way.
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
