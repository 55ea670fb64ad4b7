--- What a child's conversation says of itself, in the metadata of its messages: whose it is, and
--- what each of its turns ran with. No model sees it.
local M = {}

local KEY = "subagents"
local VERSION = 1

--- On one system message, for good.
---@class subagents.Manifest
---@field v integer
---@field owner string the primary's session
---@field profile string
---@field tool_call_id string? the call that began it
---@field tools subagents.Restriction? what the profile took away

--- On each user message.
---@class subagents.Stamp
---@field v integer
---@field model string
---@field reasoning string?
---@field tools string[] names
---@field tool_call_id string?
---@field ended { status: string, stop: string, error: string? }? unless it completed

---@param manifest subagents.Manifest
---@return table<string, any> metadata
function M.of_child(manifest)
  manifest.v = VERSION
  return { [KEY] = manifest }
end

---@param stamp subagents.Stamp
---@return table<string, any> metadata
function M.of_turn(stamp)
  stamp.v = VERSION
  return { [KEY] = stamp }
end

---@param message panto.Message
---@return table? value
local function value_of(message)
  local value = message.metadata and message.metadata[KEY]
  return type(value) == "table" and value or nil
end

--- Whether a value is a list of names, or nothing.
---@param value any
---@return boolean
local function are_names(value)
  if value == nil then
    return true
  elseif type(value) ~= "table" then
    return false
  end
  for key, name in pairs(value) do
    if math.type(key) ~= "integer" or type(name) ~= "string" then
      return false
    end
  end
  return true
end

--- Whether what a manifest says of tools can be heeded.
---@param tools any
---@return boolean
local function is_restriction(tools)
  if tools == nil then
    return true
  end
  return type(tools) == "table" and are_names(tools.allow) and are_names(tools.deny)
end

--- The manifest of a stored child, and the message that carries it.
---@async
---@param store panto.Store
---@param id string
---@param is_brief boolean? the first one will do
---@return subagents.Manifest? manifest
---@return panto.Message|string|nil message the message, or what is wrong
---@return string? code
function M.read(store, id, is_brief)
  -- Looking for a second one takes all of the file.
  local options = { metadata_key = KEY, role = "system", limit = is_brief and 1 or 2 }
  local messages, failure, code = store:load_messages(id, options)
  if not messages then
    return nil, failure, code
  end
  local manifest = #messages == 1 and value_of(messages[1])
  if not manifest or type(manifest.owner) ~= "string" or type(manifest.profile) ~= "string" then
    return nil, "it is not the conversation of a child", "foreign"
  end
  if not is_restriction(manifest.tools) then
    return nil, "what it may not do cannot be read", "foreign"
  end
  if math.type(manifest.v) ~= "integer" or manifest.v > VERSION then
    return nil, "it was written by a newer version of panto", "newer_version"
  end
  return manifest, messages[1]
end

--- What the last turn of a stored child ran with.
---@async
---@param store panto.Store
---@param id string
---@return subagents.Stamp? stamp
function M.last_stamp(store, id)
  local options = { metadata_key = KEY, role = "user", limit = 1, from_end = true }
  local messages = store:load_messages(id, options)
  local stamp = messages and messages[1] and value_of(messages[1])
  return stamp and type(stamp.model) == "string" and are_names(stamp.tools) and stamp or nil
end

--- The stamp in a message's metadata, if it has one.
---@param metadata table<string, any>
---@return subagents.Stamp?
function M.stamp_in(metadata)
  local stamp = metadata[KEY]
  return type(stamp) == "table" and type(stamp.model) == "string" and stamp or nil
end

return M
