--- Lists a directory.
local panto = require("panto")
local std = require("agent.tools._std")

local ENTRIES, MAX_ENTRIES = 500, 10000
local MARKS = { directory = "/", link = "@", other = "|" }

return {
  name = "ls",
  description = ([[
Lists what is in a directory, hidden and ignored files too: `name/` is a directory, `name@` a link,
`name|` something else than a file. At most %d are shown unless `limit` says otherwise.]]):format(
    ENTRIES
  ),
  schema = {
    type = "object",
    properties = {
      path = { type = "string", description = "The directory; by default the working directory." },
      limit = { type = "integer", description = "How many to show." },
    },
  },
  ---@async
  handler = function(input)
    local arguments, wrong = std.arguments(input, { { "path", "path" }, { "limit", "integer" } })
    if not arguments then
      return nil, wrong
    end
    local path = std.resolve(arguments.path or ".")
    local found, message, code = panto.ext.files.walk({
      path = path,
      depth = 1,
      hidden = true,
      ignored = true,
      limit = std.within(arguments.limit, ENTRIES, 1, MAX_ENTRIES),
    })
    if not found then
      return std.refused(path, message, code)
    elseif found.total == 0 then
      return "The directory is empty."
    end
    local out, from = {}, path == "/" and 2 or #path + 2
    for position, entry in ipairs(found.entries) do
      -- The name, as it would be said of a path.
      local name = std.shown(entry.path:sub(from))
      out[position] = name .. (MARKS[entry.kind] or "")
    end
    if found.total > #out then
      local note = "[%s of %s shown; raise `limit`, or use `find`]"
      out[#out + 1] = note:format(std.count(#out), std.count(found.total))
    end
    return { text = table.concat(out, "\n"), details = { total = found.total } }
  end,
}
