--- Searches files for a pattern.
local panto = require("panto")
local std = require("agent.tools._std")

local MATCHES, MAX_MATCHES = 100, 2000
local MAX_CONTEXT = 20
local MAX_BYTES = 50 * 1024
local MAX_LINE_BYTES = 400

--- One file's lines under its name; a gap between them is marked.
local function add_file(out, file, has_context)
  if #out > 0 then
    out[#out + 1] = ""
  end
  out[#out + 1] = std.shown(file.path)
  local before
  for _, line in ipairs(file.lines) do
    if has_context and before and line.line > before + 1 then
      out[#out + 1] = "--"
    end
    before = line.line
    local mark = line.is_context and "-" or ":"
    local cut = line.is_cut and " … [cut]" or ""
    out[#out + 1] = ("%d%s%s%s"):format(line.line, mark, line.text, cut)
  end
end

local function nothing(found)
  local text = "No matches."
  if found.binary > 0 then
    text = text
      .. (" %s not looked at."):format(std.of(found.binary, "binary file was", "binary files were"))
  end
  return text
end

return {
  name = "grep",
  description = ([[
Searches the contents of files for a regular expression (Rust's syntax, one line at a time), or with
`literal` for a text. Files that `.gitignore` names, and binary files, are left out. Gives lines
with their numbers by file, at most %d matches unless `limit` says otherwise.]]):format(MATCHES),
  schema = {
    type = "object",
    properties = {
      pattern = { type = "string", description = "What to look for." },
      path = {
        type = "string",
        description = "A directory or file; by default the working directory.",
      },
      glob = {
        type = "string",
        description = 'Only files that match, such as "*.rs" or "src/**/*.ts".',
      },
      ignore_case = { type = "boolean", description = "Whether case does not matter." },
      literal = {
        type = "boolean",
        description = "Whether the pattern is a text, not an expression.",
      },
      context = { type = "integer", description = "How many lines to show around each match." },
      limit = { type = "integer", description = "How many matches to show." },
    },
    required = { "pattern" },
  },
  ---@async
  handler = function(input)
    local arguments, wrong = std.arguments(input, {
      { "pattern", "string", true },
      { "path", "path" },
      { "glob", "string" },
      { "ignore_case", "boolean" },
      { "literal", "boolean" },
      { "context", "integer" },
      { "limit", "integer" },
    })
    if not arguments then
      return nil, wrong
    elseif arguments.pattern == "" then
      return nil, "`pattern` is empty"
    end
    local path = std.resolve(arguments.path or ".")
    local context = std.within(arguments.context, 0, 0, MAX_CONTEXT)
    local found, message, code = panto.ext.files.search({
      pattern = arguments.pattern,
      path = path,
      literal = arguments.literal,
      ignore_case = arguments.ignore_case,
      globs = arguments.glob and { arguments.glob },
      hidden = true,
      before = context,
      after = context,
      limit = std.within(arguments.limit, MATCHES, 1, MAX_MATCHES),
      max_bytes = MAX_BYTES,
      max_line_bytes = MAX_LINE_BYTES,
    })
    if not found then
      return std.refused(path, message, code)
    elseif found.matches == 0 then
      return nothing(found)
    end
    local out = {}
    for _, file in ipairs(found.files) do
      add_file(out, file, context > 0)
    end
    if found.is_cut then
      local note = "\n[%s shown, there are more; narrow the search, or raise `limit`]"
      out[#out + 1] = note:format(std.of(found.matches, "match", "matches"))
    end
    return {
      text = table.concat(out, "\n"),
      details = { matches = found.matches, files = #found.files, is_cut = found.is_cut },
    }
  end,
}
