-- SPDX-License-Identifier: Apache-2.0
-- What the hot paths ask of the kernel, as DESIGN.md promises: a produce is one write of the log and no fsync, or one
-- where its topic asks for that; a fetch of what was written lately is one sendfile and no read of the log, or, where the
-- records are few, one read.
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local strace = require "spec.support.strace"
local sync_journal = require "spec.support.sync_journal"

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

    it("are a write of the log, one of the sync journal and one fdatasync for a produce with luka.producer.type=sync", function()
      local sync = requests.create(client, "sync", { configs = { ["luka.producer.type"] = "sync" } })
      sync_journal.wait(broker.data, client, sync)
      local counts = strace.count(broker.pid, function() requests.append(client, sync, batch) end)
      assert.same({ pwritev = 2, pread64 = 1, fdatasync = 1 }, counts)
    end)

    it("are a few fdatasyncs for many such produces at once", function()
      local sync = requests.create(client, "sync", { configs = { ["luka.producer.type"] = "sync" } })
      requests.append(client, sync, batch)
      sync_journal.wait(broker.data, client,
        requests.create(client, "journaled", { configs = { ["luka.producer.type"] = "sync" } }))
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

    it("give each whole 4 MiB of a segment to the disk early, and sync nothing", function()
      local PIECE_MIB, PIECES = 4, 2
      local large = records.batch { records = { ("v"):rep(1024 * 1024 - 200) } }
      local counts = strace.count(broker.pid, function(counts)
        for _ = 1, PIECES * PIECE_MIB + 2 do requests.append(client, topic, large) end
        requests.wait_until("write-back was begun", function() return (counts().sync_file_range or 0) >= PIECES end)
      end)
      assert.same({ PIECES, nil, nil }, { counts.sync_file_range, counts.fsync, counts.fdatasync })
    end)

    it("are one receive and one write for a pipeline of large batches", function()
      local large = records.batch { records = { ("v"):rep(17000) } }
      requests.append(client, topic, large) -- more of that size are expected from here on
      local frames, sent = {}, {}
      client.send = function(_, bytes)
        frames[#frames + 1] = bytes
        return true
      end
      for i = 1, 3 do sent[i] = requests.send_produce(client, topic, large) end
      client.send = nil
      local counts = strace.count(broker.pid, function()
        client:send(table.concat(frames))
        for i = 1, 3 do
          local answer = client:answer("Produce", requests.PRODUCE, sent[i])
          assert.equal(1 + i, answer.responses[1].partition_responses[1].base_offset)
        end
      end, nil, "recvfrom,pwritev,sendmsg")
      -- Two where the client's kernel passes the bytes on in two pieces.
      assert.is_true(counts.recvfrom <= 2 and counts.pwritev <= 2 and counts.sendmsg <= 2,
        ("%d receives, %d writes, %d sends"):format(counts.recvfrom, counts.pwritev, counts.sendmsg))
    end)

    it("are four files opened, and no sync, for each partition of a new topic", function()
      local function create(partitions)
        return strace.count(broker.pid, function()
          requests.create(client, "wide" .. partitions, { partitions = partitions })
        end)
      end
      local few, many = create(1), create(41)
      assert.equal(0, (many.fsync or 0) - (few.fsync or 0))
      assert.equal(0, (many.fdatasync or 0) - (few.fdatasync or 0))
      assert.equal(4 * 40, many.openat - few.openat)
    end)

    it("are one sync more for the first records of a partition, which bring the name of its topic to disk", function()
      local flushed = requests.create(client, "flushed", { configs = { ["flush.messages"] = "1" } })
      local counts = strace.count(broker.pid, function() requests.append(client, flushed, batch) end)
      -- partition.metadata, the folder, the folder that it is in, the leader epochs and the folder again.
      assert.same({ 1, 5 }, { counts.fdatasync, counts.fsync })
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
