--- Runs the specs of one file: `describe`, `it` and an `assert` with more to it, as in busted. An
--- example gets a directory of its own.
local uv = require("luv")

local M = {}

---@param value any
---@return string
local function shown(value)
  if type(value) ~= "table" then
    return type(value) == "string" and ("%q"):format(value):gsub("\\\n", "\\n") or tostring(value)
  end
  local parts, keys = {}, {}
  for key in pairs(value) do
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    return tostring(a) < tostring(b)
  end)
  for i, key in ipairs(keys) do
    local name = math.type(key) == "integer" and "" or tostring(key) .. " = "
    parts[i] = name .. shown(value[key])
  end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

---@param a any
---@param b any
---@return boolean
local function is_same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b and math.type(a) == math.type(b)
  end
  for key, value in pairs(a) do
    if not is_same(value, b[key]) then
      return false
    end
  end
  for key in pairs(b) do
    if a[key] == nil then
      return false
    end
  end
  return true
end

--- Raises at the line of the example.
---@param message string
---@param note any
local function fail(message, note)
  error(message .. (note and ": " .. shown(note) or ""), 3)
end

local checks = {}

function checks.equal(expected, actual, note)
  if expected ~= actual then
    fail(("expected %s, got %s"):format(shown(expected), shown(actual)), note)
  end
end

function checks.same(expected, actual, note)
  if not is_same(expected, actual) then
    fail(("expected %s, got %s"):format(shown(expected), shown(actual)), note)
  end
end

function checks.matches(pattern, actual, note)
  if type(actual) ~= "string" or not actual:find(pattern) then
    fail(("expected what matches %s, got %s"):format(shown(pattern), shown(actual)), note)
  end
end

function checks.is_nil(actual, note)
  if actual ~= nil then
    fail("expected nothing, got " .. shown(actual), note)
  end
end

function checks.is_true(actual, note)
  if actual ~= true then
    fail("expected true, got " .. shown(actual), note)
  end
end

function checks.is_false(actual, note)
  if actual ~= false then
    fail("expected false, got " .. shown(actual), note)
  end
end

local raw_assert = assert
setmetatable(checks, {
  __call = function(_, ...)
    return raw_assert(...)
  end,
})

--- Lets the host breathe: it stops what runs for long without a pause.
local function pause()
  local co = coroutine.running()
  local timer = uv.new_timer()
  timer:start(0, 0, function()
    timer:close()
    coroutine.resume(co)
  end)
  coroutine.yield()
end

--- Runs a file; gives a line for each example.
---@param file string
---@param scratch string an empty directory
---@param require fun(name: string): any
---@return string report
---@return integer examples
---@return integer failures
function M.run(file, scratch, require)
  local examples, names = {}, {}
  local environment = setmetatable({ assert = checks, require = require, pause = pause }, { __index = _G })
  function environment.describe(name, body)
    names[#names + 1] = name
    body()
    names[#names] = nil
  end
  function environment.it(name, body)
    local full = table.concat(names, " ") .. (#names > 0 and " " or "") .. name
    examples[#examples + 1] = { name = full, body = body }
  end
  local lines, failures = {}, 0
  local function failed(name, message)
    failures = failures + 1
    lines[#lines + 1] = ("FAILED %s\n  %s"):format(name, tostring(message))
  end
  local chunk, wrong = loadfile(file, "t", environment)
  local is_read, message = false, wrong
  if chunk then
    is_read, message = pcall(chunk)
  end
  if not is_read then
    failed(file, message)
    return lines[1], 0, failures
  end
  for i, example in ipairs(examples) do
    local dir = scratch .. "/" .. i
    raw_assert(uv.fs_mkdir(dir, 448))
    local ok, why = pcall(example.body, dir)
    if ok then
      lines[#lines + 1] = "ok " .. example.name
    else
      failed(example.name, why)
    end
    pause()
  end
  return table.concat(lines, "\n"), #examples, failures
end

return M
