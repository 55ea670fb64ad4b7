-- Stores that keep each session as lines of JSON, and what tests do with agents.
json = panto.json
function new_store()
  local store = { lines = {}, ids = {} }
  function store:create(header)
    note("create " .. header.type .. " " .. header.cwd)
    assert(not self.lines[header.id])
    self.lines[header.id] = { assert(json.encode(header)) }
    table.insert(self.ids, 1, header.id)
  end
  function store:append(id, records)
    local roles = {}
    for _, record in ipairs(records) do
      table.insert(self.lines[id], (assert(json.encode(record))))
      roles[#roles + 1] = record.role or record.type
    end
    note("append " .. table.concat(roles, " "))
    return true
  end
  function store:load(id)
    local lines = self.lines[id]
    if not lines then
      return nil
    end
    local records = {}
    for i = 2, #lines do
      records[i - 1] = assert(json.decode(lines[i]))
    end
    return { header = assert(json.decode(lines[1])), records = records }
  end
  function store:list()
    local list = {}
    for i, id in ipairs(self.ids) do
      list[i] = { id = id }
    end
    return list
  end
  function store:resolve(prefix)
    for _, id in ipairs(self.ids) do
      if id:sub(1, #prefix) == prefix then
        return id
      end
    end
  end
  function store:latest()
    return self.ids[1]
  end
  return store
end
store = new_store()
-- Runs a turn to its end, and gives how.
function finish(stream)
  local last
  for event in assert(stream):events() do
    last = event
  end
  assert(last.type == "settled")
  return last
end
-- Whether two values are equal, tables by what they hold.
function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b
  end
  for key, value in pairs(a) do
    if not same(value, b[key]) then
      return false
    end
  end
  for key in pairs(b) do
    if a[key] == nil then
      return false
    end
  end
  return true
end
function new_agent(options)
  options = options or {}
  return assert(panto.agent {
    config = config, store = options.store or store, session_id = options.session_id, cwd = "/project",
  })
end
