--- Text from files, made fit for a prompt.
local M = {}

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

--- What may be shown of bytes, such as those of a path: the same if they are UTF-8.
---@param bytes string
---@return string
function M.text(bytes)
  if utf8.len(bytes) then
    return bytes
  end
  return (bytes:gsub("[\x80-\xFF]", "?"))
end

--- Escapes text for XML.
---@param text string
---@return string
function M.escape(text)
  return (text:gsub('[&<>"]', ENTITIES))
end

--- Folds all white space, so that the text is one line.
---@param text string
---@return string
function M.one_line(text)
  return (text:gsub("%s+", " "):match("^ ?(.-) ?$"))
end

--- A path as it stands in a prompt: one line, escaped for XML.
---@param path string
---@return string
function M.path(path)
  return M.escape(M.one_line(M.text(path)))
end

--- Cuts text at a character, so that it has at most `max_bytes`.
---@param text string UTF-8
---@param max_bytes integer
---@return string text
---@return boolean was_cut
function M.cut(text, max_bytes)
  if #text <= max_bytes then
    return text, false
  end
  local last = max_bytes
  -- No character begins with a byte from 0x80 to 0xBF.
  while last > 0 and (text:byte(last + 1) & 0xC0) == 0x80 do
    last = last - 1
  end
  return text:sub(1, last), true
end

--- What nobody sees and a model reads: controls, marks of direction, characters without width,
--- tags. Each is a pattern of its bytes in UTF-8.
local HIDDEN = {
  "[\0-\8\11\12\14-\31\127]",
  "\xC2[\x80-\x9F]",
  "\xE2\x80[\x8B\x8E\x8F\xAA-\xAE]",
  "\xE2\x81[\xA0-\xA4\xA6-\xAF]",
  "\xF3\xA0[\x80\x81][\x80-\xBF]",
}

--- Takes out what nobody sees, and makes every line end a line feed.
---@param text string UTF-8
---@return string
function M.printable(text)
  text = text:gsub("\r\n?", "\n")
  for _, pattern in ipairs(HIDDEN) do
    text = text:gsub(pattern, "")
  end
  return text
end

--- Keeps text from closing the element that it is put into.
---@param text string
---@param element string a name of letters and `_`
---@return string
function M.enclosed(text, element)
  local pattern = element:gsub("%a", function(letter)
    return ("[%s%s]"):format(letter:lower(), letter:upper())
  end)
  return (text:gsub("<(%s*/%s*" .. pattern .. ")", "&lt;%1"))
end

--- A value of frontmatter as text: what was written, if it was one scalar.
---@param value any
---@return string?
function M.scalar(value)
  if value == nil or type(value) == "table" then
    return nil
  end
  return tostring(value)
end

--- Whether a value of frontmatter says yes.
---@param value any
---@return boolean
function M.says_yes(value)
  local text = M.scalar(value)
  text = text and text:lower()
  return text == "true" or text == "yes" or text == "on" or text == "1"
end

return M
