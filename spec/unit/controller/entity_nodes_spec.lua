-- SPDX-License-Identifier: Apache-2.0
-- Names of groups, subscriptions and users in paths, as Apache Kafka encodes them.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("controller/entity_nodes.h", "base/arena.h", "base/error.h")

describe("nodes of groups, subscriptions and users", function()
  local arena

  before_each(function() arena = ffi.new "struct arena" end)
  after_each(function() C.arena_destroy(arena) end)

  local function path(kind, name)
    local found = C.entity_nodes_path(arena, kind, name, #name)
    return found ~= nil and ffi.string(found) or nil
  end
  local function decode(text)
    local name, length = ffi.new "const char *[1]", ffi.new "size_t[1]"
    local result = C.entity_nodes_decode(arena, text, name, length)
    return result, result == 0 and ffi.string(name[0], length[0]) or nil
  end

  it("are in Kafka's folders", function()
    assert.equal("/config/users/bob", path(C.METADATA_USER, "bob"))
    assert.equal("/config/groups/g", path(C.METADATA_GROUP, "g"))
    assert.equal("/config/client-metrics/m", path(C.METADATA_CLIENT_METRICS, "m"))
  end)

  for name, encoded in pairs { ["app one"] = "app%20one", ["a/b"] = "a%2Fb", ["a-b_c.d"] = "a-b_c.d", ["<default>"] = "%3Cdefault%3E",
    ["*+~%"] = "%2A%2B%7E%25", ["ü"] = "%C3%BC", ["\0\255"] = "%00%FF", ["."] = "%2E", [".."] = "%2E%2E", ["..."] = "..." } do
    it(("encode %q and read it back"):format(name), function()
      assert.equal(encoded, ffi.string(C.entity_nodes_encode(arena, name, #name)))
      assert.same({ 0, name }, { decode(encoded) })
    end)
  end

  it("read what Kafka leaves plain and nothing else", function()
    for _, wrong in ipairs { "<default>", "a b", "a%", "a%2", "a%2g", "a%2f", "%zz", "a/b" } do
      assert.equal(C.ERR_CORRUPT, (decode(wrong)))
    end
  end)

  it("have no path for a name that is too long", function()
    assert.equal(480, #path(C.METADATA_USER, ("x"):rep(480 - #"/config/users/")))
    assert.is_nil(path(C.METADATA_USER, ("x"):rep(481 - #"/config/users/")))
    assert.is_nil(path(C.METADATA_USER, (" "):rep(160)))
  end)
end)
