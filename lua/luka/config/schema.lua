-- SPDX-License-Identifier: Apache-2.0
-- The keys of `broker { ... }` that are Luka's own, the words and keys that come later, and how keys relate to Kafka's
-- names. Kafka's configs themselves are defined, and checked, in core/metadata/.

---@class (exact) luka.ConfigKey
---@field type "integer"|"choice"|"path"|"paths"|"socket"|"listen"|"advertise"
---@field default any  nil: what the text says
---@field min integer?
---@field max integer?  of an integer, or length of a list
---@field unit string?
---@field choices string[]?
---@field in_data string?  the default is this file in the first of data
---@field text string  one sentence for documentation

local M = {}

---@type table<string, luka.ConfigKey>
M.BROKER = {
  id = { type = "integer", min = 0, max = 2147483647, default = 1,
    text = "Id of this broker." },
  listen = { type = "listen", max = 16, default = { "127.0.0.1:9092" },
    text = "Addresses to listen on. Port 0 takes a free one, 0.0.0.0 all interfaces." },
  advertise = { type = "advertise",
    text = "Addresses that clients are told, one for each of listen; by default the same, or the host's name." },
  data = { type = "paths", default = { "luka-data" },
    text = "Log directories, one per disk. Relative to where the broker is started." },
  metadata = { type = "path", in_data = "luka.mdb",
    text = "File of the metastore: topics, configs, producer ids." },
  console = { type = "socket", in_data = "console.sock",
    text = "Unix socket of the console, which only the broker's user can open; false: none." },
  workers = { type = "integer", min = 1, max = 256, text = "Network threads; by default one per core." },
  lua_memory = { type = "integer", min = 16777216, max = 1099511627776, unit = "bytes", default = 67108864,
    text = "Memory that each of the broker's Lua states may use." },
  lua_budget_ms = { type = "integer", min = 1, max = 60000, unit = "ms", default = 50,
    text = "How long one call of a function of yours, such as a hook, may take." },
  log_level = { type = "choice", choices = { "error", "warn", "info", "debug" },
    text = "What the broker logs; by default info." },
  log_dir_reserve_bytes = { type = "integer", min = 0, max = 9007199254740991, unit = "bytes", default = 268435456,
    text = "Free space below which a log directory takes no more writes." },
}

--- Keys that will exist, and say so until they do.
M.BROKER_LATER = { zookeeper = true, inter_broker_listener = true }
M.TOPIC_LATER = { partitioner = true, retention = true, transform = true, jit = true, archive = true, placement = true }

--- Words that will exist; "call" is a function, "table" is indexed.
M.WORDS_LATER = {
  admin = "table", every = "call", hash = "call", hook = "call", log = "table", policy = "table", reject = "call",
  reload = "call", shared = "call",
}

--- Kafka's broker configs that mean the same in different units: the first given wins in Kafka.
M.FAMILIES = {
  { "log.retention.ms", "log.retention.minutes", "log.retention.hours" },
  { "log.roll.ms", "log.roll.hours" },
  { "log.roll.jitter.ms", "log.roll.jitter.hours" },
}

--- Keys that others use for what `listen` and `data` are here.
M.BROKER_OTHERS = {
  address = "listen", bind = "listen", broker_id = "id", data_dir = "data", host = "listen", listener = "listen",
  node_id = "id", port = "listen",
}

--- Keys of `defaults { ... }` and of topics that are not topic configs.
M.DEFAULTS = { partitions = "num.partitions", replication_factor = "default.replication.factor" }
M.TOPIC = {
  partitions = { type = "integer", min = 1, max = 100000, text = "Number of partitions; by default num_partitions." },
  replication_factor = { type = "integer", min = 1, max = 32767,
    text = "Number of replicas; by default default_replication_factor." },
}

--- Kafka's name of a key: "retention_ms" is "retention.ms".
---
---@param key string
---@return string
function M.dotted(key)
  return (key:gsub("_", "."))
end

--- The key of a Kafka name.
---
---@param name string
---@return string
function M.snake(name)
  return (name:gsub("%.", "_"))
end

--- The key of `defaults` and topics that has a broker config's meaning.
---
---@param name string  "log.retention.hours"
---@param topic_broker_names table<string, string>  the broker config that is a topic config's default
---@return string? key  "retention_ms"
function M.topic_key(name, topic_broker_names)
  for key, broker_name in pairs(M.DEFAULTS) do
    if broker_name == name then return key end
  end
  for _, member in ipairs(M.family(name)) do
    for topic_name, broker_name in pairs(topic_broker_names) do
      if broker_name == member then return M.snake(topic_name) end
    end
  end
  return nil
end

--- The other names of a config's family, itself included.
---
---@param name string
---@return string[]
function M.family(name)
  for _, names in ipairs(M.FAMILIES) do
    for _, member in ipairs(names) do
      if member == name then return names end
    end
  end
  return { name }
end

return M
