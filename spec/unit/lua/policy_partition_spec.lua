-- SPDX-License-Identifier: Apache-2.0
-- Partitioners that are Lua functions, in both states: what they see, what they may return, and what a failure says.
local calls = require "spec.unit.lua.policy_calls"

for _, jit in ipairs { "", "jit = true, " } do
  describe("a partitioner" .. (jit == "" and "" or " that is compiled"), function()
    local vm

    after_each(function()
      if vm then vm:close() end
      vm = nil
    end)

    local function make(body, options)
      vm = assert(calls.new(('topic "clicks" { %spartitioner = function(record, n)\n%s\nend }'):format(jit, body), options))
      return vm
    end

    it("chooses by the hash of the key", function()
      assert.same({ 0, 0, 3, 2 }, make "return hash(record.key) % n":partition({ "foobar", "21", "", "a-little-bit-long-string" }, 6))
    end)
  end)
end
