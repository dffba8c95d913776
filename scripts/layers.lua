-- SPDX-License-Identifier: Apache-2.0
-- The layer check of core/: which folder may include headers of which. Called by scripts/lint with the C files of
-- core/; prints what breaks a rule and ends with status 1. A new entry in a list below is a decision about the design.
-- usage: luajit scripts/layers.lua FILE...

-- Top to bottom. A list below may only name folders that stand further down here.
local ORDER = {
  "broker", "lua", "api", "policy", "coordinator", "controller", "replica", "metadata", "network", "log", "record", "wire",
  "event", "os", "base",
}

-- What each folder may include beside its own headers.
local ALLOW = {
  broker = {
    "lua", "api", "policy", "coordinator", "controller", "replica", "metadata", "network", "log", "record", "wire", "event",
    "os", "base",
  },
  -- No api: bindings reach requests through callbacks that broker sets. network: addresses are read by one parser.
  lua = {
    "policy", "coordinator", "controller", "replica", "metadata", "network", "log", "record", "wire", "event", "os", "base",
  },
  api = {
    "policy", "coordinator", "controller", "replica", "metadata", "network", "log", "record", "wire", "event", "os", "base",
  },
  -- No network, no wire: whose request a batch is part of is a callback of api. What runs functions of the user's is a
  -- class of functions that lua fills in.
  policy = { "replica", "metadata", "log", "record", "event", "os", "base" },
  -- Not each other: groups know nothing of placement, and the controller nothing of groups. log: groups are read from
  -- their partition's log.
  coordinator = { "replica", "metadata", "log", "record", "wire", "event", "os", "base" },
  controller = { "replica", "metadata", "wire", "event", "os", "base" },
  -- No network, no wire: waiting requests are callbacks of api; what is fetched from another broker comes the same way.
  replica = { "metadata", "log", "record", "event", "os", "base" },
  -- Configuration, image and metastore know no partition's log and no socket.
  metadata = { "event", "os", "base" },
  -- No log, record or metadata: a response's file region is a file descriptor, a position and a length. wire for its
  -- writer, whose buffer and splices become a response.
  network = { "wire", "event", "os", "base" },
  log = { "record", "event", "os", "base" },
  -- Pure functions from bytes to bytes: no files, no threads, no clock.
  record = { "base" },
  wire = { "base" },
  event = { "os", "base" },
  os = { "base" },
  base = {},
}

-- Libraries that only one or two folders know; the others use what these make of them.
local LIBRARIES = {
  ["uv.h"] = { "event", "network", "lua" }, -- network, lua (consoles): uv_poll on sockets
  ["lmdb.h"] = { "metadata" },
  ["jansson.h"] = { "metadata", "controller", "lua" }, -- the JSON of metastore nodes; lua: for Lua code
  ["lua.h"] = { "lua" },
  ["lauxlib.h"] = { "lua" },
  ["lualib.h"] = { "lua" },
  ["luajit.h"] = { "lua", "broker" }, -- broker: the number that `luka version` prints
  ["zlib.h"] = { "record", "log", "base" }, -- log: the CRC-32 of formats 0 and 1, to tell them from damage; base: of keys
  ["lz4.h"] = { "record" },
  ["lz4frame.h"] = { "record" },
  ["snappy-c.h"] = { "record" },
  ["zstd.h"] = { "record" },
  ["re2/re2.h"] = { "coordinator" }, -- by one file of C++
  ["xxhash.h"] = { "coordinator" },
  ["isa-l.h"] = { "base" },
  ["sys/sendfile.h"] = { "os" },
}

local faults = 0

local function fault(where, text, ...)
  faults = faults + 1
  print(("%s: " .. text):format(where, ...))
end

local function set(list)
  local out = {}
  for _, name in ipairs(list) do out[name] = true end
  return out
end

local function check_lists()
  local place = {}
  for index, folder in ipairs(ORDER) do place[folder] = index end
  for folder, below in pairs(ALLOW) do
    for _, name in ipairs(below) do
      if place[name] <= place[folder] then fault("scripts/layers.lua", "%s may include %s, which is not below it", folder, name) end
    end
  end
end

local function check_ours(where, folder, allowed, header)
  local target, name = header:match "^([%w_]+)/(.+)$"
  if not target then
    fault(where, '"%s" is not a folder and a header of core/', header)
  elseif target ~= folder and not allowed[target] then
    fault(where, '%s may not include "%s"; allowed are its own and those of: %s', folder, header, table.concat(ALLOW[folder], " "))
  elseif target ~= folder and name:find "_private%.h$" then
    fault(where, '"%s" is private to core/%s', header, target)
  end
end

local function check_library(where, folder, header)
  local owners = LIBRARIES[header:match "isa%-l" and "isa-l.h" or header]
  if owners and not set(owners)[folder] then
    fault(where, "<%s> is used in %s only", header, table.concat(owners, " and "))
  end
end

local function check_file(path)
  local folder = path:match "^core/([%w_]+)/[^/]+$"
  if not folder then return end
  if not ALLOW[folder] then return fault(path, "core/%s is in no list of scripts/layers.lua", folder) end
  local allowed, number = set(ALLOW[folder]), 0
  for line in io.lines(path) do
    number = number + 1
    local where = path .. ":" .. number
    local ours, library = line:match '^%s*#%s*include%s+"([^"]+)"', line:match "^%s*#%s*include%s+<([^>]+)>"
    if ours then check_ours(where, folder, allowed, ours) end
    if library then check_library(where, folder, library) end
  end
end

check_lists()
for _, path in ipairs(arg) do check_file(path) end
os.exit(faults == 0 and 0 or 1)
