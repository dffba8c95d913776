-- SPDX-License-Identifier: Apache-2.0
-- The configuration that run.py asks through clients: views of "source", whose keys are n0 to n99999, and topics with
-- functions on what is produced, whose values end with the number of the record.
broker { workers = 2, auto_create_topics_enable = false, offsets_topic_num_partitions = 4,
  group_min_session_timeout_ms = 1000, group_initial_rebalance_delay_ms = 0 }

local function number(record) return tonumber(record.key:sub(2)) end

topic "source" { partitions = 3 }
view("few", { from = "source", where = function(record) return number(record) % 1000 == 0 end })
view("late", { from = "source", where = function(record) return number(record) >= 99990 and number(record) < 99993 end })
view("all", { from = "source", jit = true, where = function() return true end })
topic "masked" {
  partitions = 3,
  transform_fetch = function(record)
    if number(record) % 1000 ~= 0 then return nil end
    record.value = "masked"
    return record
  end,
}

local function by_crc(record, n) return crc32(record.key) % n end

local function change(record)
  local last = record.value:sub(-1)
  if last == "3" then return nil end
  if last == "7" then
    emit("side", record)
    return nil
  end
  record.headers.seen = tostring(record.partition)
  return record
end

topic "side" { partitions = 4 }
topic "interpreted" { partitions = 4, partitioner = by_crc, transform = change }
topic "compiled" { partitions = 4, jit = true, partitioner = by_crc, transform = change }
topic "reject" { partitions = 4, transform = function(record)
  if record.value:match "%-5$" then reject "no fives here" end
  return record
end }
topic "raise" { partitions = 4, transform = function() error "it broke" end }
topic "choose" { partitions = 4, partitioner = function() error "it broke" end }
topic "loop" { partitions = 4, transform = function() while true do end end }
