--- Writes a whole file.
local panto = require("panto")
local seen = require("agent.tools._files")
local std = require("agent.tools._std")

local MAX_DIFF_BYTES = 64 * 1024
local BOM = "\u{FEFF}"

--- The bytes of a text, written as the file was that it replaces.
local function bytes_of(text, old)
  if not old or old.is_lossy then
    return text
  end
  if old.encoding ~= "utf-8" and text:sub(1, #BOM) == BOM then
    -- The encoding writes its own.
    text = text:sub(#BOM + 1)
  end
  return panto.ext.files.encode(text, old.encoding)
end

--- Whether an agent may replace what is there.
---@async
local function may_replace(context, path, fingerprint)
  local known = seen.known(context, path)
  if known == fingerprint then
    return true
  end
  local refusal = known and "`%s` has changed since you read it; read it again before you write it"
    or "`%s` exists and you have not read it; read it first, or change parts of it with `edit`"
  return nil, refusal:format(std.shown(path))
end

return {
  name = "write",
  description = [[
Writes a file whole: makes it, and the directories above it, or replaces all of it. An existing
file must have been read before. To change parts of a file use `edit`.]],
  schema = {
    type = "object",
    properties = {
      path = { type = "string", description = "The file, absolute or from the working directory." },
      content = { type = "string", description = "All that the file is to hold." },
    },
    required = { "path", "content" },
  },
  ---@async
  handler = function(input, context)
    local files = panto.ext.files
    local arguments, wrong =
      std.arguments(input, { { "path", "path", true }, { "content", "string", true } })
    if not arguments then
      return nil, wrong
    end
    if arguments.path:find("/$") then
      return nil, ("`path` names a directory: `%s`"):format(std.shown(arguments.path))
    end
    local path = std.resolve(arguments.path)
    local _ <close> = seen.lock(path)
    local bytes, fingerprint, code = files.read(path)
    if not bytes and code ~= "not_found" then
      return std.refused(path, fingerprint, code)
    elseif bytes then
      local allowed, refusal = may_replace(context, path, fingerprint)
      if not allowed then
        return nil, refusal
      end
    end
    local old = bytes and files.decode(bytes)
    local text = seen.with_newlines(arguments.content, old and old.newline or "none")
    local new, unencodable = bytes_of(text, old)
    if not new then
      return nil, unencodable
    end
    local expect = bytes and fingerprint or false
    local done, message, why = files.replace(path, new, { expect = expect, create_parents = true })
    if not done then
      return std.refused(path, message, why)
    end
    seen.note(context, path, done.fingerprint)
    local shown = std.shown(path)
    local details = { changed = { shown }, is_new = done.is_new }
    local before = not bytes and "" or old and old.text
    local difference = before
      and files.diff(before, text, { name = shown, max_bytes = MAX_DIFF_BYTES })
    if difference then
      details.diff, details.added, details.removed =
        difference.text, difference.added, difference.removed
    end
    local what = done.is_new and "Made" or "Replaced"
    return { text = ("%s `%s` (%s)."):format(what, shown, std.of(#new, "byte")), details = details }
  end,
}
