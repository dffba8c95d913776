-- SPDX-License-Identifier: Apache-2.0
-- Functions of a configuration: what the set of policies says that C makes of them, and the same set in other states.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("lua/state.h", "base/error.h", "lua_chunk.h")
local evaluate = require "spec.unit.lua.evaluate"

local function load(text, sets)
  local result, message = evaluate.text(text, sets)
  assert.is_nil(message)
  return result.policies
end

describe("functions of config.lua", function()
  it("are none where none is given", function()
    assert.is_nil(load "topic 'a' { partitions = 2 }")
  end)

  it("are listed by kind and name in the order of the file, those of a topic in a fixed one", function()
    local set = load [[
      hook("topic.create", function() end)
      topic "a" { transform = function() end, partitioner = function() return 0 end, partitions = 2 }
      every(minutes(5), function() end)
      after(seconds(1), function() end)
      policy.partitioner("by_region", function() return 0 end)
      view("eu", { from = "a", where = function() return true end })
      defaults { placement = function() end }
      on.request("Fetch", function() end)
      topic "b" { archive = print, retention = function() end, transform_fetch = function() end }
    ]]
    assert.same({ "hook topic.create", "partitioner a", "transform a", "timer every 300000 ms", "timer after 1000 ms",
      "partitioner by_region", "where eu", "placement placement", "request Fetch", "transform_fetch b", "retention b",
      "archive b" }, set.list)
    assert.same({ "config.lua:1", "config.lua:2", "config.lua:2", "config.lua:3" }, { unpack(set.places, 1, 4) })
    assert.same({ { name = "a", partitioner = 2, transform = 3 },
      { name = "b", transform_fetch = 10, retention = 11, archive = 12 } }, set.topics)
    assert.same({ { "by_region", 6 } }, set.named)
    assert.same({ { name = "eu", from = "a", where = 7 } }, set.views)
    assert.equal(8, set.placement)
  end)
end)

--- What luka.policy.load finds in a fresh state: "kind name" by number, or nil and why not.
local function reload(set, prelude)
  local text = { "local sources, expected = {}, {}\n" }
  for _, source in ipairs(set.sources) do
    text[#text + 1] = ("sources[#sources + 1] = { path = %q, text = %q }\n"):format(source.path, source.text)
  end
  for _, policy in ipairs(set.list) do
    text[#text + 1] = ("expected[#expected + 1] = { kind = %q, name = %q }\n"):format(policy:match "^(%S+) (.*)$")
  end
  text[#text + 1] = (prelude or "") .. [[

    local host = { is_deep = function() return false end, log = function() end, expected = expected }
    local list, message = require("luka.policy.load").load(sources, host)
    if not list then return message end
    for i, policy in ipairs(list) do list[i] = policy.kind .. " " .. policy.name end
    return table.concat(list, "\n")
  ]]
  local limits = ffi.new("struct lua_state_limits", { memory_bytes = 64 * 1024 * 1024, budget_ms = 1000 })
  local state = ffi.new "struct lua_state *[1]"
  assert.equal(0, C.lua_state_new(limits, state))
  local source = table.concat(text)
  local chunk, failure = ffi.new("struct lua_chunk", { text = source }), ffi.new "struct lua_state_failure"
  local result = C.lua_state_call(state[0], C.lua_chunk_run, chunk, failure)
  C.lua_state_delete(state[0])
  assert.equal(0, result, ffi.string(failure.message))
  return ffi.string(chunk.result)
end

describe("another state", function()
  it("finds the same functions under the same numbers", function()
    local set = load [[
      hook("reload", function() end)
      topic "a" { transform = function() end, partitioner = function() return 0 end }
      view "eu" { from = "a", where = function() return true end }
    ]]
    assert.equal("hook reload\npartitioner a\ntransform a\nwhere eu", reload(set))
  end)
end)
