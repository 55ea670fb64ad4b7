--- Markdown files with frontmatter, and what there is to say about them.
local files = require("_files")
local words = require("_words")

local M = {}

--- As much as `panto.ext.frontmatter` reads.
local MAX_BYTES = 1024 * 1024

---@class agent.Markdown
---@field data table<string, any>? nil without frontmatter
---@field body string

--- Tells a person what is wrong with a file.
---@param ext panto.ext
---@param level "info"|"warning"|"error"
---@param message string
---@param file string
---@param line integer?
---@param column integer?
function M.diagnose(ext, level, message, file, line, column)
  local position = { file = words.text(file), line = line, column = column }
  ext.diagnose(level, words.text(message), position)
end

--- Reads a file; what is wrong with it is told, and nil is given if it cannot be used.
---@param ext panto.ext
---@param file string
---@return agent.Markdown?
function M.read(ext, file)
  local text, message = files.read(file, MAX_BYTES)
  if not text then
    M.diagnose(ext, "warning", "skipped: " .. message, file)
    return nil
  end
  local data, body, diagnostics = ext.frontmatter(text)
  for _, diagnostic in ipairs(diagnostics) do
    -- What is only good to know would be said in every session.
    if diagnostic.level ~= "info" then
      local prefix = diagnostic.level == "error" and "skipped: " or ""
      local line, column = diagnostic.line, diagnostic.column
      M.diagnose(ext, "warning", prefix .. diagnostic.message, file, line, column)
    end
  end
  if not body then
    return nil
  end
  return { data = data, body = body }
end

--- Reads the body of a file as it is now, saying nothing.
---@param ext panto.ext
---@param file string
---@return string? body
---@return string? message
function M.body(ext, file)
  local text, message = files.read(file, MAX_BYTES)
  if not text then
    return nil, ("cannot read `%s`: %s"):format(file, message)
  end
  local _, body, diagnostics = ext.frontmatter(text)
  if not body then
    local why = diagnostics[1] and diagnostics[1].message or "it is no text"
    return nil, ("cannot read `%s`: %s"):format(file, why)
  end
  return body
end

return M
