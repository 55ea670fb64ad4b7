--- Changes parts of a text file.
local panto = require("panto")
local replacing = require("agent.tools._replacing")
local seen = require("agent.tools._files")
local std = require("agent.tools._std")

--- What is changed on the thread that runs Lua has a bound.
local MAX_BYTES = 16 * 1024 * 1024
local MAX_DIFF_BYTES = 64 * 1024
local BOM = "\u{FEFF}"

--- The text of a file with how it is written. What is not quite UTF-8 is changed as bytes.
local function text_of(bytes)
  local decoded, message = panto.ext.files.decode(bytes)
  if not decoded then
    return nil, message
  elseif decoded.is_lossy then
    return { text = bytes, newline = decoded.newline }
  end
  return decoded
end

return {
  name = "edit",
  description = [[
Changes parts of a text file. Each edit replaces `old_text`, which must be in the file exactly once
(or set `all` to replace it everywhere), by `new_text`. Whitespace counts. Edits are applied in
order, and all of them or none. Line ends and encoding of the file stay as they are.]],
  schema = {
    type = "object",
    properties = {
      path = { type = "string", description = "The file, absolute or from the working directory." },
      edits = {
        type = "array",
        description = "What to replace, in order.",
        items = {
          type = "object",
          properties = {
            old_text = { type = "string", description = "The text to replace, as it is there." },
            new_text = { type = "string", description = "What stands there instead." },
            all = { type = "boolean", description = "Replace it everywhere." },
          },
          required = { "old_text", "new_text" },
        },
      },
    },
    required = { "path", "edits" },
  },
  ---@async
  handler = function(input, context)
    local files = panto.ext.files
    local arguments, wrong = std.arguments(input, { { "path", "path", true } })
    if not arguments then
      return nil, wrong
    end
    local given = input.edits
    if type(given) == "string" then
      given = panto.json.decode(given)
    end
    local edits, malformed = replacing.read(given)
    if not edits then
      return nil, malformed
    end
    local path = std.resolve(arguments.path)
    local shown = std.shown(path)
    local _ <close> = seen.lock(path)
    local bytes, fingerprint, code = files.read(path, { max_bytes = MAX_BYTES })
    if not bytes then
      return std.refused(path, fingerprint, code)
    end
    local known = seen.known(context, path)
    if known and known ~= fingerprint then
      return nil, ("`%s` has changed since you read it; read it again first"):format(shown)
    end
    local old, binary = text_of(bytes)
    if not old then
      return nil, ("`%s`: %s"):format(shown, binary)
    end
    local text, replaced = replacing.apply(old.text, edits, old.newline)
    if not text then
      return nil, ("`%s`: %s"):format(shown, replaced)
    end
    if old.encoding and old.encoding ~= "utf-8" and text:sub(1, #BOM) == BOM then
      -- The encoding writes its own.
      text = text:sub(#BOM + 1)
    end
    local new, unencodable = text, nil
    if old.encoding then
      new, unencodable = files.encode(text, old.encoding)
    end
    if not new then
      return nil, ("`%s`: %s"):format(shown, unencodable)
    end
    local done, message, why = files.replace(path, new, { expect = fingerprint })
    if not done then
      return std.refused(path, message, why)
    end
    seen.note(context, path, done.fingerprint)
    local difference = files.diff(old.text, text, { name = shown, max_bytes = MAX_DIFF_BYTES })
    local details = { changed = { shown } }
    if difference then
      details.diff, details.added, details.removed =
        difference.text, difference.added, difference.removed
    end
    local places = std.of(replaced, "place")
    return { text = ("Changed `%s` in %s."):format(shown, places), details = details }
  end,
}
