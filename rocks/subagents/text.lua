local M = {}
function M.cut(text, max_bytes)
  if #text <= max_bytes then return text, false end
  local last = max_bytes
  while last > 0 and (text:byte(last + 1) & 0xC0) == 0x80 do last = last - 1 end
  return text:sub(1, last), true
end
return M
