--- What came of a child, in full; and as the model reads it, bounded.
local panto = require("panto")
local text = require("subagents.text")

local M = {}

--- How much of an output the model reads.
M.MAX_OUTPUT = 50 * 1024

--- What a call settles with.
---@class subagents.Result
---@field id string
---@field agent string
---@field status "completed"|"failed"|"cancelled"
---@field output string?
---@field error string?
---@field resumable boolean
---@field stop "end"|"limit"|"cancelled"|"provider_error"|"empty"|"context_full"|"error"
---@field truncated boolean? something of the answer is missing
---@field model string
---@field reasoning string?
---@field usage panto.Usage?
---@field cost number?
---@field notices string[]? what has changed under it since its last turn
---@field conflicts { path: string, ids: string[] }[]? what a sibling also wrote meanwhile

--- Errors that are not the provider's.
local OURS = { session = true, internal = true }

--- How a turn ended, in our words.
---@param result panto.JobResult
---@return table part of a result
function M.of_turn(result)
  local said = result.text and result.text:find("%S") and result.text or nil
  local part = { output = said, usage = result.usage, cost = result.cost }
  if result.status == "cancelled" then
    part.status, part.stop = "cancelled", "cancelled"
    part.error = "the child was cancelled"
  elseif result.error_kind == "context_overflow" then
    part.status, part.stop, part.error = "failed", "context_full", result.error
  elseif result.stop == "limit" and said then
    part.status, part.stop, part.truncated = "completed", "limit", true
  elseif result.status == "failed" and result.stop ~= "limit" then
    part.status, part.error = "failed", result.error or "the turn failed"
    part.stop = OURS[result.error_kind] and "error" or "provider_error"
  elseif not said then
    part.status, part.stop = "failed", "empty"
    part.truncated = result.stop == "limit" or nil
    part.error = result.stop == "limit"
        and "the child reached a limit before it said anything; go on with it by its id"
      or "the child ended without saying anything"
  else
    part.status, part.stop = "completed", "end"
  end
  return part
end

--- Keeps the head and the tail of a long text.
---@param output string
---@param id string
---@param most integer in bytes
---@return string text
---@return boolean was_cut
local function capped(output, id, most)
  if #output <= most then
    return output, false
  end
  local half = most // 2
  local head = text.cut(output, half)
  local start = #output - half + 1
  -- Not in the middle of a character.
  while start <= #output and (output:byte(start) & 0xC0) == 0x80 do
    start = start + 1
  end
  local tail = output:sub(start)
  local mark =
    "\n\n[… %d bytes left out; the child %s has all of it: go on with it to ask …]\n\n"
  return head .. mark:format(#output - #head - #tail, id) .. tail, true
end

--- The order in which a model reads the fields.
local ORDER = {
  "id",
  "agent",
  "status",
  "stop",
  "output",
  "error",
  "truncated",
  "resumable",
  "notices",
  "conflicts",
  "model",
  "reasoning",
  "usage",
  "cost",
}

--- The result as compact JSON text, its output bounded.
---@param result subagents.Result
---@return string
function M.text(result)
  local shown = {}
  for key, value in pairs(result) do
    shown[key] = value
  end
  if shown.output then
    local output, was_cut = capped(shown.output, result.id, M.MAX_OUTPUT)
    local written = #assert(panto.json.encode(output))
    if written > 2 * M.MAX_OUTPUT then
      -- Much of it is escaped.
      local most = #output * M.MAX_OUTPUT // written
      output, was_cut = capped(shown.output, result.id, most)
    end
    shown.output, shown.truncated = output, was_cut or shown.truncated or nil
  end
  local fields = {}
  for _, key in ipairs(ORDER) do
    if shown[key] ~= nil then
      fields[#fields + 1] = ('"%s":%s'):format(key, assert(panto.json.encode(shown[key])))
    end
  end
  return "{" .. table.concat(fields, ",") .. "}"
end

local STATUS = { completed = "ok", failed = "error", cancelled = "cancelled" }

--- The result without its long text, which the conversation has.
---@param result subagents.Result
---@return table<string, any>
function M.details(result)
  local details = {}
  for key, value in pairs(result) do
    if key ~= "output" then
      details[key] = value
    end
  end
  return details
end

--- The result as the output of a tool.
---@param result subagents.Result
---@return panto.ext.ToolOutput
function M.tool_output(result)
  local status = STATUS[result.status]
  return { text = M.text(result), details = M.details(result), status = status }
end

return M
