-- SPDX-License-Identifier: Apache-2.0
-- Where Apache Kafka's tools may say something else on Luka than on Apache Kafka, and why: the reasons are those of
-- docs/kafka-differences.md. spec/functional/kafka_tools_spec.lua allows nothing else.
local M = {}

--- What is replaced in all that they say on Kafka: a pattern, what stands for it, and the reason.
---@type { pattern: string, replacement: string, reason: string }[]
M.RULES = {
  { pattern = "(Configs: )min%.insync%.replicas=1,?", replacement = "%1",
    reason = "a new cluster of Kafka's writes a min.insync.replicas of its own into its metadata, Luka does not" },
  { pattern = "\n>   min%.insync%.replicas=1 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:min%.insync%.replicas=1}",
    replacement = "", reason = "as above" },
  { pattern = "{DYNAMIC_DEFAULT_BROKER_CONFIG:min%.insync%.replicas=1, ", replacement = "{", reason = "as above" },
}

local FEATURES = "Kafka's features are about its own metadata log"

--- Steps that may differ, by file of steps.
---@type table<string, table<string, string>>
M.STEPS = {
  topics = {
    ["describe what has overrides"] = "Kafka counts the min.insync.replicas that every new cluster has",
  },
  configs = {
    ["broker, all"] = "Luka shows the configs that have a meaning here, and its own",
    ["loggers"] = "Luka has one logger, root; Kafka is started with warnings only",
    ["alter a logger to no level"] = "Luka's log has no levels TRACE and FATAL",
  },
  cluster = {
    ["features"] = FEATURES,
    ["upgrade a feature"] = FEATURES,
    ["the quorum"] = "Luka's controller has no listener of its own",
  },
  records = {},
  groups = {},
  members = {},
}

--- What Kafka's transcript would be of a Luka.
---
---@param text string
---@return string
function M.expected(text)
  for _, rule in ipairs(M.RULES) do text = text:gsub(rule.pattern, rule.replacement) end
  return (text:gsub("[ \t]+\n", "\n"))
end

return M
