-- Asks two models the same question at the same time, and shows both answers.
--
-- `/both QUESTION`, or `panto x both QUESTION`. The models are set as
--   [extensions.settings.both]
--   models = ["anthropic:sonnet", "openai:gpt-5.6"]
local panto = require("panto")
local uv = require("luv")

--- Waits until all jobs have settled: one pipe wakes for all of them.
local function await_all(jobs, read)
  local co, is_waiting = coroutine.running(), false
  read:read_start(function(_, bytes)
    if bytes and is_waiting then
      coroutine.resume(co)
    end
  end)
  local left = #jobs
  while left > 0 do
    left = 0
    for _, asked in ipairs(jobs) do
      while asked.job:next_event() do
        -- Only the end matters here.
      end
      asked.result = asked.result or asked.job:result()
      left = left + (asked.result and 0 or 1)
    end
    if left > 0 then
      is_waiting = true
      coroutine.yield()
      is_waiting = false
    end
  end
  read:close()
end

local function ask(models, question)
  local fds = assert(uv.pipe({ nonblock = true }, { nonblock = true }))
  local read = assert(uv.new_pipe(false))
  assert(read:open(fds.read))
  local jobs = {}
  for i, model in ipairs(models) do
    local config, message = panto.ext.resolve_model({ model = model, tool_choice = "none" })
    if not config then
      return nil, message
    end
    local store = panto.null_store()
    local agent = assert(panto.agent({ config = config, store = store, label = model }))
    local job = assert(agent:run_async({ prompt = question, wake_fd = fds.write }))
    jobs[i] = { model = model, agent = agent, job = job }
  end
  await_all(jobs, read)
  assert(uv.fs_close(fds.write))
  local lines, answers = {}, panto.json.array({})
  for i, asked in ipairs(jobs) do
    local text = asked.result.text or asked.result.error or "nothing"
    lines[i] = ("%s:\n%s\n"):format(asked.model, text)
    answers[i] = { model = asked.model, status = asked.result.status, text = text }
    asked.job:close()
    asked.agent:close()
  end
  return { text = table.concat(lines, "\n"), data = answers }
end

return {
  name = "both",
  activate = function()
    panto.ext.register_command({
      name = "both",
      description = "Asks two models the same question.",
      handler = function(question)
        local models = panto.ext.settings("both").models or {}
        if #models < 2 or question == "" then
          return { text = "give a question, and two `models` in the settings", exit_code = 2 }
        end
        local answer, message = ask(models, question)
        return answer or { text = message, exit_code = 1 }
      end,
    })
  end,
}
