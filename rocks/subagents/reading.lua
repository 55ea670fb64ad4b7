--- Makes a profile of a file, and says what is wrong with it.
local files = require("subagents.files")
local header = require("subagents.header")
local restriction = require("subagents.restriction")
local text = require("subagents.text")
local uv = require("luv")

local M = {}

M.MAX_NAME = 100
local MAX_DESCRIPTION = 4096

--- A file that was written so many seconds before it was read may be written again without a trace.
local TOO_FRESH = 0.1

local LEVELS = { "off", "minimal", "low", "medium", "high", "xhigh", "max" }
local IS_LEVEL = {}
for _, level in ipairs(LEVELS) do
  IS_LEVEL[level] = true
end

--- Values that say what nothing says, too.
local INHERITS = { [""] = true, inherit = true, default = true }

--- Documents that lie beside profiles.
local DOCUMENTS = {}
for name in ("readme agents claude gemini changelog contributing license index"):gmatch("%S+") do
  DOCUMENTS[name] = true
end

---@class subagents.Profile
---@field name string
---@field description string one line; may be empty
---@field model string? `provider:alias`
---@field reasoning string?
---@field restriction subagents.Restriction?
---@field layer string whose it is: `builtin`, or the name of a layer
---@field file string? nil for a built-in one
---@field shadows string? the layer of the one whose place it takes
---@field shadowed_by string? the layer of the one that takes its place
---@field body fun(): string?, string? the prompt as it is now; or nil, message

---@class subagents.Diagnostic
---@field level "info"|"warning"|"error"
---@field code string
---@field message string
---@field file string? nil for what is built in
---@field line integer?
---@field column integer?

--- A file as it was when it was read.
---@class subagents.File
---@field path string
---@field relative string to the layer's directory
---@field stat table
---@field is_fresh boolean whether it was just written when it was read
---@field profile subagents.Profile? without what other files make of it
---@field diagnostics subagents.Diagnostic[]

--- Makes a profile of a text.
---@class subagents.Reading
---@field ext panto.ext
---@field header subagents.Header
---@field diagnostics subagents.Diagnostic[]
---@field file string?
local Reading = {}
Reading.__index = Reading

---@param level "info"|"warning"|"error"
---@param code string
---@param message string
---@param line integer?
---@param column integer?
function Reading:tell(level, code, message, line, column)
  table.insert(self.diagnostics, {
    level = level,
    code = code,
    message = (text.one_line(text.text(message))),
    file = self.file,
    line = line,
    column = line and (column or 1) or nil,
  })
end

--- Says what the frontmatter's reader has found, as far as it concerns a profile.
---@param found table[]
---@return boolean has_hidden_name
function Reading:frontmatter(found)
  local has_hidden_name = false
  for _, diagnostic in ipairs(found) do
    local code = diagnostic.code
    local key = self.header.owners[diagnostic.line]
    local is_ours = key == nil or restriction.KEYS[key] ~= nil
    -- `off` and `1.5` of keys that are no texts here are as they should be.
    local is_noise = code == "type" and not (key == "name" or key == "description")
    if code == "control_characters" and key == "name" then
      has_hidden_name = true
    elseif not is_noise and (is_ours or code ~= "look_alike") then
      local prefix = diagnostic.level == "error" and "skipped: " or ""
      local message = prefix .. diagnostic.message
      self:tell(diagnostic.level, code, message, diagnostic.line, diagnostic.column)
    end
  end
  return has_hidden_name
end

--- A text of the frontmatter in one line, or nil.
---@param data table<string, any>
---@param key string
---@return string?
function Reading:scalar(data, key)
  local value = data[key]
  if value == nil then
    return nil
  end
  local line = self.header.lines[key]
  if type(value) == "table" then
    self:tell("warning", "type", ("`%s` is a list or a map, not a text; ignored"):format(key), line)
    return nil
  elseif type(value) ~= "string" and key ~= "reasoning" then
    local message = "`%s` is a %s, taken as the text `%s`"
    self:tell("info", "type", message:format(key, type(value), tostring(value)), line)
  end
  return text.one_line(tostring(value))
end

---@param data table<string, any>
---@param stem string? the file's name without its ending
---@param bytes string
---@return string? name
function Reading:name(data, stem, bytes)
  local name = self:scalar(data, "name") or ""
  local line = self.header.lines.name
  if name == "" and stem then
    local cleaned, was_hidden = text.sanitize(stem)
    if was_hidden or cleaned:find("%c") then
      self:tell("error", "name", "skipped: the file's name has control characters")
      return nil
    end
    name, line = text.composed(self.ext, text.trim(cleaned)), nil
    if name ~= text.trim(cleaned) then
      self:tell("info", "composed", "the file's name is compared in its composed form (NFC)")
    end
  elseif line and name:find("[\x80-\xFF]") and not text.has_loose_accents(name) then
    local _, _, written = bytes:find("[\r\n][\"']?name[\"']?%s*:([^\r\n]*)")
    if written and text.has_loose_accents(written) then
      self:tell("info", "composed", "`name` is compared in its composed form (NFC)", line)
    end
  end
  if name == "" then
    self:tell("error", "name", "skipped: there is no name")
    return nil
  elseif utf8.len(name) > M.MAX_NAME then
    local message = ("skipped: the name has more than %d characters"):format(M.MAX_NAME)
    self:tell("error", "name", message, line)
    return nil
  end
  return name
end

---@param data table<string, any>
---@return string
function Reading:description(data)
  local description = self:scalar(data, "description") or ""
  if description == "" and type(data.description) ~= "table" then
    local line = self.header.lines.description
    self:tell("warning", "no_description", "the profile has no `description`", line)
  end
  local cut, was_cut = text.cut(description, MAX_DESCRIPTION)
  if was_cut then
    local message = ("the description is cut behind %d bytes"):format(MAX_DESCRIPTION)
    self:tell("warning", "long_description", message, self.header.lines.description)
  end
  return cut
end

---@param data table<string, any>
---@return string?
function Reading:model(data)
  local model = self:scalar(data, "model")
  if not model or INHERITS[model:lower()] then
    return nil
  end
  local provider, alias = model:match("^([^:]*):(.*)$")
  if provider and provider:find("^[%w_-]+$") and alias:find("^%S+$") then
    return model
  end
  local message = "`model` is not `provider:model`, and is ignored: `%s`"
  self:tell("warning", "model", message:format(text.cut(model, 100)), self.header.lines.model)
end

---@param data table<string, any>
---@return string?
function Reading:reasoning(data)
  local reasoning = self:scalar(data, "reasoning")
  local label = reasoning and reasoning:lower()
  if not label or INHERITS[label] then
    return nil
  elseif IS_LEVEL[label] then
    return label
  end
  local message = "`reasoning` is none of %s, and is ignored: `%s`"
  message = message:format(table.concat(LEVELS, ", "), text.cut(reasoning, 100))
  self:tell("warning", "reasoning", message, self.header.lines.reasoning)
end

---@param data table<string, any>
---@param found table[] of the frontmatter's reader
---@return subagents.Restriction? restriction
---@return boolean is_fatal
function Reading:restriction(data, found)
  local lines = self.header.lines
  local restricted, problems, is_fatal = restriction.read(data, lines)
  for _, problem in ipairs(problems) do
    self:tell(problem.level, problem.code, problem.message, lines[problem.key])
  end
  -- A key whose line was taken for text of another one would restrict nothing.
  local lost = self.header.broken
  for key, is_written in pairs(self.header.written) do
    if is_written and data[key] == nil then
      lost = lost or { key = key, line = lines[key] }
    end
  end
  for _, diagnostic in ipairs(found) do
    local owner = self.header.owners[diagnostic.line]
    for _, inner in ipairs(diagnostic.code == "not_yaml" and self.header.indented or {}) do
      if self.header.owners[inner.line] == owner then
        lost = lost or inner
      end
    end
  end
  if lost then
    local message = "skipped: `%s` cannot be read as a key of its own"
    self:tell("error", "tools", message:format(lost.key), lost.line)
    return nil, true
  end
  return restricted, is_fatal
end

--- The prompt, as a model gets it.
---@param body string
---@return string
function M.prompt(body)
  return text.trim((text.sanitize(body)))
end

---@param ext panto.ext
---@param path string
---@return string? body
---@return string? message
local function body_of(ext, path)
  local function fail(why)
    return nil, ("cannot read `%s`: %s"):format(text.text(path), why)
  end
  -- Opening a pipe would wait for its other end.
  local stat, gone = uv.fs_stat(path)
  if not stat or stat.type ~= "file" then
    return fail(stat and "it is no file" or files.without_path(gone, path))
  end
  local bytes, message = files.read(path)
  if not bytes then
    return fail(message)
  end
  local data, body, found = ext.frontmatter(bytes)
  if not body then
    return fail(found[1] and found[1].message or "it is no text")
  elseif not data then
    return fail("it has no frontmatter any more")
  end
  return M.prompt(body)
end

--- Makes a profile of a text, or says why there is none.
---@param ext panto.ext
---@param bytes string
---@param file string? where it stands
---@param stem string? the file's name without its ending
---@return subagents.Profile? profile without its layer and its body
---@return subagents.Diagnostic[] diagnostics
---@return string? body
function M.parse(ext, bytes, file, stem)
  local self = setmetatable({ ext = ext, diagnostics = {}, file = file }, Reading)
  local is_document = stem and DOCUMENTS[stem:lower()] or false
  local data, body, found = ext.frontmatter(bytes)
  self.header = header.read(bytes)
  local has_hidden_name = self:frontmatter(found)
  if not body then
    return nil, self.diagnostics
  end
  if not data or not next(data) then
    local is_empty = not body:find("%S") and not data
    if not is_empty and not is_document then
      local message = "skipped: without frontmatter it is no profile"
      self:tell("info", "no_frontmatter", message, 1)
    end
    return nil, is_document and {} or self.diagnostics
  elseif is_document and data.name == nil and data.description == nil then
    return nil, {}
  end
  if has_hidden_name then
    local message = "skipped: the name has control or direction characters"
    self:tell("error", "name", message, self.header.lines.name)
    return nil, self.diagnostics
  end
  local name = self:name(data, stem, bytes)
  local restricted, is_fatal = self:restriction(data, found)
  if not name or is_fatal then
    return nil, self.diagnostics
  end
  if not body:find("%S") then
    self:tell("warning", "empty_prompt", "empty prompt: the file has nothing but frontmatter")
  end
  local profile = {
    name = name,
    description = self:description(data),
    model = self:model(data),
    reasoning = self:reasoning(data),
    restriction = restricted,
    file = file,
  }
  return profile, self.diagnostics, body
end

---@param diagnostics subagents.Diagnostic[]
local function sort_by_line(diagnostics)
  for i, diagnostic in ipairs(diagnostics) do
    diagnostic.order = i
  end
  table.sort(diagnostics, function(a, b)
    local left, right = a.line or math.maxinteger, b.line or math.maxinteger
    if left ~= right then
      return left < right
    end
    return a.order < b.order
  end)
  for _, diagnostic in ipairs(diagnostics) do
    diagnostic.order = nil
  end
end

--- Adds what is only worth a word if somebody asks.
---@param bytes string
---@param body string? of a profile
---@param file subagents.File
local function strict(bytes, body, file)
  local function tell(level, code, message)
    table.insert(file.diagnostics, {
      level = level,
      code = code,
      message = message,
      file = file.path,
      line = 1,
      column = 1,
    })
  end
  if bytes == "" then
    tell("info", "empty", "skipped: the file is empty")
  end
  if bytes:sub(1, 3) == "\xEF\xBB\xBF" then
    tell("info", "byte_order_mark", "a byte order mark, which nobody needs")
  end
  local _, both = bytes:gsub("\r\n", "")
  local _, feeds = bytes:gsub("\n", "")
  local _, returns = bytes:gsub("\r", "")
  if both ~= returns or (both > 0 and both ~= feeds) then
    tell("info", "line_endings", "the lines end in several ways, or with carriage returns alone")
  end
  if body and select(2, text.sanitize(body)) then
    local message = "control or direction characters in the prompt are left out"
    tell("warning", "control_characters", message)
  end
end

---@param ext panto.ext
---@param found subagents.Found
---@param is_strict boolean
---@return subagents.File
function M.load(ext, found, is_strict)
  local path, stat = found.path, found.stat
  local seconds, micros = uv.gettimeofday()
  local written = stat.mtime.sec + stat.mtime.nsec / 1e9
  local file = {
    path = path,
    relative = found.relative,
    stat = stat,
    is_fresh = math.abs(seconds + micros / 1e6 - written) < TOO_FRESH,
    diagnostics = {},
  }
  local bytes, message, code = files.read(path)
  if not bytes then
    file.diagnostics[1] = {
      level = "error",
      code = code,
      message = "skipped: " .. text.text(message),
      file = path,
    }
    return file
  end
  local stem = path:match("([^/]+)$"):gsub("%.[mM][dD]$", "")
  local body
  file.profile, file.diagnostics, body = M.parse(ext, bytes, path, stem)
  if is_strict then
    strict(bytes, body, file)
  end
  sort_by_line(file.diagnostics)
  if file.profile then
    file.profile.body = function()
      return body_of(ext, path)
    end
  end
  return file
end

return M
