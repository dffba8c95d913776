-- SPDX-License-Identifier: Apache-2.0
-- The words that functions of a configuration use, in all states alike: log, now, json, hash, crc32, shared. And those
-- that depend on what a state can do: the one that runs a function replaces them (luka.policy.load), elsewhere they
-- refuse.
local clock = require "luka.native.clock"
local hashes = require "luka.native.hash"
local json = require "luka.native.json"
local library = require "luka.native.library"
local shared = require "luka.native.shared"

local M = {}

--- Largest value that is made JSON of (values in it, bytes of texts, tables in tables), and the longest JSON that is read:
--- it is done inside C, in memory that is not the state's.
M.VALUES_MAX, M.BYTES_MAX, M.DEPTH_MAX = 100000, 1024 * 1024, 100

local function encode(value, indent)
  library.measure(value, M.VALUES_MAX, M.BYTES_MAX, M.DEPTH_MAX)
  clock.poll()
  return json.encode(value, indent)
end

local function decode(text)
  if type(text) == "string" and #text > M.BYTES_MAX then
    return nil, ("the text is too long: at most %d bytes are decoded"):format(M.BYTES_MAX)
  end
  clock.poll()
  return json.decode(text)
end

--- What each word that a state may have or not is for.
M.NEEDS = {
  reject = "is for functions that are asked about a record or a request",
  emit = "is for transforms: transform = function(record) emit(\"other\", record) end",
  admin = "is for hooks and timers: every(minutes(5), function() ... end)",
  produce = "is for hooks and timers: hook(\"topic.create\", function(request) ... end)",
  reload = "is a word of the console, and a verb: luka reload",
  trace = "is a word of the console",
}

--- Longest line of a log, bytes.
local LINE_MAX = 8192

--- A record, which is userdata or cdata, as a table to show.
local function fields_of(record)
  local headers = {}
  for i = 1, #record.headers do
    local header = record.headers[i]
    headers[i] = { key = header.key, value = header.value }
  end
  return {
    key = record.key, value = record.value, headers = json.array(headers), timestamp = record.timestamp,
    topic = record.topic, partition = record.partition, offset = record.offset,
  }
end

--- Whether a table says itself how it is shown, as errors of admin do.
local function has_text(value)
  local meta = debug.getmetatable(value)
  return type(meta) == "table" and rawget(meta, "__tostring") ~= nil
end

--- One value of a line: tables and records as JSON, what cannot be that as Lua shows it.
---
---@param value any
---@return string
function M.shown(value)
  local kind = type(value)
  local is_record = (kind == "userdata" or kind == "cdata") and tostring(value) == "record"
  if is_record or kind == "table" and not has_text(value) then
    local ok, text = pcall(function() return encode(is_record and fields_of(value) or value) end)
    if ok and text then return text end
  end
  return tostring(value)
end

--- Makes the functions of `log`.
---
---@param write fun(level: string, text: string)
---@return table<string, function>
local function log_words(write)
  local words = {}
  for _, level in ipairs { "error", "warn", "info", "debug" } do
    words[level] = function(...)
      local parts = {}
      for i = 1, select("#", ...) do parts[i] = M.shown((select(i, ...))) end
      write(level, table.concat(parts, " "):sub(1, LINE_MAX))
    end
  end
  return words
end

--- print: a line at level info.
---
---@param write fun(level: string, text: string)
---@return fun(...: any)
function M.printer(write)
  return function(...)
    local parts = {}
    for i = 1, select("#", ...) do parts[i] = M.shown((select(i, ...))) end
    write("info", table.concat(parts, " "):sub(1, LINE_MAX))
  end
end

local function read_only(values, name)
  return setmetatable({}, {
    __index = values,
    __newindex = function(_, key) error(("%s is read-only: cannot set %s"):format(name, tostring(key)), 2) end,
    __metatable = false,
  })
end

--- A word that is out of place: a function, and a table whose fields may be asked for.
local function refusing(refuse, word)
  local function fail() refuse(word, M.NEEDS[word]) end
  if word ~= "admin" then return fail end
  return setmetatable({}, { __index = fail, __newindex = fail, __call = fail, __metatable = false })
end

---@class (exact) luka.WordsContext
---@field log fun(level: "error"|"warn"|"info"|"debug", text: string)
---@field refuse fun(word: string, text: string)  raises, at the place of the call

--- The words.
---
---@param context luka.WordsContext
---@return table<string, any>
function M.base(context)
  local words = {
    log = read_only(log_words(context.log), "log"),
    now = clock.now, hash = hashes.hash, crc32 = hashes.crc32, shared = shared.open,
    json = read_only({ encode = encode, decode = decode, array = json.array, object = json.object,
      null = json.null }, "json"),
  }
  for word in pairs(M.NEEDS) do words[word] = refusing(context.refuse, word) end
  return words
end

return M
