-- SPDX-License-Identifier: Apache-2.0
-- Produce requests that arrive together are written together: what one of them says is true for it alone.
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local strace = require "spec.support.strace"

local COUNT = 20

--- Has what a client sends within `work` leave in one piece, so that the broker reads it at once.
local function at_once(client, work)
  local pieces = {}
  client.send = function(_, bytes)
    pieces[#pieces + 1] = bytes
    return true
  end
  work()
  client.send = nil
  client:send(table.concat(pieces))
end

local function batch(i) return records.batch { { value = ("%04d"):format(i) } } end

describe("Produce requests in one piece", function()
  local broker, client, topic
  before_each(function()
    broker = brokers.start { set = { "workers=1" } }
    client = broker:connect()
    topic = requests.create(client, "pipeline", { partitions = 2 })
    requests.append(client, topic, batch(0))
  end)
  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  --- Sends COUNT requests; `options(i)` and `bytes(i)` may change them. Returns the answers' partitions.
  local function produce(options, bytes)
    local sent, parts = {}, {}
    at_once(client, function()
      for i = 1, COUNT do sent[i] = requests.send_produce(client, topic, bytes and bytes(i) or batch(i), options and options(i)) end
    end)
    for i = 1, COUNT do
      if not (options and (options(i) or {}).acks == 0) then
        parts[i] = client:answer("Produce", requests.PRODUCE, sent[i]).responses[1].partition_responses[1]
      end
    end
    return parts
  end

  it("get offsets in the order in which they were sent", function()
    for i, part in ipairs(produce()) do
      assert.equal(0, part.error_code)
      assert.equal(i, tonumber(part.base_offset))
    end
  end)

  it("get offsets in that order in each of their partitions", function()
    for i, part in ipairs(produce(function(i) return { partition = i % 2 } end)) do
      assert.equal(0, part.error_code)
      assert.equal(i % 2 == 1 and (i - 1) / 2 or i / 2, tonumber(part.base_offset))
    end
  end)

  it("do not suffer from one of them that is refused", function()
    local parts = produce(nil, function(i)
      local bytes = batch(i)
      return i == 10 and bytes:sub(1, -2) .. string.char((bytes:byte(-1) + 1) % 256) or bytes
    end)
    for i, part in ipairs(parts) do
      assert.equal(i == 10 and 2 or 0, part.error_code) -- CORRUPT_MESSAGE
      assert.equal(i < 10 and i or i == 10 and -1 or i - 1, tonumber(part.base_offset))
    end
  end)

  it("are appended among others that want no answer", function()
    local parts = produce(function(i) return { acks = i % 2 } end)
    for i = 1, COUNT, 2 do assert.equal(i, tonumber(parts[i].base_offset)) end
    requests.wait_until("all are appended", function() return requests.end_offset(client, topic) == COUNT + 1 end)
  end)

  it("are appended when their client has gone meanwhile", function()
    local other = broker:connect()
    at_once(other, function()
      for i = 1, COUNT do requests.send_produce(other, topic, batch(i)) end
    end)
    other:close()
    requests.wait_until("all are appended", function() return requests.end_offset(client, topic) == COUNT + 1 end)
  end)

  if strace.WORKS then
    it("are one write of the log", function()
      local counts = strace.count(broker.pid, function() produce() end)
      assert.same({ pwritev = 1 }, counts)
    end)
  end
end)
