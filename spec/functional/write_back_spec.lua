-- SPDX-License-Identifier: Apache-2.0
-- Early write-back: what is appended is given to the disk piece by piece, without a sync.
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local strace = require "spec.support.strace"

local MiB = 1024 * 1024
local PIECE_MIB, PIECES = 4, 2

if strace.WORKS then
  describe("Early write-back", function()
    local broker, client

    before_each(function()
      broker = brokers.start { set = { "workers=2" } }
      client = broker:connect()
    end)
    after_each(function()
      client:close()
      assert.equal(0, broker:stop())
    end)

    it("begins for every whole 4 MiB of a segment, and syncs nothing", function()
      local topic = requests.create(client, "t")
      local batch = records.batch { records = { ("v"):rep(MiB - 200) } }
      local counts = strace.count(broker.pid, function(counts)
        for _ = 1, PIECES * PIECE_MIB + 2 do requests.append(client, topic, batch) end
        requests.wait_until("write-back was begun", function() return (counts().sync_file_range or 0) >= PIECES end)
      end)
      assert.same({ PIECES, nil, nil }, { counts.sync_file_range, counts.fsync, counts.fdatasync })
    end)
  end)
end
