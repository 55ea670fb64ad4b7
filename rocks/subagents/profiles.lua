--- Profiles: Markdown files with frontmatter, each a role that a child can have.
---
--- They are read leniently. What was recovered is told with its line; one bad file costs no other
--- file anything; what restricts a profile and cannot be understood costs the profile. Everything
--- here is immediate: whoever asks waits for it anyway, and a thousand files are read sooner than a
--- hop to another thread and back is made for each.
local builtin = require("subagents.builtin")
local restriction = require("subagents.restriction")
local text = require("subagents.text")
local uv = require("luv")

local M = {}

--- As much as `panto.ext.frontmatter` reads.
local MAX_BYTES = 1024 * 1024
local MAX_NAME = 100
local MAX_DESCRIPTION = 4096

--- Of one layer: how deep directories are looked into, how many of them, how many entries of one,
--- and how many profiles.
local MAX_DEPTH = 16
local MAX_DIRECTORIES = 1000
local MAX_ENTRIES = 5000
local MAX_FILES = 2000

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

---@param dir string
---@param name string
---@return string
local function join(dir, name)
  return dir:sub(-1) == "/" and dir .. name or dir .. "/" .. name
end

---@param stat table
---@return string
local function identity(stat)
  return stat.dev .. ":" .. stat.ino
end

--- A message of the file system without the path, which is told beside it.
---@param message string?
---@param path string
---@return string
local function without_path(message, path)
  message = message or "it cannot be read"
  local ending = ": " .. path
  if message:sub(-#ending) == ending then
    message = message:sub(1, -#ending - 1)
  end
  return message
end

--- Looks for files in the directory of a layer.
---@class subagents.Walk
---@field files { path: string, relative: string, stat: table }[]
---@field diagnostics subagents.Diagnostic[] with `relative`
---@field seen table<string, boolean> identities of directories
---@field above table<string, boolean> those of the directories that are being looked into
---@field directories integer
---@field was_cut boolean
local Walk = {}
Walk.__index = Walk

---@param level "info"|"warning"
---@param code string
---@param message string
---@param path string
---@param relative string
function Walk:tell(level, code, message, path, relative)
  table.insert(self.diagnostics, {
    level = level,
    code = code,
    message = text.text(message),
    file = text.text(path),
    relative = relative,
  })
end

---@param name string
---@return boolean
local function is_markdown(name)
  return name:find("%.[mM][dD]$") ~= nil
end

--- The names in a directory that can matter, sorted by their bytes, links behind all others: what a
--- link leads to counts where it lies.
---@param dir string
---@return string[]? names
---@return integer|string first_link its index, or the message
local function list(dir)
  local request, message = uv.fs_scandir(dir)
  if not request then
    return nil, without_path(message, dir)
  end
  local names, links = {}, {}
  for name, kind in uv.fs_scandir_next, request do
    local is_left_out = name:byte() == 46 or name == "node_modules"
    if not is_left_out and (kind ~= "file" or is_markdown(name)) then
      local into = kind == "link" and links or names
      into[#into + 1] = name
    end
  end
  table.sort(names)
  table.sort(links)
  local first_link = #names + 1
  return table.move(links, 1, #links, first_link, names), first_link
end

---@param dir string
---@param prefix string what is before the names in it, relative to the layer's directory
---@param stat table
---@param depth integer
function Walk:visit(dir, prefix, stat, depth)
  local id = identity(stat)
  if self.above[id] then
    return self:tell("info", "loop", "skipped: the link leads back to where it is", dir, prefix)
  elseif self.seen[id] then
    return
  end
  if depth > MAX_DEPTH then
    local message = "no profiles are looked for as deep as this"
    return self:tell("warning", "too_deep", message, dir, prefix)
  end
  if self.directories >= MAX_DIRECTORIES then
    return self:cut(dir, prefix)
  end
  self.directories = self.directories + 1
  self.seen[id], self.above[id] = true, true
  local names, first_link = list(dir)
  if not names then
    self:tell("warning", "unreadable", "skipped: " .. first_link, dir, prefix)
  end
  for i, name in ipairs(names or {}) do
    if i > MAX_ENTRIES or #self.files >= MAX_FILES then
      self:cut(join(dir, name), prefix .. name)
      break
    end
    self:entry(join(dir, name), prefix .. name, i >= first_link, depth)
  end
  self.above[id] = nil
end

---@param path string
---@param relative string
function Walk:cut(path, relative)
  if not self.was_cut then
    local message = "there is too much: no profiles are looked for here and in what follows"
    self:tell("warning", "too_many", message, path, relative)
  end
  self.was_cut = true
end

---@param path string
---@param relative string
---@param is_link boolean
---@param depth integer
function Walk:entry(path, relative, is_link, depth)
  local stat, message, code = uv.fs_stat(path)
  if not stat then
    -- A file that is gone by now is nobody's mistake, a link to nothing is.
    if is_link or code ~= "ENOENT" then
      self:tell("warning", "dangling", "skipped: " .. without_path(message, path), path, relative)
    end
  elseif stat.type == "directory" then
    self:visit(path, relative .. "/", stat, depth + 1)
  elseif not is_markdown(relative) then
    return
  elseif stat.type ~= "file" then
    local why = ("skipped: it is a %s, not a file"):format(stat.type)
    self:tell("info", "not_a_file", why, path, relative)
  elseif not utf8.len(relative) then
    self:tell("warning", "encoding", "skipped: the path is not UTF-8", path, relative)
  else
    table.insert(self.files, { path = path, relative = relative, stat = stat })
  end
end

--- Files sorted by relative path. One that is reached twice counts once.
---@param files { path: string, relative: string, stat: table }[]
---@return { path: string, relative: string, stat: table }[]
local function once(files)
  local known, kept = {}, {}
  -- Without directories they are sorted already, and this is asked often.
  for i = 2, #files do
    if files[i].relative < files[i - 1].relative then
      table.sort(files, function(a, b)
        return a.relative < b.relative
      end)
      break
    end
  end
  for _, found in ipairs(files) do
    local dev, ino = found.stat.dev, found.stat.ino
    local on_device = known[dev] or {}
    known[dev] = on_device
    if not on_device[ino] then
      on_device[ino] = true
      kept[#kept + 1] = found
    end
  end
  return kept
end

--- What lies in the directory of a layer.
---@param dir string
---@param seen table<string, boolean> what has been looked into already
---@return subagents.Walk
local function walk(dir, seen)
  local self = setmetatable({
    files = {},
    diagnostics = {},
    seen = seen,
    above = {},
    directories = 0,
    was_cut = false,
  }, Walk)
  local stat, message, code = uv.fs_stat(dir)
  if not stat then
    if code ~= "ENOENT" and code ~= "ENOTDIR" then
      local why = "no profiles here: " .. without_path(message, dir)
      self:tell("warning", "unreadable", why, dir, "")
    end
    return self
  elseif stat.type ~= "directory" then
    self:tell("warning", "not_a_directory", "no profiles here: it is no directory", dir, "")
    return self
  end
  self:visit(dir, "", stat, 1)
  self.files = once(self.files)
  return self
end

--- Reads a regular file, which may have changed since it was looked at.
---@param path string
---@return string? bytes nil if there are too many, too
---@return string? message
---@return string? code
local function read(path)
  local file, message = io.open(path, "rb")
  if not file then
    return nil, (message:gsub("^.*: ", "")), "unreadable"
  end
  local bytes, failure = file:read(MAX_BYTES + 1)
  file:close()
  if not bytes and failure then
    return nil, failure, "unreadable"
  end
  bytes = bytes or ""
  if #bytes > MAX_BYTES then
    return nil, ("it has more than %d bytes"):format(MAX_BYTES), "too_large"
  end
  return bytes
end

--- Where the keys of a frontmatter stand.
---@class subagents.Header
---@field lines table<string, integer> by key, the last one of a name
---@field written table<string, boolean> the restrictions whose key has something behind it
---@field owners table<integer, string> by line, the key that it belongs to
---@field indented { key: string, line: integer }[] what looks like a restriction further in
---@field broken { key: string, line: integer }? a restriction without its colon

local RESTRICTS = { tools = true, disallowedTools = true, excludedTools = true }

--- What stands for nothing in YAML.
local EMPTY = { [""] = true, ["~"] = true, null = true, Null = true, NULL = true }
EMPTY['""'], EMPTY["''"] = true, true

---@param bytes string
---@return subagents.Header
local function header(bytes)
  local found = { lines = {}, written = {}, owners = {}, indented = {}, broken = nil }
  local at = bytes:sub(1, 3) == "\xEF\xBB\xBF" and 4 or 1
  local number, is_open, owner = 0, false, nil
  while at <= #bytes do
    local stop = bytes:find("[\r\n]", at) or #bytes + 1
    local line = bytes:sub(at, stop - 1)
    at = bytes:sub(stop, stop + 1) == "\r\n" and stop + 2 or stop + 1
    number = number + 1
    if not is_open then
      if line:find("%S") then
        if not (line:find("^%-%-%-%s*$") or line:find("^%-%-%-ya?ml%s*$")) then
          return found
        end
        is_open = true
      end
    elseif line:find("^%-%-%-%s*$") or line:find("^%.%.%.%s*$") then
      return found
    else
      local key, behind = line:match("^[\"']?([%w_][%w_.-]*)[\"']?%s*:()")
      local inner = not key and line:match("^[%s,{-]+[\"']?(%a+)[\"']?%s*:")
      local word = not key and line:match("^(%a+)%s*[^%w%s:]?%f[\0%s]")
      if key then
        owner = key
        found.lines[key] = number
        if RESTRICTS[key] then
          local rest = text.trim(line:sub(behind))
          found.written[key] = not EMPTY[rest] and rest:sub(1, 1) ~= "#"
        end
      elseif inner and RESTRICTS[inner] then
        table.insert(found.indented, { key = inner, line = number })
      elseif word and RESTRICTS[word] then
        found.broken = found.broken or { key = word, line = number }
      elseif line:find("^%s*{") and not next(found.lines) then
        -- All keys in braces: where `tools` is empty, it is there all the same.
        if line:find("[{,]%s*[\"']?tools[\"']?%s*:") then
          found.lines.tools = number
        end
      end
      found.owners[number] = owner
    end
  end
  return found
end

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
  elseif utf8.len(name) > MAX_NAME then
    local message = ("skipped: the name has more than %d characters"):format(MAX_NAME)
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
local function prompt(body)
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
    return fail(stat and "it is no file" or without_path(gone, path))
  end
  local bytes, message = read(path)
  if not bytes then
    return fail(message)
  end
  local data, body, found = ext.frontmatter(bytes)
  if not body then
    return fail(found[1] and found[1].message or "it is no text")
  elseif not data then
    return fail("it has no frontmatter any more")
  end
  return prompt(body)
end

--- Makes a profile of a text, or says why there is none.
---@param ext panto.ext
---@param bytes string
---@param file string? where it stands
---@param stem string? the file's name without its ending
---@return subagents.Profile? profile without its layer and its body
---@return subagents.Diagnostic[] diagnostics
---@return string? body
local function parse(ext, bytes, file, stem)
  local self = setmetatable({ ext = ext, diagnostics = {}, file = file }, Reading)
  local is_document = stem and DOCUMENTS[stem:lower()] or false
  local data, body, found = ext.frontmatter(bytes)
  self.header = header(bytes)
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
---@param found { path: string, relative: string, stat: table }
---@param is_strict boolean
---@return subagents.File
local function load(ext, found, is_strict)
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
  local bytes, message, code = read(path)
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
  file.profile, file.diagnostics, body = parse(ext, bytes, path, stem)
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

---@param profile subagents.Profile
---@return subagents.Profile
local function copy(profile)
  local made = {}
  for key, value in pairs(profile) do
    made[key] = value
  end
  return made
end

--- What the layers have, as of one moment.
---@class subagents.Layer
---@field name string
---@field files subagents.File[]
---@field diagnostics subagents.Diagnostic[] of the walk, with `relative`

--- Reads layers; files that are as they were are taken over.
---@param ext panto.ext
---@param places { name: string, dir: string }[]
---@param known table<string, subagents.File> by path
---@return subagents.Layer[] layers
---@return boolean is_new whether a file was read
local function read_layers(ext, places, known)
  local layers, seen = {}, {}
  local is_new = false
  for i, place in ipairs(places) do
    local found = walk(place.dir, seen)
    local layer = { name = place.name, files = {}, diagnostics = found.diagnostics }
    for j, entry in ipairs(found.files) do
      local file = known[entry.path]
      if not file or file.is_fresh or not is_same(file.stat, entry.stat) then
        file, is_new = load(ext, entry, false), true
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
local function are_same(old, new)
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

--- The built-in profiles, as a layer's.
---@param ext panto.ext
---@return subagents.Profile[]
local function builtins(ext)
  local profiles = {}
  for i, source in ipairs(builtin.TEXTS) do
    local profile, _, body = parse(ext, source)
    local cleaned = prompt(body)
    profile.layer = "builtin"
    profile.body = function()
      return cleaned
    end
    profiles[i] = profile
  end
  return profiles
end

---@class subagents.Catalog
---@field list subagents.Profile[] by name
---@field by_name table<string, subagents.Profile>
---@field shadowed subagents.Profile[] those that another one of their name takes the place of
---@field diagnostics subagents.Diagnostic[]
---@field private ext panto.ext
---@field private layers subagents.Layer[]
---@field private builtin subagents.Profile[]
local Catalog = {}
Catalog.__index = Catalog

--- Adds a profile, in the order in which later ones win.
---@param profile subagents.Profile
---@param tell fun(level: string, code: string, message: string)
function Catalog:add(profile, tell)
  local other = rawget(self.by_name, profile.name)
  if other and other.layer == profile.layer then
    profile.shadowed_by = other.layer
    table.insert(self.shadowed, profile)
    local message = "skipped: `%s` has a profile named `%s`, too, and comes first"
    tell("warning", "duplicate", message:format(other.file, other.name))
    return
  end
  if other then
    profile.shadows, other.shadowed_by = other.layer, profile.layer
    table.insert(self.shadowed, other)
    local message = "takes the place of the built-in profile `%s`"
    if other.file then
      message = "takes the place of the profile `%s` of the layer `%s`"
    end
    tell("info", "shadows", message:format(profile.name, other.layer))
  end
  self.by_name[profile.name] = profile
end

--- Says which names are nearly the same.
---@param profiles subagents.Profile[] in the order of layers and files
---@param tell_of fun(profile: subagents.Profile): fun(level: string, code: string, message: string)
local function compare(profiles, tell_of)
  local looks = {}
  for _, profile in ipairs(profiles) do
    local look = text.look(profile.name)
    local other = looks[look]
    if other and other.name ~= profile.name then
      local is_case = other.name:lower() == profile.name:lower()
      local message = "`%s` looks like `%s`, and is another name"
      if is_case then
        message = "`%s` and `%s` differ only in case; each is called by its own name"
      end
      local code = is_case and "case_clash" or "look_alike"
      tell_of(profile)("warning", code, message:format(profile.name, other.name))
    end
    looks[look] = looks[look] or profile
  end
end

--- Decides which profile has which name.
---@param ext panto.ext
---@param layers subagents.Layer[]
---@param built_in subagents.Profile[]
---@return subagents.Catalog
local function resolve(ext, layers, built_in)
  -- A name is the same in any of its forms.
  local by_name = setmetatable({}, {
    __index = function(names, name)
      local composed = type(name) == "string" and utf8.len(name) and text.composed(ext, name)
      return composed and composed ~= name and rawget(names, composed) or nil
    end,
  })
  local self = setmetatable({
    ext = ext,
    layers = layers,
    builtin = built_in,
    list = {},
    by_name = by_name,
    shadowed = {},
    diagnostics = {},
  }, Catalog)
  for _, profile in ipairs(built_in) do
    by_name[profile.name] = copy(profile)
  end
  local added, told = {}, {}
  local function tell_of(profile)
    return function(level, code, message)
      local list_of = told[profile.file] or {}
      told[profile.file] = list_of
      table.insert(list_of, { level = level, code = code, message = message, file = profile.file })
    end
  end
  for _, layer in ipairs(layers) do
    for _, file in ipairs(layer.files) do
      if file.profile then
        local profile = copy(file.profile)
        profile.layer = layer.name
        self:add(profile, tell_of(profile))
        added[#added + 1] = profile
      end
    end
  end
  local winners = {}
  for _, profile in ipairs(built_in) do
    winners[#winners + 1] = by_name[profile.name].layer == "builtin" and profile or nil
  end
  for _, profile in ipairs(added) do
    winners[#winners + 1] = by_name[profile.name] == profile and profile or nil
  end
  compare(winners, tell_of)
  for _, profile in pairs(by_name) do
    table.insert(self.list, profile)
  end
  table.sort(self.list, function(a, b)
    return a.name < b.name
  end)
  self:collect(told)
  return self
end

--- Puts what was found into the order of the files.
---@param told table<string, subagents.Diagnostic[]> by file, what its name came to
---@private
function Catalog:collect(told)
  for _, layer in ipairs(self.layers) do
    local places = {}
    for _, diagnostic in ipairs(layer.diagnostics) do
      places[#places + 1] = { relative = diagnostic.relative, list = { diagnostic } }
    end
    for _, file in ipairs(layer.files) do
      if #file.diagnostics > 0 or told[file.path] then
        places[#places + 1] = { relative = file.relative, list = file.diagnostics }
        places[#places + 1] = { relative = file.relative, list = told[file.path] or {} }
      end
    end
    for i, place in ipairs(places) do
      place.order = i
    end
    table.sort(places, function(a, b)
      if a.relative ~= b.relative then
        return a.relative < b.relative
      end
      return a.order < b.order
    end)
    for _, place in ipairs(places) do
      for _, diagnostic in ipairs(place.list) do
        local plain = copy(diagnostic)
        plain.relative = nil
        table.insert(self.diagnostics, plain)
      end
    end
  end
end

--- The catalog as it is now: this one, if nothing has changed.
---@return subagents.Catalog
function Catalog:refresh()
  local known = {}
  for _, layer in ipairs(self.layers) do
    for _, file in ipairs(layer.files) do
      known[file.path] = file
    end
  end
  local layers, is_new = read_layers(self.ext, M.places(self.ext), known)
  if not is_new and are_same(self.layers, layers) then
    return self
  end
  return resolve(self.ext, layers, self.builtin)
end

--- Names that may be meant, the nearest first.
---@param name string
---@return string[] names three at most
function Catalog:near(name)
  local wanted = text.look(text.cut(text.text(name), 4 * MAX_NAME))
  local most = math.max(2, #wanted // 3)
  local found = {}
  for _, profile in ipairs(self.list) do
    local look = text.look(profile.name)
    local distance = text.distance(wanted, look, most)
    if distance > most and #wanted >= 3 then
      local is_part = look:find(wanted, 1, true)
        or (#look >= 3 and wanted:find(look, 1, true) ~= nil)
      distance = is_part and most or distance
    end
    if distance <= most then
      found[#found + 1] = { name = profile.name, distance = distance }
    end
  end
  table.sort(found, function(a, b)
    if a.distance ~= b.distance then
      return a.distance < b.distance
    end
    return a.name < b.name
  end)
  local names = {}
  for i = 1, math.min(3, #found) do
    names[i] = found[i].name
  end
  return names
end

--- Where profiles lie; of two with one name the later counts.
---@param ext panto.ext
---@return { name: string, dir: string }[]
function M.places(ext)
  local places = {}
  for i, layer in ipairs(ext.dirs.layers) do
    places[i] = { name = layer.name, dir = join(layer.dir, "agents") }
  end
  return places
end

--- Reads all profiles that there are.
---@param ext panto.ext
---@return subagents.Catalog
function M.discover(ext)
  local layers = read_layers(ext, M.places(ext), {})
  return resolve(ext, layers, builtins(ext))
end

--- Examines files without leniency: whatever had to be recovered, ignored or left out is a finding.
--- That a profile takes another layer's place is none.
---@param ext panto.ext
---@param path? string a file or a directory; all layers without it
---@return subagents.Diagnostic[] findings
---@return integer files_checked
function M.check(ext, path)
  local places = M.places(ext)
  local layers, checked = {}, 0
  local function examine(entry)
    checked = checked + 1
    return load(ext, entry, true)
  end
  if path then
    local stat, message = uv.fs_stat(path)
    local name = path:match("([^/]+)/*$") or path
    local is_file = stat and stat.type == "file"
    if not stat or not (is_file or stat.type == "directory") then
      local why = stat and ("it is a %s"):format(stat.type) or without_path(message, path)
      local finding = { level = "error", code = "not_found", message = text.text(why) }
      finding.file = text.text(path)
      return { finding }, 0
    end
    if is_file then
      local file = examine({ path = path, relative = name, stat = stat })
      layers[1] = { name = "given", files = { file }, diagnostics = {} }
    end
    places = is_file and {} or { { name = "given", dir = path } }
  end
  local seen = {}
  for _, place in ipairs(places) do
    local found = walk(place.dir, seen)
    local layer = { name = place.name, files = {}, diagnostics = found.diagnostics }
    for i, entry in ipairs(found.files) do
      layer.files[i] = examine(entry)
    end
    layers[#layers + 1] = layer
  end
  local findings = {}
  for _, diagnostic in ipairs(resolve(ext, layers, path and {} or builtins(ext)).diagnostics) do
    if diagnostic.code ~= "shadows" then
      findings[#findings + 1] = diagnostic
    end
  end
  return findings, checked
end

return M
