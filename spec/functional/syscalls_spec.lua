-- SPDX-License-Identifier: Apache-2.0
-- What the hot paths ask of the kernel, as DESIGN.md promises: a produce is one write of the log and no fsync, or one
-- where its topic asks for that; a fetch of what was written lately is one sendfile and no read of the log, or, where the records are few, one read.
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local strace = require "spec.support.strace"

if strace.WORKS then
  describe("A broker's system calls", function()
    local broker, client, topic
    local batch = records.batch { { value = ("v"):rep(100) } }

    before_each(function()
      broker = brokers.start { set = { "workers=1" } }
      client = broker:connect()
      topic = requests.create(client, "calls")
      requests.append(client, topic, batch)
      requests.fetch_to_end(client, topic, 0)
    end)
    after_each(function()
      client:close()
      assert.equal(0, broker:stop())
    end)

    it("are one write of the log for a produce", function()
      local counts = strace.count(broker.pid, function() requests.append(client, topic, batch) end)
      assert.same({ pwritev = 1 }, counts)
    end)

    it("are one write of the log and one fdatasync for a produce to a topic with luka.producer.type=sync", function()
      local sync = requests.create(client, "sync", { configs = { ["luka.producer.type"] = "sync" } })
      requests.append(client, sync, batch) -- the names of the files are new here
      local counts = strace.count(broker.pid, function() requests.append(client, sync, batch) end)
      assert.same({ pwritev = 1, fdatasync = 1 }, counts)
    end)

    it("are a few fdatasyncs for many such produces at once", function()
      local sync = requests.create(client, "sync", { configs = { ["luka.producer.type"] = "sync" } })
      requests.append(client, sync, batch)
      local clients, sent = {}, {}
      for i = 1, 20 do clients[i] = broker:connect() end
      local counts = strace.count(broker.pid, function()
        for i = 1, 20 do sent[i] = requests.send_produce(clients[i], sync, batch) end
        for i = 1, 20 do
          assert.equal(0, clients[i]:answer("Produce", requests.PRODUCE, sent[i]).responses[1].partition_responses[1].error_code)
        end
      end, { "fdatasync:delay_enter=200000" })
      for i = 1, 20 do clients[i]:close() end
      -- One for the first of them, one for those that came meanwhile, and one more where the machine is slow.
      assert.is_true(counts.fdatasync >= 1 and counts.fdatasync <= 3, counts.fdatasync)
      assert.equal(21, requests.end_offset(client, sync))
    end)

    it("are one read of what is in memory for a fetch of few records that were written lately", function()
      requests.append(client, topic, batch)
      local counts = strace.count(broker.pid, function() requests.fetch(client, topic, { fetch_offset = 1 }) end)
      assert.same({ preadv2 = 1 }, counts)
    end)

    it("are one sendfile for a fetch of many", function()
      requests.append(client, topic, records.sized(70000))
      local counts = strace.count(broker.pid, function() requests.fetch(client, topic, { fetch_offset = 1 }) end)
      assert.same({ sendfile = 1 }, counts)
    end)
  end)
end
