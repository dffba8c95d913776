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

--- Hooks, by name.
---@type luka.HookText[]
M.HOOKS = {
  { name = "broker.down", is_before = false, text = "Another broker has gone." },
  { name = "broker.start", is_before = false, text = "This broker serves." },
  { name = "broker.stop", is_before = false, text = "This broker is about to stop." },
  { name = "broker.up", is_before = false, text = "Another broker has come." },
  { name = "client.authorize", is_before = true, text = "A client wants something that needs a right." },
  { name = "client.connect", is_before = true, text = "A client has connected." },
  { name = "disk.fail", is_before = false, text = "A log directory has failed." },
  { name = "group.empty", is_before = false, text = "The last member of a group has left." },
  { name = "group.join", is_before = true, text = "A member wants to join a group." },
  { name = "group.rebalance", is_before = false, text = "A group has got another assignment." },
  { name = "isr.change", is_before = false, text = "The in-sync replicas of a partition have changed." },
  { name = "leader.change", is_before = false, text = "A partition has another leader." },
  { name = "log.delete", is_before = false, text = "A segment has been deleted." },
  { name = "log.roll", is_before = false, text = "A log has begun a new segment." },
  { name = "partitions.create", is_before = true, text = "A topic is to get more partitions." },
  { name = "reload", is_before = false, text = "The configuration has been read again." },
  { name = "topic.config", is_before = true, text = "A topic's configs are to be changed." },
  { name = "topic.create", is_before = true, text = "A topic is to be created." },
  { name = "topic.delete", is_before = true, text = "A topic is to be deleted." },
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
