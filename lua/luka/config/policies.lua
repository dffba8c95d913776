-- SPDX-License-Identifier: Apache-2.0
-- The functions of a configuration: which there are, for what, and where they stand. They are numbered in the order in
-- which they are given; every other state that evaluates the same files gives them the same numbers
-- (luka.policy.load), so that C and Lua name one by its number.
local failure = require "luka.config.failure"
local kafka = require "luka.config.kafka"
local names = require "luka.policy.names"
local source = require "luka.config.source"
local suggest = require "luka.config.suggest"
local value_of = require "luka.config.value"

---@class (exact) luka.Policy
---@field kind string  of luka.policy.names.KINDS
---@field name string  topic, view, name of a partitioner, hook, api, or what a timer is called
---@field label string  as it is written in the file: topic "clicks".transform
---@field origin luka.Origin  of the function, where it is known
---@field is_compiled boolean
---@field text string  its source, without comments; "" when it is not known

---@class (exact) luka.ViewSetting
---@field name string
---@field origin luka.Origin
---@field from string
---@field from_origin luka.Origin
---@field from_path string
---@field where integer?  number of its function

---@class luka.Policies
---@field host luka.Host
---@field files luka.Files
---@field list luka.Policy[]
---@field topics table<string, table<string, integer>>  by topic and key the number
---@field named table<string, integer>  partitioners by name
---@field views luka.ViewSetting[]
---@field view_by_name table<string, luka.ViewSetting>  by name with '_' for '.'
---@field placement integer?
local Policies = {}
Policies.__index = Policies

local M = {}

--- Most functions of one configuration; most views.
M.POLICIES_MAX = 10000
M.VIEWS_MAX = 1000
--- Most bytes of all files of a configuration with functions: every state that runs them evaluates all.
M.FILES_MAX_BYTES = 4 * 1024 * 1024
--- Longest name of a partitioner, bytes.
M.NAME_MAX = 249

--- What luka.partitioner says of topics whose clients choose; and what of ours is misspelt.
local NO_PARTITIONER = "none"
local ARGUMENTS = { ["header:"] = "header:NAME", ["range:"] = "range:a,m,t" }
local BUILTIN_PARTITIONERS = { "murmur2", "consistent", "round_robin", "sticky", "header:", "range:" }

---@param host luka.Host
---@param files luka.Files
---@return luka.Policies
function M.new(host, files)
  local self = { host = host, files = files, list = {}, topics = {}, named = {}, views = {}, view_by_name = {} }
  return setmetatable(self, Policies)
end

--- The tokens of the function that begins on the first of some lines and ends on the last: from its `function` to its
--- `end`. Of several the one that is given to `key`; all of them when that does not tell.
local function text_of_function(lines, key)
  local tokens = source.tokens(table.concat(lines, "\n"))
  local kinds, texts = tokens.kinds, tokens.texts
  local found, all = {}, {}
  for i = 1, tokens.count do
    all[i] = texts[i]
    if kinds[i] == "name" and texts[i] == "function" and tokens.lines[i] == 1 then
      local stop = source.end_of_block(tokens, i)
      if stop and tokens.lines[stop] == #lines then
        found[#found + 1] = { first = i, last = stop, is_keys = texts[i - 1] == "=" and texts[i - 2] == key }
      end
    end
  end
  local chosen = found[1]
  for _, span in ipairs(found) do
    if span.is_keys then chosen = span end
  end
  if not chosen or #found > 1 and not chosen.is_keys then return table.concat(all, " ") end
  return table.concat(texts, " ", chosen.first, chosen.last)
end

--- Where a function stands, and its text; the place where it was given when that is not known.
local function place_of(files, fn, origin, key)
  local info = debug.getinfo(fn, "S")
  local path = info.source:match "^@(.*)"
  local file = path and files.by_path[path]
  if not file then return origin, "" end
  local lines, number = {}, 0
  for line in (file.text .. "\n"):gmatch "([^\n]*)\n" do
    number = number + 1
    if number > info.lastlinedefined then break end
    if number >= info.linedefined then lines[#lines + 1] = line end
  end
  return { source = path, line = info.linedefined }, text_of_function(lines, key)
end

--- Takes a function.
---
---@param kind string
---@param name string
---@param fn function
---@param origin luka.Origin  where it was given
---@param path string  as errors name it, and all others
---@param is_compiled boolean?
---@return integer number
function Policies:add(kind, name, fn, origin, path, is_compiled)
  if #self.list >= M.POLICIES_MAX then
    failure.raise(origin, path, "is one too many: a configuration has at most %d functions", M.POLICIES_MAX)
  end
  local place, text = place_of(self.files, fn, origin, path:match "%.([%l_]+)$")
  local policy = {
    kind = kind, name = name, label = kind == "timer" and name or path, origin = place, is_compiled = is_compiled or false,
    text = text,
  }
  self.list[#self.list + 1] = policy
  return #self.list
end

--- Takes the functions of a topic's block, when all of the block has been read.
---
---@param topic luka.TopicSetting
function Policies:add_topic(topic)
  local own, is_compiled = topic.own, topic.own.jit and topic.own.jit.value
  local numbers, may_compile
  for _, key in ipairs(names.TOPIC_KEYS) do
    local setting = own[key]
    if setting and type(setting.value) == "function" then
      local compiles = is_compiled and names.COMPILED_KEYS[key]
      may_compile = may_compile or compiles
      numbers = numbers or {}
      numbers[key] = self:add(key, topic.name, setting.value, setting.origin, setting.path, compiles)
    end
  end
  self.topics[topic.name] = numbers
  if is_compiled and not may_compile then
    failure.raise(own.jit.origin, own.jit.path, "compiles nothing: the topic has no partitioner, transform or "
      .. "transform_fetch that is a function")
  end
end

--- Takes a partitioner that topics choose by its name.
function Policies:add_named(name, fn, origin, is_compiled)
  if type(name) ~= "string" then
    failure.raise(origin, "policy.partitioner", 'got %s, expected a name: policy.partitioner("by_region", function)',
      value_of.show(name))
  end
  local path = ("policy.partitioner %s"):format(value_of.show(name))
  if not name:find "^[%w._-]+$" or #name > M.NAME_MAX then
    failure.raise(origin, path, "a name has 1 to %d letters, digits, '.', '_' and '-'", M.NAME_MAX)
  elseif name == NO_PARTITIONER or self.host.builtin_partitioner(name) then
    failure.raise(origin, path, "is the name of a built-in partitioner")
  elseif self.named[name] then
    failure.raise(origin, path, "given already at %s", failure.where(self.list[self.named[name]].origin))
  elseif type(fn) ~= "function" then
    failure.raise(origin, path, "got %s, expected a function: policy.partitioner(%s, function(record, n) return 0 end)",
      value_of.show(fn), value_of.show(name))
  end
  self.named[name] = self:add("partitioner", name, fn, origin, path, is_compiled)
end

--- Starts a view; its name is checked.
---
---@return luka.ViewSetting view
---@return string path
function Policies:add_view(name, origin)
  if type(name) ~= "string" then
    failure.raise(origin, "view", 'got %s, expected a name: view("orders.eu", { from = "orders" })', value_of.show(name))
  end
  local path = ("view %s"):format(value_of.show(name))
  local wrong = self.host.check_topic_name(name)
  if wrong then failure.raise(origin, path, "%s", wrong) end
  local other = self.view_by_name[kafka.snake(name)]
  if other and other.name == name then
    failure.raise(origin, path, "given already at %s", failure.where(other.origin))
  elseif other then
    failure.raise(origin, path, "collides with view %s at %s: names may not differ in '.' and '_' alone",
      value_of.show(other.name), failure.where(other.origin))
  elseif #self.views >= M.VIEWS_MAX then
    failure.raise(origin, path, "is one too many: a configuration has at most %d views", M.VIEWS_MAX)
  end
  local view = { name = name, origin = origin }
  self.view_by_name[kafka.snake(name)] = view
  self.views[#self.views + 1] = view
  return view, path
end

--- Completes a view with what its table says.
---
---@param view luka.ViewSetting
---@param path string
---@param given table<string, luka.Setting>  from, where, jit
---@param origin luka.Origin
function Policies:set_view(view, path, given, origin)
  local from, where, jit = given.from, given.where, given.jit
  if not from then failure.raise(origin, path, 'has no topic to show: write from = "orders"') end
  local wrong = self.host.check_topic_name(from.value)
  if wrong then failure.raise(from.origin, from.path, "%s", wrong) end
  if jit and jit.value and not where then failure.raise(jit.origin, jit.path, "compiles nothing: the view has no where") end
  view.from, view.from_origin, view.from_path = from.value, from.origin, from.path
  if where then
    view.where = self:add("where", view.name, where.value, where.origin, where.path, jit and jit.value or false)
  end
end

--- What reads from what, when all is given: a view shows a topic, and is none.
function Policies:check_views(topic_by_name)
  for _, view in ipairs(self.views) do
    local path = ("view %s"):format(value_of.show(view.name))
    if not view.from then failure.raise(view.origin, path, 'has no topic to show: write %s { from = "orders" }', path) end
    local topic = topic_by_name[kafka.snake(view.name)]
    if topic and topic.name == view.name then
      failure.raise(view.origin, path, "is a topic already, at %s", failure.where(topic.origin))
    elseif topic then
      failure.raise(view.origin, path, "collides with topic %s at %s: names may not differ in '.' and '_' alone",
        value_of.show(topic.name), failure.where(topic.origin))
    elseif view.from == view.name then
      failure.raise(view.from_origin, view.from_path, "is the view itself, expected a topic")
    elseif self.view_by_name[kafka.snake(view.from)] then
      failure.raise(view.from_origin, view.from_path, "%s is a view, expected a topic", value_of.show(view.from))
    end
  end
end

--- Raises when a topic names a partitioner that is not there.
function Policies:check_partitioner(setting)
  local name = setting.value
  if name == NO_PARTITIONER or self.named[name] then return end
  local is_builtin, wrong = self.host.builtin_partitioner(name)
  if is_builtin then return end
  if wrong then failure.raise(setting.origin, setting.path, "%s", wrong) end
  local known = { NO_PARTITIONER, unpack(BUILTIN_PARTITIONERS) }
  for other in pairs(self.named) do known[#known + 1] = other end
  local nearest = suggest.nearest(name, known)
  failure.raise(setting.origin, setting.path, "there is no partitioner %s%s", value_of.show(name),
    nearest and (", did you mean %s?"):format(value_of.show(ARGUMENTS[nearest] or nearest))
      or "; policy.partitioner(name, function) makes one")
end

local function sorted_by_name(list)
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

--- The tokens of a file outside of `broker { ... }`: brokers that have the same policies differ in their ids and addresses.
local function common_text(text)
  local tokens = source.tokens(text)
  local out, depth, skips = {}, 0, false
  for i = 1, tokens.count do
    local token, is_other = tokens.texts[i], tokens.kinds[i] == "other"
    local before = tokens.texts[i - 1]
    if depth == 0 and is_other and token == "{" and tokens.kinds[i - 1] == "name" and before == "broker" then skips = true end
    if skips and is_other and (token == "{" or token == "}") then depth = depth + (token == "{" and 1 or -1) end
    if not skips then out[#out + 1] = tokens.kinds[i]:sub(1, 1) .. token end
    if skips and depth == 0 then skips = false end
  end
  return table.concat(out, "\0")
end

--- All files as they were read, config.lua first, and a text that is the same where brokers have the same policies.
local function sources_of(files)
  local list, common, size = {}, {}, 0
  for i, path in ipairs(files.order) do
    local text = files.by_path[path].text
    list[i] = { path = path, text = text }
    common[i] = i == 1 and common_text(text) or text
    size = size + #text
  end
  if size > M.FILES_MAX_BYTES then
    failure.raise({ source = files.order[1] }, nil, "has %d bytes with all its modules: one with functions has at most %d",
      size, M.FILES_MAX_BYTES)
  end
  return list, table.concat(common, "\0\0")
end

--- Everything as core/lua/config_policies.c reads it; nil when there is nothing.
---
---@param settings luka.Settings
---@return table?
function Policies:finish(settings)
  self:check_views(settings.topic_by_name)
  for _, topic in ipairs(settings.topics) do
    local chosen = topic.configs["luka.partitioner"]
    if chosen then self:check_partitioner(chosen) end
  end
  if #self.list == 0 and #self.views == 0 then return nil end
  local result = { list = {}, topics = {}, named = {}, views = {}, placement = self.placement, sources = {}, common = "" }
  for i, policy in ipairs(self.list) do
    result.list[i] = {
      kind = policy.kind, name = policy.name, label = policy.label, source = policy.origin.source, line = policy.origin.line or 0,
      is_compiled = policy.is_compiled, text = policy.text,
    }
  end
  for name, numbers in pairs(self.topics) do
    result.topics[#result.topics + 1] = { name = name, numbers = numbers }
  end
  for name, number in pairs(self.named) do result.named[#result.named + 1] = { name = name, number = number } end
  for i, view in ipairs(self.views) do
    result.views[i] = { name = view.name, from = view.from, where = view.where, source = view.origin.source,
      line = view.origin.line or 0 }
  end
  sorted_by_name(result.topics)
  sorted_by_name(result.named)
  sorted_by_name(result.views)
  if #self.list > 0 then result.sources, result.common = sources_of(self.files) end
  return result
end

return M
