-- SPDX-License-Identifier: Apache-2.0
-- What policies are called: their kinds, the hooks there are, and the order in which those of one block are numbered.
-- The checking evaluation (luka.config) and all others (luka.policy.load) have to agree on it.
local M = {}

--- Kinds in the order of enum policy_kind (core/policy/policy.h).
M.KINDS = {
  "partitioner", "transform", "transform_fetch", "where", "retention", "archive", "placement", "hook", "timer", "request",
}

--- Keys of a topic that are functions, as they are numbered.
M.TOPIC_KEYS = { "partitioner", "transform", "transform_fetch", "retention", "archive" }

--- Those of them that `jit = true` is about.
M.COMPILED_KEYS = { partitioner = true, transform = true, transform_fetch = true }

---@class (exact) luka.HookText
---@field name string
---@field is_before boolean  asked before it happens, and may reject it; otherwise told afterwards
---@field text string
---@field fields string  of what the function gets; those with * may be changed

--- Hooks, by name.
---@type luka.HookText[]
M.HOOKS = {
  { name = "broker.down", is_before = false, text = "Another broker has gone.",
    fields = "broker" },
  { name = "broker.start", is_before = false, text = "This broker serves.",
    fields = "broker, cluster" },
  { name = "broker.stop", is_before = false, text = "This broker is about to stop.",
    fields = "broker" },
  { name = "broker.up", is_before = false, text = "Another broker has come.",
    fields = "broker" },
  { name = "client.authorize", is_before = true, text = "A client wants something that needs a right.",
    fields = "operation, resource, name, api, client_id, principal, address" },
  { name = "client.connect", is_before = true, text = "A client has connected.",
    fields = "address, listener, port" },
  { name = "disk.fail", is_before = false, text = "A log directory has failed.",
    fields = "path, error" },
  { name = "group.empty", is_before = false, text = "The last member of a group has left.",
    fields = "group, type, generation, members" },
  { name = "group.join", is_before = true, text = "A member wants to join a group.",
    fields = "group, type, member, instance, session_timeout_ms*, rebalance_timeout_ms*, client_id, principal, address" },
  { name = "group.rebalance", is_before = false, text = "A group has got another assignment.",
    fields = "group, type, generation, members" },
  { name = "isr.change", is_before = false, text = "The in-sync replicas of a partition have changed.",
    fields = "topic, partition, isr, before" },
  { name = "leader.change", is_before = false, text = "A partition has another leader.",
    fields = "topic, partition, leader, epoch, before" },
  { name = "log.delete", is_before = false, text = "A segment has been deleted.",
    fields = "topic, partition, base_offset, size" },
  { name = "log.roll", is_before = false, text = "A log has begun a new segment.",
    fields = "topic, partition, base_offset" },
  { name = "partitions.create", is_before = true, text = "A topic is to get more partitions.",
    fields = "name, partitions*, before, validate_only, client_id, principal, address" },
  { name = "reload", is_before = false, text = "The configuration has been read again.",
    fields = "file" },
  { name = "topic.config", is_before = true, text = "A topic's configs are to be changed.",
    fields = "name, configs*, others, incremental, validate_only, client_id, principal, address" },
  { name = "topic.create", is_before = true, text = "A topic is to be created.",
    fields = "name, partitions*, replication_factor*, configs*, validate_only, auto, client_id, principal, address" },
  { name = "topic.delete", is_before = true, text = "A topic is to be deleted.",
    fields = "name, partitions, client_id, principal, address" },
}

--- Shortest and longest time of a timer, ms.
M.TIMER_MIN_MS, M.TIMER_MAX_MS = 10, 366 * 24 * 3600 * 1000

--- What a timer is called.
---
---@param word "every"|"after"
---@param ms number
---@return string
function M.timer(word, ms) return ("%s %.0f ms"):format(word, ms) end

return M
