--- Shows lines of a text file, or an image.
local panto = require("panto")
local seen = require("agent.tools._files")
local std = require("agent.tools._std")

local MAX_LINES = 2000
local MAX_BYTES = 50 * 1024
local MAX_LINE_BYTES = 2000
local MAX_MEDIA_BYTES = 20 * 1024 * 1024

local function lines_of(found)
  local lines = {}
  for position, line in ipairs(found.lines) do
    local cut = found.cut[position]
    if cut then
      line = ("%s … [cut; the line has %s]"):format(line, std.of(cut, "byte"))
    end
    lines[position] = ("%6d→%s"):format(found.first + position - 1, line)
  end
  return lines
end

local function note_of(found)
  local notes = {}
  if found.is_lossy then
    notes[#notes + 1] = "bytes that are not UTF-8 are shown as \u{FFFD}"
  elseif found.encoding ~= "utf-8" then
    notes[#notes + 1] = "encoding " .. found.encoding
  end
  if found.newline == "crlf" then
    notes[#notes + 1] = "lines end with CRLF"
  elseif found.newline == "mixed" then
    notes[#notes + 1] = "some lines end with CRLF, others with LF"
  end
  return #notes > 0 and "[" .. table.concat(notes, "; ") .. "]" or nil
end

local function text_result(path, found)
  local last = found.first + #found.lines - 1
  if found.total == 0 then
    return { text = "[the file is empty]", details = { path = path, total = 0 } }
  elseif #found.lines == 0 then
    local message = "`offset` is %d, but `%s` has only %s"
    return nil, message:format(found.first, path, std.of(found.total, "line"))
  end
  local lines = lines_of(found)
  lines[#lines + 1] = note_of(found)
  if last < found.total then
    local pointer = "[lines %d-%d of %s; use offset=%d to go on]"
    lines[#lines + 1] = pointer:format(found.first, last, std.count(found.total), last + 1)
  end
  return {
    text = table.concat(lines, "\n"),
    details = { path = path, first = found.first, last = last, total = found.total },
  }
end

local function media_result(path, found)
  if found.size > MAX_MEDIA_BYTES then
    return nil, ("`%s` has %s; too large to show"):format(path, std.of(found.size, "byte"))
  end
  return {
    text = ("`%s`: %s, %s"):format(path, found.media_type, std.of(found.size, "byte")),
    attachments = { { media_type = found.media_type, data = found.data } },
    details = { path = path },
  }
end

return {
  name = "read",
  description = ([[
Reads a file. Text comes as lines with their numbers and an arrow before each ("%6d→text"); the
numbers and arrows are not part of the file. At most %d lines and %d KB are shown at once: use
`offset` and `limit` to see more. Images and PDF files are shown as they are.]]):format(
    1,
    MAX_LINES,
    MAX_BYTES // 1024
  ),
  schema = {
    type = "object",
    properties = {
      path = { type = "string", description = "The file, absolute or from the working directory." },
      offset = { type = "integer", description = "The first line, counted from 1." },
      limit = { type = "integer", description = "How many lines." },
    },
    required = { "path" },
  },
  ---@async
  handler = function(input, context)
    local arguments, wrong = std.arguments(input, {
      { "path", "path", true },
      { "offset", "integer" },
      { "limit", "integer" },
    })
    if not arguments then
      return nil, wrong
    end
    local path = std.resolve(arguments.path)
    local found, message, code = panto.ext.files.lines(path, {
      offset = math.max(arguments.offset or 1, 1),
      limit = std.within(arguments.limit, MAX_LINES, 1, MAX_LINES),
      max_bytes = MAX_BYTES,
      max_line_bytes = MAX_LINE_BYTES,
    })
    if not found then
      return std.refused(path, message, code)
    end
    seen.note(context, path, found.fingerprint)
    local shown = std.shown(path)
    if found.kind == "text" then
      return text_result(shown, found)
    elseif found.kind == "media" then
      return media_result(shown, found)
    end
    local refusal = "`%s` is binary (%s); look at it with `shell`, such as `file` or `xxd`"
    return nil, refusal:format(shown, std.of(found.size, "byte"))
  end,
}
