-- SPDX-License-Identifier: Apache-2.0
-- The configuration language: its words, the keys of each block, and what may stand there. Kafka's configs come from
-- core/metadata/ by way of luka.config.kafka; the rest is here. Errors, docs/config.md, types/luka.lua and `luka help
-- KEY` are all made from this.
local kafka = require "luka.config.kafka"

---@class (exact) luka.ConfigKey
---@field type "integer"|"boolean"|"choice"|"path"|"paths"|"socket"|"listen"|"advertise"|"function"|"partitioner"
---@field default any
---@field default_text string?  what holds when there is no default
---@field in_data string?  the default is this file in the first of data
---@field min integer?
---@field max integer?  of an integer, or length of a list
---@field unit "ms"|"bytes"|nil
---@field choices string[]?
---@field reload boolean?  a new value takes effect at a reload; otherwise at the next start (Kafka's configs:
---                          broker_config_is_reloadable() of core/metadata/broker_config.h)
---@field example string  Lua source
---@field number_key string?  of a function: the key that somebody means who gives a number
---@field lua_type string?  of a function, for the Lua language server
---@field text string  one sentence for documentation

local M = {}

--- Most topics of one configuration. More than that are no configuration but data, and what evaluates it has limits.
M.TOPICS_MAX = 5000
--- Most keys of one block; far more than there are.
M.KEYS_MAX = 1000

--- The keys of `broker { ... }` that are Luka's own.
---@type table<string, luka.ConfigKey>
M.BROKER = {
  id = { type = "integer", min = 0, max = 2147483647, default = 1, example = "1",
    text = "Id of this broker." },
  listen = { type = "listen", max = 16, default = { "127.0.0.1:9092" }, example = '{ "0.0.0.0:9092" }',
    text = "Addresses to listen on; port 0 takes a free one, 0.0.0.0 all interfaces." },
  advertise = { type = "advertise", default_text = "as listen, or the host's name for 0.0.0.0",
    example = '{ "kafka.example.com:9092" }', text = "Addresses that clients are told, one for each of listen." },
  data = { type = "paths", default = { "luka-data" }, example = '{ "/disk1/luka", "/disk2/luka" }',
    text = "Log directories, one per disk; relative to where the broker is started." },
  metadata = { type = "path", in_data = "luka.mdb", example = '"data/luka.mdb"',
    text = "File of the metastore: topics, configs, producer ids." },
  console = { type = "socket", in_data = "console.sock", example = '"/run/luka/console.sock"',
    text = "Unix socket of the console, which only the broker's user can open; false: none." },
  workers = { type = "integer", min = 1, max = 256, default_text = "one per core", example = "2",
    text = "Network threads." },
  lua_threads = { type = "integer", min = 1, max = 256, default_text = "as workers, leaving a core",
    example = "4", text = "Threads that run functions on records. With a core that is none of theirs, functions that take "
      .. "long hold up nobody else's requests." },
  lua_memory = { type = "integer", min = 16777216, max = 1099511627776, unit = "bytes", default = 67108864,
    reload = true, example = "64 * MiB", text = "Memory that each of the broker's Lua states may use." },
  lua_budget_ms = { type = "integer", min = 1, max = 60000, unit = "ms", default = 50, reload = true, example = "50",
    text = "How long one call of a function of yours, such as a hook, may take." },
  lua_shared_memory = { type = "integer", min = 4194304, max = 1099511627776, unit = "bytes", default = 67108864,
    reload = true, example = "256 * MiB", text = "Memory of all shared dictionaries together; what was not used for the "
      .. "longest time goes when it is full." },
  log_level = { type = "choice", choices = { "error", "warn", "info", "debug" }, default_text = '"info"',
    reload = true, example = '"debug"', text = "What the broker logs; --log-level wins over it." },
  log_dir_reserve_bytes = { type = "integer", min = 0, max = 9007199254740991, unit = "bytes", default = 268435456,
    reload = true, example = "1 * GiB", text = "Free space below which a log directory takes no more writes." },
  unsafe = { type = "boolean", default = false, reload = true, example = "true",
    text = "Gives the functions of the file os.execute, os.remove, os.rename, os.tmpname, io and ffi, which no limit holds." },
}

--- Keys that will exist, and say so until they do.
M.BROKER_LATER = { zookeeper = true, inter_broker_listener = true }

--- Keys that others use for what `listen` and `data` are here.
M.BROKER_OTHERS = {
  address = "listen", bind = "listen", broker_id = "id", data_dir = "data", host = "listen", listener = "listen",
  node_id = "id", port = "listen",
}

--- Keys of `defaults { ... }` and of topics that are not topic configs: the broker config of that meaning.
M.DEFAULTS = { partitions = "num.partitions", replication_factor = "default.replication.factor" }
---@type table<string, luka.ConfigKey>
M.TOPIC = {
  partitions = { type = "integer", min = 1, max = 100000, default_text = "num_partitions", example = "6",
    text = "Number of partitions; it can grow, not shrink." },
  replication_factor = { type = "integer", min = 1, max = 32767, default_text = "default_replication_factor",
    example = "1", text = "Number of replicas of each partition." },
  partitioner = { type = "partitioner", default_text = "the client's choice",
    lua_type = "string|fun(record: luka.Record, partitions: integer): integer",
    example = "function(record, n) return hash(record.key) % n end",
    text = "Chooses the partition, from 0, of each record that is produced. A name is that of one given to "
      .. "policy.partitioner or of a built-in one, the same as luka_partitioner." },
  transform = { type = "function", default_text = "none", lua_type = "fun(record: luka.Record): luka.Records",
    example = "function(record) if record.value then return record end end",
    text = "Gets each record that is produced; what it returns is stored: nothing, a record, or a list of them." },
  transform_fetch = { type = "function", default_text = "none",
    lua_type = "fun(record: luka.Record, client: luka.Client): luka.Records", example = "function(record, client) return record end",
    text = "Gets each record that is fetched; what it returns is sent: nothing, a record, or a list of them. What is stored "
      .. "stays." },
  retention = { type = "function", default_text = "retention_ms and retention_bytes",
    lua_type = "fun(segment: luka.Segment): boolean",
    example = "function(segment) return segment.age > hours(24) end", number_key = "retention_ms",
    text = "Whether a segment is to be deleted, asked of the oldest first up to the first that stays; retention_ms and "
      .. "retention_bytes mean nothing then." },
  archive = { type = "function", default_text = "none", lua_type = "fun(segment: luka.Segment): boolean?",
    example = 'function(segment) segment:copy "/archive" end',
    text = "Is told of each segment before it is deleted; when it returns false or fails, the segment stays for now." },
  jit = { type = "boolean", default_text = "false", example = "true",
    text = "Compiles the topic's partitioner, transform and transform_fetch: faster, but nothing stops one that never "
      .. "returns." },
}
--- Keys of `defaults { ... }` that are no configs.
---@type table<string, luka.ConfigKey>
M.DEFAULTS_OWN = {
  placement = { type = "function", default_text = "one broker after another",
    lua_type = "fun(topic: string, partitions: integer, replicas: integer, brokers: integer[]): integer[][]",
    example = "function(topic, partitions, replicas, brokers) return { { brokers[1] } } end",
    text = "Chooses the brokers of new partitions: a list with a list of broker ids for each of them." },
}

--- The blocks, in the order of documentation.
M.BLOCKS = { "broker", "defaults", "topic" }

--- The config of Kafka's behind a key of a block; nil for our own keys and unknown ones.
---
---@param block string
---@param key string
---@return luka.KafkaConfig?
function M.kafka_config(block, key)
  local name = kafka.dotted(key)
  if block == "topic" then return kafka.TOPIC[name] end
  if block == "broker" then return kafka.BROKER[name] end
  local broker_name = M.DEFAULTS[key]
  if broker_name then return kafka.BROKER[broker_name] end
  local def = kafka.TOPIC[name]
  return def and def.default_key and kafka.BROKER[def.broker_name] or nil
end

--- The keys that may stand in a block, sorted.
---
---@param block "broker"|"defaults"|"topic"
---@return string[]
function M.keys(block)
  local keys = {}
  for key in pairs(block == "broker" and M.BROKER or block == "topic" and M.TOPIC or M.DEFAULTS) do keys[#keys + 1] = key end
  for key in pairs(block == "defaults" and M.DEFAULTS_OWN or {}) do keys[#keys + 1] = key end
  for _, def in pairs(block == "broker" and kafka.BROKER or kafka.TOPIC) do
    if def.is_supported and (block ~= "defaults" or def.default_key) then keys[#keys + 1] = def.key end
  end
  table.sort(keys)
  return keys
end

--- The key of `defaults` and topics that has a broker config's meaning.
---
---@param name string  "log.retention.hours"
---@return string? key  "retention_ms"
function M.topic_key(name)
  for key, broker_name in pairs(M.DEFAULTS) do
    if broker_name == name then return key end
  end
  local def = kafka.topic_of(name)
  return def and def.key or nil
end

--- What `luka help KEY` prints about a key, or nil when there is none of that name.
---
---@param key string  "retention_ms", or Kafka's "retention.ms"
---@return string? text  several lines
---@return string? nearest  a key of a similar name
function M.describe(key) return require("luka.config.describe").text(key) end

return M
