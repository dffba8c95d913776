-- SPDX-License-Identifier: Apache-2.0
-- flush.messages, flush.ms and luka.producer.type=sync: what is acknowledged and shown before it is on disk, and what is
-- not. Where it matters that a flush takes its time, strace makes it slow.
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local strace = require "spec.support.strace"
local sync_journal = require "spec.support.sync_journal"

local SLOW = { "fdatasync:delay_enter=1000000" }

local function create(client, name, configs) return requests.create(client, name, { configs = configs }) end

local function batch(sequence, value)
  return records.batch { records = { value or "x" }, producer_id = 7, producer_epoch = 0, sequence = sequence }
end

--- { error, base offset } of the answer to a Produce that was sent before.
local function answer(client, id)
  local part = client:answer("Produce", requests.PRODUCE, id).responses[1].partition_responses[1]
  return { part.error_code, part.base_offset }
end

describe("A topic with luka.producer.type=sync", function()
  local broker, client, topic

  before_each(function()
    broker = brokers.start { set = { "workers=2" } }
    client = broker:connect()
    topic = create(client, "sync", { ["luka.producer.type"] = "sync" })
    requests.append(client, topic, batch(0))
  end)
  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("takes and gives records as others do, over rolled segments and restarts", function()
    local rolled = create(client, "rolled", { ["luka.producer.type"] = "sync", ["segment.bytes"] = "1048576" })
    for i = 0, 5 do assert.equal(i, requests.append(client, rolled, records.sized(600000), { acks = i % 2 == 0 and 1 or -1 })) end
    assert.equal(6, requests.end_offset(client, rolled))
    client:close()
    broker:kill()
    broker = broker:restart()
    client = broker:connect()
    assert.equal(6, requests.end_offset(client, rolled))
    assert.equal(6, #records.bases(requests.fetch_to_end(client, rolled, 0)))
    assert.equal(6, requests.append(client, rolled, records.batch()))
  end)

  it("is deleted while appends wait for the disk, and answers them", function()
    local clients, sent = {}, {}
    for i = 1, 30 do
      clients[i] = broker:connect()
      sent[i] = requests.send_produce(clients[i], topic, records.sized(100000))
    end
    requests.delete(client, topic)
    for i = 1, 30 do
      local code = answer(clients[i], sent[i])[1]
      assert.is_true(code == 0 or code == 3 or code == 100, code)
      clients[i]:close()
    end
  end)

  if strace.WORKS then
    for _, acks in ipairs { 1, -1 } do
      it(("acknowledges with acks=%d, and shows, what is on disk only"):format(acks), function()
        local other = broker:connect()
        strace.count(broker.pid, function()
          local sent = requests.send_produce(client, topic, batch(1), { acks = acks })
          client:wait_until_read()
          assert.equal(1, requests.end_offset(other, topic))
          local seen = requests.fetch(other, topic, { fetch_offset = 1 })
          assert.same({ 0, 1, "" }, { seen.error_code, seen.high_watermark, seen.records or "" })
          assert.same({ 0 }, records.bases(requests.fetch(other, topic, { fetch_offset = 0 }).records))
          assert.same({ nil, "timeout" }, { client:receive_frame(10) })
          assert.same({ 0, 1 }, answer(client, sent))
          assert.equal(2, requests.end_offset(other, topic))
        end, SLOW)
        other:close()
      end)
    end

    it("wakes a waiting fetch when a flush has shown it the records", function()
      local other = broker:connect()
      local waiting = other:request("Fetch", requests.FETCH, requests.fetch_body(requests.FETCH,
        { { topic, { { fetch_offset = 1 } } } }, { max_wait_ms = 30000, min_bytes = 1 }))
      requests.append(client, topic, batch(1))
      local part = other:answer("Fetch", requests.FETCH, waiting).responses[1].partitions[1]
      assert.same({ 0, { 1 } }, { part.error_code, records.bases(part.records) })
      other:close()
    end)

    it("acknowledges a repeat when the first one is on disk, not before", function()
      sync_journal.wait(broker.data, client, create(client, "journaled", { ["luka.producer.type"] = "sync" }))
      local other = broker:connect()
      local counts = strace.count(broker.pid, function()
        -- The first one asks for nothing, so its connection goes on at once.
        requests.send_produce(client, topic, batch(1), { acks = 0 })
        client:wait_until_read()
        local sent = requests.send_produce(other, topic, batch(1), { acks = 1 })
        other:wait_until_read()
        assert.equal(1, requests.end_offset(client, topic))
        assert.same({ nil, "timeout" }, { other:receive_frame(10) })
        assert.same({ 0, 1 }, answer(other, sent))
      end, SLOW)
      assert.same({ 2, 1 }, { counts.pwritev, counts.fdatasync }) -- of the log once, of the sync journal once
      assert.equal(2, requests.end_offset(client, topic))
      other:close()
    end)

    it("answers 56 to all that wait when the disk fails, offers nothing of it, and takes the directory offline", function()
      local other = broker:connect()
      strace.count(broker.pid, function()
        local first = requests.send_produce(client, topic, batch(1))
        client:wait_until_read()
        local repeated = requests.send_produce(other, topic, batch(1))
        assert.same({ 56, -1 }, answer(client, first))
        assert.same({ 56, -1 }, answer(other, repeated))
        assert.same(56, requests.produce(client, topic, batch(1)).error_code)
        assert.same(56, requests.fetch(client, topic, { fetch_offset = 0 }).error_code)
      end, { "fdatasync:error=EIO:delay_enter=300000" })
      assert.truthy(broker:log():match "data directory [^\n]+ is offline until the next start: [^\n]*fdatasync failed")
      other:close()
    end)
  end
end)

describe("A topic with flush.messages", function()
  local broker, client

  before_each(function()
    broker = brokers.start { set = { "workers=2" } }
    client = broker:connect()
  end)
  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  if strace.WORKS then
    it("is flushed by the append that makes so many, which waits for it", function()
      local topic = create(client, "t", { ["flush.messages"] = "3" })
      for _ = 1, 3 do requests.append(client, topic, records.batch { records = { "x" } }) end
      local counts = {}
      for i = 1, 6 do
        local count = strace.count(broker.pid, function() requests.append(client, topic, records.batch { records = { "x" } }) end)
        counts[i] = count.fdatasync or 0
      end
      assert.same({ 0, 0, 1, 0, 0, 1 }, counts)
      assert.equal(1, strace.count(broker.pid, function()
        requests.append(client, topic, records.batch { records = { "a", "b", "c", "d" } })
      end).fdatasync)
    end)

    it("of 1 acknowledges and shows what is on disk only", function()
      local topic = create(client, "t", { ["flush.messages"] = "1" })
      requests.append(client, topic, records.batch())
      local first = requests.end_offset(client, topic)
      local other = broker:connect()
      strace.count(broker.pid, function()
        local sent = requests.send_produce(client, topic, records.batch())
        client:wait_until_read()
        assert.equal(first, requests.end_offset(other, topic))
        assert.same({ 0, first }, answer(client, sent))
      end, SLOW)
      other:close()
    end)
  end
end)

if strace.WORKS then
  describe("A topic with flush.ms", function()
    for _, case in ipairs { { { ["flush.ms"] = "100" } }, { { ["flush.ms"] = "0" } }, { {}, "log_flush_interval_ms=100" },
      { {}, "log_flush_scheduler_interval_ms=100" } } do
      local by = case[2] or "flush.ms=" .. case[1]["flush.ms"]
      it("has its records on disk soon after, by " .. by, function()
        local broker = brokers.start { set = { "workers=1", case[2] } }
        local client = broker:connect()
        local topic = create(client, "t", case[1])
        requests.append(client, topic, records.batch())
        strace.count(broker.pid, function(counts)
          for i = 1, 2 do
            requests.append(client, topic, records.batch())
            requests.wait_until("it is flushed", function() return (counts().fdatasync or 0) >= i end)
          end
        end)
        client:close()
        assert.equal(0, broker:stop())
      end)
    end
  end)
end
