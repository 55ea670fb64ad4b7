--- Finds files by their names.
local panto = require("panto")
local std = require("agent.tools._std")

local ENTRIES, MAX_ENTRIES = 200, 5000

return {
  name = "find",
  description = ([[
Finds files and directories by a glob. One without a slash is for names anywhere below ("*.rs"), one
with a slash for paths below `path` ("src/**/*.rs"). What `.gitignore` names is left out. At most %d
are shown unless `limit` says otherwise, in the order of their paths.]]):format(ENTRIES),
  schema = {
    type = "object",
    properties = {
      pattern = { type = "string", description = "The glob." },
      path = { type = "string", description = "A directory; by default the working directory." },
      limit = { type = "integer", description = "How many to show." },
    },
    required = { "pattern" },
  },
  ---@async
  handler = function(input)
    local arguments, wrong = std.arguments(input, {
      { "pattern", "string", true },
      { "path", "path" },
      { "limit", "integer" },
    })
    if not arguments then
      return nil, wrong
    elseif arguments.pattern == "" then
      return nil, "`pattern` is empty"
    end
    local path = std.resolve(arguments.path or ".")
    local found, message, code = panto.ext.files.walk({
      path = path,
      globs = { arguments.pattern },
      hidden = true,
      limit = std.within(arguments.limit, ENTRIES, 1, MAX_ENTRIES),
    })
    if not found then
      return std.refused(path, message, code)
    elseif found.total == 0 then
      return "Nothing found."
    end
    local out = {}
    for position, entry in ipairs(found.entries) do
      out[position] = std.shown(entry.path) .. (entry.kind == "directory" and "/" or "")
    end
    if found.total > #out then
      local note = "[%s of %s shown; narrow `pattern` or `path`, or raise `limit`]"
      out[#out + 1] = note:format(std.count(#out), std.count(found.total))
    end
    return { text = table.concat(out, "\n"), details = { total = found.total } }
  end,
}
