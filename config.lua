-- SPDX-License-Identifier: Apache-2.0
--
-- An example configuration, and what `make run` starts. It is a Lua program: variables, loops, functions and
-- `require "name"` of files next to it work; files, programs and the network are out of its reach.
-- `luka help KEY` explains a key, `luka check config.lua` shows what would be applied, `luka reload` has a running broker
-- read it again, and `luka serve --set key=value` wins over what is said here.

broker {
  id = 1,
  listen = { "127.0.0.1:9092" }, -- 0.0.0.0:9092 for all interfaces
  -- advertise = { "kafka.example.com:9092" }, -- what clients are told, when they see this machine under another name
  data = { "data" }, -- log directories, one per disk; relative to where the broker is started
  -- metadata = "data/luka.mdb", -- topics and configs; by default in the first log directory
  -- console = "data/console.sock", -- Unix socket of `luka console`; by default in the first log directory; false: none
  -- workers = 2, -- network threads; by default one per core
  -- log_level = "debug",

  -- Any Kafka broker config that Luka serves, in snake_case. Times are in milliseconds, sizes in bytes; seconds,
  -- minutes, hours and days, KiB, MiB and GiB count them.
  log_retention_check_interval_ms = minutes(5),
  auto_create_topics_enable = true,
}

-- What topics have that do not say otherwise: partitions, replication_factor and any Kafka topic config.
defaults {
  partitions = 1,
  replication_factor = 1, -- this broker is alone
  retention_ms = days(7),
}

-- Topics to have from the start. A block is applied when it is new or has changed: a missing topic is created, one that
-- is there gets the block's configs and further partitions. Nothing is ever taken away: a key or a block that is
-- removed leaves what it set. What clients change later, or delete, stands until the block changes.
topic "clicks" {
  partitions = 6,
  segment_bytes = 128 * MiB,
  compression_type = "producer", -- keep batches as the producers compressed them
}

topic "events" {
  retention_ms = days(1),
  retention_bytes = 1 * GiB, -- of each partition; whichever limit is reached first
  -- luka_producer_type = "sync", -- acknowledge a record when it is on disk, not when the kernel has it
}

-- Functions: what elsewhere takes a plugin or a stream job. They run in the broker for every client, within limits of
-- time and memory; docs/policies.md has them all, docs/recipes/ whole examples.
--
-- topic "orders" {
--   partitions = 6,
--   partitioner = function(record, n) return hash(record.key) % n end,
--   transform = function(record) -- nil drops a record
--     if record.value then return record end
--   end,
-- }
-- view("orders.eu", { from = "orders", where = function(record) return record.headers.region == "eu" end })
-- hook("topic.create", function(request)
--   if not request.name:match "^[a-z]" then reject "names are lower case" end
-- end)
-- every(minutes(5), function() log.info("groups", #admin.groups()) end)

-- To come, and refused with a line that says so until then: the broker keys zookeeper and inter_broker_listener.
