--- What `io.popen` and `os.execute` start has the environment that extensions have, and not the
--- process's own.
-- luacheck: ignore 122
local environment = ...
local popen, execute = io.popen, os.execute
local gsub, type = string.gsub, type

local function quoted(text)
  return "'" .. gsub(text, "'", "'\\''") .. "'"
end

local words = { "exec env -i" }
for i, entry in ipairs(environment) do
  words[i + 1] = quoted(entry)
end
words[#words + 1] = "/bin/sh -c "
local prefix = table.concat(words, " ")

local function with_environment(command)
  if type(command) == "string" or type(command) == "number" then
    return prefix .. quoted(command)
  end
  -- Lua's own function says what is wrong with it.
  return command
end

function io.popen(command, mode)
  return popen(with_environment(command), mode)
end

function os.execute(command)
  return execute(with_environment(command))
end
