local M = {}
function M.apply(r, names) 
  local kept = {}
  for _, n in ipairs(names) do
    local ok = not r.allow
    for _, a in ipairs(r.allow or {}) do ok = ok or a == n end
    for _, d in ipairs(r.deny or {}) do ok = ok and d ~= n end
    if ok then kept[#kept+1] = n end
  end
  return kept, {}
end
return M
