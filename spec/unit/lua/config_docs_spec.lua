-- SPDX-License-Identifier: Apache-2.0
-- docs/config.md and types/luka.lua against what a configuration takes. That both are what `make docs` would write is
-- checked in spec/unit/docs_spec.lua.
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
local ffi = require "ffi"
local evaluate = require "spec.unit.lua.evaluate"
local unit = require "spec.support.unit"
local names = require "luka.policy.names"
local units = require "luka.units"
local word_texts = require "luka.config.word_texts"
local C = unit.load("metadata/broker_config.h")

local BLOCKS = { "broker", "defaults", "topic" }
local OPEN = { broker = "broker {", defaults = "defaults {", topic = 'topic "a" {' }

--- The rows of a block's table in docs/config.md: key and example by key.
local function documented()
  local blocks, block = {}, nil
  for line in (unit.read_file "docs/config.md"):gmatch "[^\n]+" do
    local word = line:match "^## Keys of `(%l+)"
    if word then block, blocks[word] = word, {} end
    local row = line:gsub("\\|", "\0")
    local key, example = row:match "^| `([%l%d_]+)` |.*| `([^`]*)` | [%l, ]+ |$"
    if block and key then blocks[block][key] = example:gsub("%z", "|") end
  end
  return blocks
end

--- The fields of the classes in types/luka.lua: key to type.
local function typed()
  local classes, class = {}, nil
  for line in (unit.read_file "types/luka.lua"):gmatch "[^\n]+" do
    local name = line:match "^%-%-%-@class %(exact%) luka%.(%a+)"
    if name then class, classes[name] = name, {} end
    local key, kind = line:match "^%-%-%-@field ([%l%d_]+)%? (.-)  "
    if key then classes[class][key] = kind end
  end
  return { broker = classes.BrokerConfig, defaults = classes.Defaults, topic = classes.TopicConfig }
end

local function keys(map)
  local list = {}
  for key in pairs(map) do list[#list + 1] = key end
  table.sort(list)
  return list
end

local docs, types = documented(), typed()

describe("docs/config.md", function()
  for _, block in ipairs(BLOCKS) do
    it("has an example for each key of " .. block .. " that is right", function()
      assert.is_true(#keys(docs[block]) > 25)
      for key, example in pairs(docs[block]) do
        local text = ("%s %s = %s }"):format(OPEN[block], key, example)
        if key == "advertise" then text = text:gsub("{ ", '{ listen = "0.0.0.0:9092", ', 1) end
        if key == "jit" then text = text:gsub("{ ", "{ transform = print, ", 1) end
        local config, message = evaluate.text(text)
        assert(config, message)
      end
    end)
  end

  it("has all of Kafka's configs that are served", function()
    for i = 0, C.BROKER_CONFIG_COUNT - 1 do
      local key = ffi.string(C.broker_config_defs()[i].name):gsub("%.", "_")
      assert.equal(C.broker_config_is_supported(i), docs.broker[key] ~= nil, key)
    end
    for i = 0, C.TOPIC_CONFIG_COUNT - 1 do
      local key = ffi.string(C.topic_config_defs()[i].name):gsub("%.", "_")
      assert.is_string(docs.topic[key], key)
    end
  end)

  it("has an example configuration that is right", function()
    local example = unit.read_file("docs/config.md"):match "```lua\n(.-)```"
    local config, message = evaluate.text(example)
    assert(config, message)
    assert.equal("clicks", config.topics[1].name)
  end)

  it("quotes errors as they are", function()
    local text = unit.read_file "docs/config.md"
    for _, source in ipairs { "\n\nbroker { wokers = 1 }", ("\n"):rep(6) .. "topic 'clicks' { retention_ms = '7d' }" } do
      local _, message = evaluate.text(source)
      assert.truthy(text:find("\n    " .. message .. "\n", 1, true), message)
    end
  end)
end)

describe("docs/policies.md", function()
  local text = unit.read_file "docs/policies.md"

  it("has examples that are right", function()
    local count = 0
    for example in text:gmatch "```lua\n(.-)```" do
      local config, message = evaluate.text(example)
      assert(config, message)
      count = count + 1
    end
    assert.equal(5, count)
  end)

  it("names all hooks and all words", function()
    for _, hook in ipairs(names.HOOKS) do assert.truthy(text:find(("`%s`"):format(hook.name), 1, true), hook.name) end
    for _, key in ipairs(names.TOPIC_KEYS) do assert.truthy(text:find(key, 1, true), key) end
    for _, word in ipairs { "policy.partitioner", "view(", "hook(", "every(", "after(", "on.request(", "shared ", "emit(", "reject " } do
      assert.truthy(text:find(word, 1, true), word)
    end
  end)
end)

describe("types/luka.lua", function()
  it("has the keys that docs/config.md has", function()
    for _, block in ipairs(BLOCKS) do assert.same(keys(docs[block]), keys(types[block])) end
  end)

  it("has a type for each key that its example is of", function()
    local NAMES = { integer = "number", number = "number", boolean = "boolean", string = "string" }
    for _, block in ipairs(BLOCKS) do
      for key, kind in pairs(types[block]) do
        local value = setfenv(assert(load("return " .. docs[block][key])), units)()
        if type(value) == "table" then
          assert.truthy(kind:find("[]", 1, true), key)
        elseif type(value) == "function" then
          assert.truthy(kind:find("fun(", 1, true), key)
        elseif kind:find '^"' then
          assert.truthy(kind:find(('"%s"'):format(value), 1, true), key)
        else
          assert.equal(NAMES[kind:match "^%a+"], type(value), key)
        end
      end
    end
  end)

  it("is Lua, and has the words that a configuration knows", function()
    local env = {}
    setfenv(assert(loadfile "types/luka.lua"), env)()
    local words = {}
    for _, word in ipairs(word_texts.LIST) do
      for _, name in ipairs(word.names) do
        if name ~= "require" and name ~= "print" then words[#words + 1] = name end
      end
    end
    table.sort(words)
    assert.same(words, keys(env))
    for name, value in pairs(env) do
      assert(evaluate.text(("assert(type(%s) == %q) defaults {}"):format(name, type(value))))
      if type(value) == "number" then assert.equal(units[name], value) end
    end
  end)
end)
