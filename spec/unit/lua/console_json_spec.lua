-- SPDX-License-Identifier: Apache-2.0
-- Results of the console as JSON lines.
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path

local json_lines = require "luka.console.json"

describe("JSON lines", function()
  it("are an object for each row of a list, in the order of the columns, with raw numbers", function()
    assert.same({ '{"name":"b","size_bytes":1536,"a_ms":0.5}', '{"name":"a","size_bytes":9223372036854775807}' }, json_lines.lines {
      kind = "list", columns = { "name", "size_bytes", "a_ms" },
      rows = { { a_ms = 0.5, name = "b", size_bytes = 1536 }, { name = "a", size_bytes = 9223372036854775807LL } },
    })
  end)

  it("are none for a list without rows", function()
    assert.same({}, json_lines.lines { kind = "list", columns = { "name" }, rows = {} })
  end)

  it("are one object for a record, in the order of its fields", function()
    assert.same({ '{"z":1,"a":"x","configs":{"b":2}}' },
      json_lines.lines { kind = "record", fields = { "z", "a", "configs" }, value = { a = "x", z = 1, configs = { b = 2 } } })
  end)

  it("have lists in a record as arrays of objects, in the order of their columns, also without rows", function()
    assert.same({ '{"name":"g","members":[{"z":1,"a":2}],"offsets":[]}' }, json_lines.lines { kind = "record",
      fields = { "name", "members", "offsets" }, lists = { members = { "z", "a" }, offsets = { "topic" } },
      value = { name = "g", members = { { a = 2, z = 1 } }, offsets = {} } })
  end)

  for value, expected in pairs { [1] = "1", text = '"text"', [true] = "true" } do
    it("are the value when it is plain: " .. expected, function()
      assert.same({ expected }, json_lines.lines { kind = "plain", value = value })
    end)
  end

  it("have nothing that a terminal obeys", function()
    assert.same({ '"\\u009B31m\\u001B\195\188"' }, json_lines.lines { kind = "plain", value = "\194\15531m\27\195\188" })
  end)

  it("are null for no value", function() assert.same({ "null" }, json_lines.lines { kind = "plain" }) end)
end)
