-- SPDX-License-Identifier: Apache-2.0
-- Which partition of __consumer_offsets keeps a group. The hashes are those of java.lang.String.
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
package.preload["luka.native.json"] = function() return {} end
local java_hash = require "luka.admin.java_hash"

describe("luka.admin.java_hash", function()
  it("is String.hashCode", function()
    for text, hash in pairs {
      [""] = 0, a = 97, hello = 99162322, ["consumer-group-1"] = 147483020, ["polygenelubricants"] = -2147483648,
      ["gr\195\188n"] = 3185949, ["\226\130\172"] = 8364, ["\240\159\152\128"] = 1772899,
    } do assert.equal(hash, java_hash.of(text), text) end
  end)

  it("is of no text that is not UTF-8", function()
    for _, text in ipairs { "\255", "\195", "a\226\130", "\237\160\128", "\192\128" } do
      assert.is_nil(java_hash.of(text))
      assert.is_nil(java_hash.partition(text, 50))
    end
  end)

  it("gives the smallest hash partition 0, and others that of their absolute value", function()
    assert.equal(0, java_hash.partition("polygenelubricants", 50))
    assert.equal(22, java_hash.partition("hello", 50))
    assert.equal(0, java_hash.partition("anything", 1))
  end)
end)
