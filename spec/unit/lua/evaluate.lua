-- SPDX-License-Identifier: Apache-2.0
-- Evaluates configurations through core/lua/config.c, for specs.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("lua/config.h", "base/mem.h", "base/error.h", "policy/policy.h")

local M = { folder = unit.temp_dir() }

local function texts(list, count)
  local out = {}
  for i = 0, count - 1 do out[#out + 1] = ffi.string(list[i]) end
  return out
end

local function optional(text)
  if text == nil then return nil end
  return ffi.string(text)
end

local function topic_of(topic)
  local configs = {}
  for i = 0, topic.config_count - 1 do
    configs[ffi.string(topic.configs[i].name)] = ffi.string(topic.configs[i].value)
  end
  return {
    name = ffi.string(topic.name), partitions = topic.partitions, replication_factor = topic.replication_factor,
    configs = configs, text = ffi.string(topic.text), line = topic.line,
  }
end

local function place(policy)
  return ("%s:%d"):format(ffi.string(policy.source):match "[^/]*$", policy.line)
end

--- What a set of policies says; policies as "kind name", by number from 1.
local function policies_of(set)
  if set == nil then return nil end
  local out = {
    list = {}, places = {}, compiled = {}, topics = {}, named = {}, views = {}, sources = {}, hash = set.hash,
    generation = tonumber(set.generation), is_unsafe = set.is_unsafe, memory_bytes = tonumber(set.memory_bytes),
    budget_ms = set.budget_ms, texts = {},
  }
  local function number(policy) return policy ~= nil and policy.index + 1 or nil end
  for i = 0, set.policy_count - 1 do
    local policy = set.policies[i]
    assert(policy.index == i and policy.builtin == -1 and policy.counters ~= nil)
    out.list[i + 1] = ffi.string(C.policy_kind_name(policy.kind)) .. " " .. ffi.string(policy.name)
    out.places[i + 1], out.compiled[i + 1], out.texts[i + 1] = place(policy), policy.is_compiled, policy.text_hash
  end
  for i = 0, set.topic_count - 1 do
    local topic = set.topics[i]
    out.topics[i + 1] = {
      name = ffi.string(topic.name), partitioner = number(topic.partitioner), transform = number(topic.transform),
      transform_fetch = number(topic.transform_fetch), retention = number(topic.retention), archive = number(topic.archive),
    }
  end
  for i = 0, set.named_count - 1 do out.named[i + 1] = { ffi.string(set.named[i].name), number(set.named[i].policy) } end
  for i = 0, set.view_count - 1 do
    local view = set.views[i]
    out.views[i + 1] = { name = ffi.string(view.name), from = ffi.string(view.from), where = number(view.where) }
  end
  for i = 0, set.source_count - 1 do
    local source = set.sources[i]
    out.sources[i + 1] = { path = ffi.string(source.path), text = ffi.string(source.text, source.size) }
  end
  out.placement = number(set.placement)
  return out
end

--- Copies what specs look at.
local function result_of(config)
  local result = {
    id = config.id, workers = config.workers, lua_threads = config.lua_threads,
    metadata = optional(config.metadata), console = optional(config.console),
    lua_memory_bytes = tonumber(config.lua_memory_bytes), lua_budget_ms = config.lua_budget_ms, is_id_set = config.is_id_set,
    log_level = config.log_level,
    listen = texts(config.listen, config.listen_count), data = texts(config.data, config.data_count),
    advertise = texts(config.advertise, config.advertise_count),
    log_dir_reserve_bytes = tonumber(config.log_dir_reserve_bytes),
    retention_ms = tonumber(config.broker.topic.values.retention_ms),
    retention_bytes = config.broker.topic.values.retention_bytes,
    segment_bytes = config.broker.topic.values.segment_bytes,
    num_partitions = config.broker.num_partitions,
    default_replication_factor = config.broker.default_replication_factor,
    cleanup_policy = config.broker.topic.values.cleanup_policy,
    luka_producer_type = config.broker.topic.values.luka_producer_type,
    luka_validate = config.broker.topic.values.luka_validate,
    warnings = texts(config.warnings, config.warning_count),
    topics = {}, policies = policies_of(config.policies), is_unsafe = config.is_unsafe,
  }
  for i = 0, config.topic_count - 1 do result.topics[i + 1] = topic_of(config.topics[i]) end
  return result
end

--- Evaluates a file.
---
---@param path string?
---@param sets string[]?  "key=value"
---@param is_debug boolean?
---@return table? result
---@return string? message
---@return string? trace
function M.file(path, sets, is_debug)
  sets = sets or {}
  local overrides = ffi.new("struct config_override[?]", #sets + 1)
  local anchor = {}
  for i, set in ipairs(sets) do
    local key, value = set:match "^(.-)=(.*)$"
    anchor[#anchor + 1], anchor[#anchor + 2] = key, value
    overrides[i - 1].key, overrides[i - 1].value = key, value
  end
  local config, failure = ffi.new "struct lua_config", ffi.new "struct lua_config_error"
  local status = C.lua_config_load(path, overrides, #sets, is_debug or false, config, failure)
  assert(#anchor == 2 * #sets) -- the overrides borrow these texts
  if status == 0 then
    local result = result_of(config)
    C.lua_config_destroy(config)
    return result
  end
  assert(status == C.ERR_CONFIG)
  local trace = optional(failure.trace)
  C.mem_free(failure.trace)
  return nil, ffi.string(failure.message), trace
end

--- Evaluates a text as config.lua; its folder is taken off messages.
---
---@param text string
---@param sets string[]?
---@param is_debug boolean?
function M.text(text, sets, is_debug)
  local path = M.folder .. "/config.lua"
  unit.write_file(path, text)
  local result, message, trace = M.file(path, sets, is_debug)
  local function clean(line) return line and line:gsub(M.folder:gsub("%p", "%%%0") .. "/", "") end
  return result, (clean(message)), (clean(trace))
end

--- Writes a file next to config.lua.
function M.write(name, text)
  local folder = name:match "^(.*)/"
  if folder then os.execute(("mkdir -p '%s/%s'"):format(M.folder, folder)) end
  unit.write_file(M.folder .. "/" .. name, text)
end

return M
