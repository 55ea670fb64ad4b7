--- How the last turn of a stored child ended, as its file tells.
local manifests = require("subagents.manifest")

local M = {}

---@class subagents.Ending
---@field status "completed"|"failed"|"cancelled"|"interrupted"
---@field stop string
---@field output string? what the child said last in that turn
---@field error string?

--- The text of a message.
---@param message panto.Message
---@return string
function M.text(message)
  local parts = {}
  for _, block in ipairs(message.blocks) do
    if block.type == "text" then
      parts[#parts + 1] = block.text
    end
  end
  return table.concat(parts, "\n")
end

--- Reads the end from the last message and the last stamp. A crash leaves a turn that nothing
--- ended.
---@param last panto.Message
---@param stamp subagents.Stamp?
---@return subagents.Ending
function M.of(last, stamp)
  local output = last.role == "assistant" and M.text(last) or ""
  output = output:find("%S") and output or nil
  if stamp and stamp.ended then
    local ended = stamp.ended
    return { status = ended.status, stop = ended.stop, error = ended.error, output = output }
  elseif last.role == "assistant" and last.stop == "cancelled" then
    return { status = "cancelled", stop = "cancelled", output = output }
  elseif last.role == "assistant" and last.stop ~= "tool_calls" and output then
    return {
      status = "completed",
      stop = last.stop == "limit" and "limit" or "end",
      output = output,
    }
  end
  return {
    status = "interrupted",
    stop = "cancelled",
    error = "its last turn was cut off, by a crash or a kill",
  }
end

--- The same for a stored child.
---@async
---@param store panto.Store
---@param id string
---@return subagents.Ending?
function M.read(store, id)
  local messages = store:load_messages(id, { limit = 1, from_end = true })
  if messages and messages[1] then
    return M.of(messages[1], manifests.last_stamp(store, id))
  end
end

return M
