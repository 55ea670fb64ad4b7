--- Lua does not check bytecode that it loads: what is damaged takes the process with it.
local load, loadfile = load, loadfile

local REFUSED = "bytecode cannot be loaded here, only text"

function _G.load(chunk, name, mode, ...)
  if mode == "b" then
    return nil, REFUSED
  end
  return load(chunk, name, "t", ...)
end

function _G.loadfile(name, mode, ...)
  if mode == "b" then
    return nil, REFUSED
  end
  return loadfile(name, "t", ...)
end

function _G.dofile(name)
  local chunk, message = loadfile(name, "t")
  if not chunk then
    error(message, 0)
  end
  return chunk()
end
