-- SPDX-License-Identifier: Apache-2.0
-- partitions(), log_dirs(), brokers().
local arguments = require "luka.admin.arguments"
local policies = require "luka.words.policies"
local survey = require "luka.words.survey"
local view = require "luka.view"

local M = {}

---@type luka.Word[]
M.entries = {
  { name = "partitions", group = "topics", type = "fun(part?: string): table[]",
    text = "Partitions of all topics: offsets, size, directory.",
    usage = "partitions([part of a topic's name])", example = "partitions()",
    setup = 'create("clicks", { partitions = 2 })' },
  { name = "log_dirs", group = "broker", type = "fun(): table[]",
    text = "The log directories: state, partitions, free space.",
    usage = "log_dirs()", example = "log_dirs()" },
  { name = "brokers", group = "broker", type = "fun(): table[]",
    text = "The brokers, and which one is the controller.",
    usage = "brokers()",
    about = "policies is a hash of the functions that the broker has from its config.lua, where there are any: brokers "
      .. "whose hashes differ do different things with records.",
    example = "brokers()" },
}

local PARTITIONS = { "topic", "partition", "leader", "replicas", "isr", "first_offset", "next_offset", "size_bytes",
  "log_dir" }
local LOG_DIRS = { "path", "state", "partitions", "size_bytes", "free_bytes", "volume_bytes", "moving" }
local BROKERS = { "id", "host", "port", "rack", "is_controller", "policies" }

---@param context luka.Words.Context
---@return table<string, any> words
function M.new(context)
  local words = {}

  function words.partitions(part)
    if part ~= nil and type(part) ~= "string" then
      arguments.refuse("partitions", part, 'a part of a topic\'s name: "clicks"')
    end
    return view.list(survey.partitions(context, survey.topics(context, part)), PARTITIONS)
  end

  function words.log_dirs()
    local rows = {}
    for i, dir in ipairs(context.admin.describe_log_dirs()) do
      local count, moving, size_bytes = 0, 0, 0
      for _, part in ipairs(dir.partitions) do
        if part.is_future then moving = moving + 1 else count = count + 1 end
        size_bytes = size_bytes + part.size_bytes
      end
      rows[i] = { path = dir.path, state = dir.error and "offline" or "online", partitions = count, moving = moving,
        size_bytes = size_bytes, free_bytes = dir.usable_bytes, volume_bytes = dir.total_bytes }
    end
    return view.list(rows, LOG_DIRS)
  end

  function words.brokers()
    local cluster = context.admin.describe_cluster()
    for _, broker in ipairs(cluster.brokers) do broker.is_controller = broker.id == cluster.controller end
    local _, hash = policies.rows(context)
    for _, broker in ipairs(cluster.brokers) do
      if context.about and broker.id == context.about.broker then broker.policies = hash end
    end
    return view.list(cluster.brokers, view.used(cluster.brokers, BROKERS, { policies = true }))
  end

  return words
end

return M
