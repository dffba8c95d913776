-- SPDX-License-Identifier: Apache-2.0
-- What an unknown key is told: where it belongs, what Luka calls it, or the nearest of those that may stand there.
local failure = require "luka.config.failure"
local kafka = require "luka.config.kafka"
local schema = require "luka.config.schema"
local suggest = require "luka.config.suggest"
local word_texts = require "luka.config.word_texts"

local M = {}

local ELSEWHERE = {
  broker = "belongs in broker { ... }", topic = "belongs in defaults { ... } or in a topic", policy = "belongs in a topic",
  defaults = "belongs in defaults { ... }",
  view = 'belongs in a view: view("name", { from = "topic", where = function })',
}

local function refuse(origin, path, key, block, hint)
  local word = word_texts.find(key)
  if word then failure.raise(origin, path, "is a word by itself, outside of the braces: %s", word_texts.usage(word, key)) end
  local nearest = suggest.nearest(key, schema.keys(block))
  if nearest then failure.raise(origin, path, "unknown key, did you mean %s?", nearest) end
  failure.raise(origin, path, "%s", hint or "unknown key")
end

--- Whether a key is one of a topic's functions, which have no default.
local function is_policy_key(key) return schema.TOPIC[key] and not schema.DEFAULTS[key] end

local function is_broker_key(key)
  return schema.BROKER[key] or kafka.BROKER[kafka.dotted(key)] and kafka.BROKER[kafka.dotted(key)].is_supported
end

--- The broker config that is a topic key's default, as a key.
local function broker_key(key)
  if schema.DEFAULTS[key] then return kafka.snake(schema.DEFAULTS[key]) end
  local def = kafka.TOPIC[kafka.dotted(key)]
  return def and def.default_key
end

--- For a broker config of Kafka's that does not serve here.
local function refuse_foreign(name, origin, path)
  local instead = kafka.FOREIGN[name]
  if instead then failure.raise(origin, path, "is set by %s here", instead) end
  local def = kafka.BROKER[name]
  if instead == false or def and not def.is_supported then
    failure.raise(origin, path, "is Kafka's, and not supported yet")
  end
end

--- A topic key given to --set, which sets broker keys.
local function refuse_topic_key_of_set(key, origin, path)
  local other = broker_key(key)
  if other then failure.raise(origin, path, "unknown key, did you mean %s?", other) end
  failure.raise(origin, path, 'is a topic config: write it in config.lua, topic "..." { %s = ... }', key)
end

--- The topic key that a key is nearer to than to any of the broker's.
local function nearer_topic_key(key)
  local _, distance = suggest.nearest(key, schema.keys "broker")
  local topic_key, topic_distance = suggest.nearest(key, schema.keys "topic")
  return topic_key and topic_distance < (distance or math.huge) and topic_key or nil
end

--- Raises the error for a key that `broker { ... }` does not have.
---
---@param key string
---@param origin luka.Origin
---@param path string
function M.broker(key, origin, path)
  local is_set = origin.source == "--set"
  refuse_foreign(kafka.dotted(key), origin, path)
  if not is_set and is_policy_key(key) then failure.raise(origin, path, "%s", ELSEWHERE.policy) end
  if not is_set and schema.DEFAULTS_OWN[key] then failure.raise(origin, path, "%s", ELSEWHERE.defaults) end
  if schema.TOPIC[key] or kafka.TOPIC[kafka.dotted(key)] then
    if is_set then refuse_topic_key_of_set(key, origin, path) end
    failure.raise(origin, path, "%s", ELSEWHERE.topic)
  end
  if schema.BROKER_OTHERS[key] then failure.raise(origin, path, "unknown key, use %s", schema.BROKER_OTHERS[key]) end
  local topic_key = nearer_topic_key(key)
  if topic_key and not is_set then
    failure.raise(origin, path, "unknown key, did you mean %s in defaults { ... } or in a topic?", topic_key)
  elseif topic_key and broker_key(topic_key) then
    failure.raise(origin, path, "unknown key, did you mean %s?", broker_key(topic_key))
  end
  refuse(origin, path, key, "broker")
end

--- Raises the error for a key that `defaults { ... }` does not have.
function M.default(key, origin, path)
  local name = kafka.dotted(key)
  if is_policy_key(key) then failure.raise(origin, path, "%s", ELSEWHERE.policy) end
  local topic_key = schema.topic_key(name)
  if topic_key and topic_key ~= key then failure.raise(origin, path, "unknown key, write %s", topic_key) end
  local def = kafka.TOPIC[name]
  if def and def.broker_name then failure.raise(origin, path, "is not supported yet") end
  if def then failure.raise(origin, path, "has no default for all topics; set it in a topic") end
  refuse(origin, path, key, "defaults", is_broker_key(key) and ELSEWHERE.broker)
end

--- Raises the error for a key that a topic does not have.
function M.topic(key, origin, path)
  local topic_key = schema.topic_key(kafka.dotted(key))
  if topic_key then failure.raise(origin, path, "unknown key, write %s", topic_key) end
  if schema.DEFAULTS_OWN[key] then failure.raise(origin, path, "%s", ELSEWHERE.defaults) end
  if key == "where" or key == "from" then failure.raise(origin, path, "%s", ELSEWHERE.view) end
  refuse(origin, path, key, "topic", is_broker_key(key) and ELSEWHERE.broker)
end

return M
