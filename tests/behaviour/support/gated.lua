-- A provider whose answers are in the prompt, and a witness of what children go through.
--
-- An answer is a list of words: `say:TEXT`, `wait:NAME` until the file NAME is there, `shuffle`
-- until chance lets it go on, `never`, `fail`, `tool:NAME`, `delegate:TOOL` to ask for a child. A
-- bar divides the answers of one turn.
local panto = require("panto")
local uv = require("luv")

local DELEGATED = '{"agent":"general","model":"gated:m","prompt":"say:part never"}'

local open, peak, made = 0, 0, 0

---@param request table
---@return string[] words
local function words_of(request)
  local prompt, answers = "", 0
  for _, message in ipairs(request.messages) do
    if message.role == "user" then
      prompt, answers = message.blocks[1].text, 0
    elseif message.role == "assistant" then
      answers = answers + 1
    end
  end
  local words, part = {}, 0
  for segment in (prompt .. "|"):gmatch("([^|]*)|") do
    if part == answers then
      for word in segment:gmatch("%S+") do
        words[#words + 1] = word
      end
    end
    part = part + 1
  end
  return words
end

---@param settings table
local function serve(settings)
  local held, shuffled = {}, {}
  local is_mixed = false
  local timer = assert(uv.new_timer())
  timer:start(1, 1, function()
    for stream in pairs(held) do
      if uv.fs_stat(settings.gates .. "/" .. stream.gate) then
        held[stream] = nil
        stream.gate = nil
        stream.notify()
      end
    end
    -- Once as many wait as there is room for, chance decides whose turn it is.
    is_mixed = is_mixed or #shuffled >= (settings.crowd or 1)
    if is_mixed and #shuffled > 0 then
      local stream = table.remove(shuffled, math.random(#shuffled))
      stream.is_free = true
      stream.notify()
    end
  end)
  timer:unref()

  panto.ext.register_protocol({
    name = "gated",
    open = function(request)
      local words, at = words_of(request), 0
      local stream = { notify = request.notify }
      local tools = panto.json.array({})
      for i, tool in ipairs(request.tools) do
        tools[i] = tool.name
      end
      open, peak = open + 1, math.max(peak, open + 1)
      panto.ext.emit("gated", { open = open, peak = peak, tools = tools, system = request.system })
      return {
        next = function()
          if stream.gate or stream.is_shuffled and not stream.is_free then
            return nil
          end
          at = at + 1
          local word = words[at] or "end"
          local kind, rest = word:match("^(%l+):?(.*)$")
          if kind == "say" then
            return { type = "text_delta", text = rest }
          elseif kind == "wait" then
            stream.gate = rest
            held[stream] = true
          elseif kind == "shuffle" then
            stream.is_shuffled = true
            shuffled[#shuffled + 1] = stream
          elseif kind == "never" then
            at = at - 1
          elseif kind == "fail" then
            return { type = "error", kind = "terminal", message = "the provider gives up" }
          elseif kind == "tool" or kind == "delegate" then
            made = made + 1
            return {
              type = "tool_call",
              id = ("own_%d_%d"):format(#request.messages, made),
              name = rest,
              input_json = kind == "tool" and "{}" or DELEGATED,
            }
          else
            return { type = "done", usage = { input = 1, output = 1 } }
          end
        end,
        close = function()
          open = open - 1
        end,
      }
    end,
  })
end

---@param path string
local function witness(path)
  for _, kind in ipairs({ "start", "running", "end" }) do
    panto.ext.on("subagents." .. kind, function(event)
      local file = assert(io.open(path, "a"))
      local data = event.data
      file:write(("%s %s %s\n"):format(kind, data.id, data.status or "-"))
      file:close()
    end)
  end
end

return {
  name = "gated",
  activate = function()
    local settings = panto.ext.settings("gated")
    math.randomseed(settings.seed or 1)
    serve(settings)
    witness(settings.gates .. "/witness")
  end,
}
