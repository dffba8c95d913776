-- SPDX-License-Identifier: Apache-2.0
-- A batch whose records are each slow, but not too slow: together they have a budget too.
local reload = require "spec.support.reload"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

local POLICY_VIOLATION = 44

describe("A batch of slow records", function()
  for kind, jit in pairs { interpreted = "", compiled = "jit = true, " } do
    it("is refused when its function, which is " .. kind .. ", has had its time for all of them", function()
      local broker = reload.start(([[
        topic "a" { %spartitions = 1, transform = function(record)
          if record.key then
            local x = 0
            for i = 1, %d do x = (x + i) %% 1000003 end
          end
          return record
        end }]]):format(jit, jit == "" and 1e6 or 5e6))
      local client = broker:connect()
      local topic, list = requests.find(client, "a"), {}
      for i = 1, 2000 do list[i] = { key = "slow", value = tostring(i) } end
      local answer = requests.produce(client, topic, records.batch { records = list })
      assert.equal(POLICY_VIOLATION, answer.error_code)
      assert.truthy(answer.error_message:find("took longer than 1000 ms for the records of one batch", 1, true),
        answer.error_message)
      assert.equal(0, requests.produce(client, topic, records.batch { records = { { value = "fast" } } }).error_code)
      client:close()
      assert.equal(0, broker:stop())
    end)
  end
end)
