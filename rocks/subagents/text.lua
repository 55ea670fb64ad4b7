--- Text that comes from outside, made fit to be shown, compared and put into a prompt.
local M = {}

--- What may be shown of bytes, such as those of a path: the same if they are UTF-8.
---@param bytes string
---@return string
function M.text(bytes)
  if utf8.len(bytes) then
    return bytes
  end
  return (bytes:gsub("[\x80-\xFF]", "?"))
end

--- What nobody sees and a model reads: controls, marks of direction, characters without width,
--- tags. Each is a pattern of its bytes in UTF-8.
local HIDDEN = {
  "[\0-\8\11\12\14-\31\127]",
  "\xC2[\x80-\x9F]",
  "\xD8\x9C",
  "\xE2\x80[\x8B\x8E\x8F\xAA-\xAE]",
  "\xE2\x81[\xA0-\xA4\xA6-\xAF]",
  "\xEF\xBB\xBF",
  "\xEF\xBF[\xB9-\xBB]",
  "\xF3\xA0[\x80\x81][\x80-\xBF]",
}

--- Takes out what nobody sees, and makes every line end a line feed.
---@param text string UTF-8
---@return string text
---@return boolean was_hidden whether something was taken out
function M.sanitize(text)
  -- Nearly all text is plain, and this is asked of every file.
  if not text:find("[^\t\n -~]") then
    return text, false
  end
  text = text:gsub("\r\n?", "\n"):gsub("\xE2\x80[\xA8\xA9]", "\n")
  local removed = 0
  for _, pattern in ipairs(HIDDEN) do
    local count
    text, count = text:gsub(pattern, "")
    removed = removed + count
  end
  return text, removed > 0
end

--- Takes out what nobody sees, and folds all white space, so that the text is one line.
---@param text string UTF-8
---@return string
function M.one_line(text)
  text = M.sanitize(text)
  return (text:gsub("%s+", " "):match("^ ?(.-) ?$"))
end

--- White space at both ends taken off.
---@param text string
---@return string
function M.trim(text)
  -- Not by one pattern: much white space inside would make it slow.
  local first = text:find("%S")
  if not first then
    return ""
  end
  local last = #text
  while text:find("^%s", last) do
    last = last - 1
  end
  return text:sub(first, last)
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

--- Text in Unicode's composed form (NFC), as the values of frontmatter are.
---@param ext panto.ext
---@param text string UTF-8, without what `sanitize` takes out
---@return string
function M.composed(ext, text)
  if not text:find("[\x80-\xFF]") then
    return text
  end
  local quoted = text:gsub('[\\"]', "\\%0"):gsub("\n", "\\n")
  local data = ext.frontmatter('---\ntext: "' .. quoted .. '"\n---\n')
  return data and type(data.text) == "string" and data.text or text
end

--- Whether there are accents that stand behind their letters (U+0300 to U+036F).
---@param text string
---@return boolean
function M.has_loose_accents(text)
  return text:find("\xCC[\x80-\xBF]") ~= nil or text:find("\xCD[\x80-\xAF]") ~= nil
end

--- Cyrillic and Greek letters that look like Latin ones, and those.
local TWINS = "аa еe оo рp сc уy хx іi јj ѕs ԁd һh ӏl ԛq ԝw АA ВB ЕE КK МM НH ОO РP СC ТT ХX "
  .. "УY ІI ЈJ ЅS αa οo ρp νv ιi κk υu χx τt γy ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX"
local LATIN = {}
for pair in TWINS:gmatch("%S+") do
  LATIN[pair:sub(1, -2)] = pair:sub(-1)
end

--- The text as it looks from afar: two names with one look are taken for each other. The case of
--- ASCII letters does not count.
---@param text string UTF-8
---@return string
function M.look(text)
  if text:find("[\xCD-\xD4]") then
    text = text:gsub("[\xCD-\xD4][\x80-\xBF]", LATIN)
  end
  return text:lower()
end

--- How many letters must be changed, put in, taken out or swapped with their neighbour to make one
--- text of the other; what is above `most` is `most + 1`.
---@param a string
---@param b string
---@param most integer
---@return integer
function M.distance(a, b, most)
  if math.abs(#a - #b) > most then
    return most + 1
  end
  local before, previous, current = {}, {}, {}
  for j = 0, #b do
    previous[j] = j
  end
  for i = 1, #a do
    current[0] = i
    local least = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      local best = math.min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + cost)
      local are_swapped = i > 1
        and j > 1
        and a:byte(i) == b:byte(j - 1)
        and a:byte(i - 1) == b:byte(j)
      if are_swapped then
        best = math.min(best, before[j - 2] + 1)
      end
      current[j] = best
      least = math.min(least, best)
    end
    if least > most then
      return most + 1
    end
    before, previous, current = previous, current, before
  end
  return math.min(previous[#b], most + 1)
end

return M
