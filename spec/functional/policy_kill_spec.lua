-- SPDX-License-Identifier: Apache-2.0
-- Brokers with policies that are killed in the middle: an idempotent producer sends again what was not answered, and each
-- record is there once.
local unistd = require "posix.unistd"
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local wire = require "spec.support.wire"

local PROGRAM = { unistd.readlink "/proc/self/exe", "--run", "spec/support/policy_broker.lua" }
local KILLS, BATCHES, RECORDS, WINDOW = 10, 110, 20, 5

--- Batch number n of a producer: its records have keys and values of their own.
local function batch(id, n)
  local list = {}
  for i = 1, RECORDS do
    local number = n * RECORDS + i
    list[i] = { key = "k" .. number % 37, value = "v" .. number, headers = { { "keep", "1" } } }
  end
  return records.batch { records = list, producer_id = id, producer_epoch = 0, sequence = n * RECORDS }
end

--- Sends batches until all are acknowledged or the connection breaks, a few at a time; how many were in a row.
local function send(client, topic, id, from, kill_at)
  local ids, sent, acked = {}, from, from
  while acked < BATCHES do
    while sent < BATCHES and sent - acked < WINDOW do
      local ok, got = pcall(requests.send_produce, client, topic, batch(id, sent), { partition = 1 })
      if not ok then return acked end
      ids[sent], sent = got, sent + 1
    end
    if acked == kill_at then return acked, true end
    local ok, answer = pcall(client.answer, client, "Produce", requests.PRODUCE, ids[acked])
    if not ok or not answer then return acked end
    local code = answer.responses[1].partition_responses[1].error_code
    if code ~= 0 then error("Produce gave " .. code) end
    acked = acked + 1
  end
  return acked
end

describe("a broker with policies that is killed", function()
  for _, name in ipairs { "p.hash", "pt.both" } do
    it("has each record of an idempotent producer once: " .. name, function()
      local broker = brokers.start { program = PROGRAM, set = { "workers=2" } }
      local client = broker:connect()
      local topic = requests.create(client, name, { partitions = 3 })
      local id = client:ask("InitProducerId", 4, { transactional_id = wire.NULL, transaction_timeout_ms = 60000,
        producer_id = -1, producer_epoch = -1 }).producer_id
      local acked = 0
      for kill = 1, KILLS do
        acked = send(client, topic, id, acked, math.floor(BATCHES / (KILLS + 1)) * kill)
        broker:kill()
        client:close()
        broker = broker:restart()
        client = broker:connect()
      end
      assert.equal(BATCHES, (send(client, topic, id, acked)))
      local seen, count = {}, 0
      for partition = 0, 2 do
        for _, value in ipairs(records.values(requests.fetch_to_end(client, topic, 0, partition))) do
          seen[value] = (seen[value] or 0) + 1
          count = count + 1
        end
      end
      for number = 1, BATCHES * RECORDS do assert.equal(1, seen["v" .. number]) end
      assert.equal(BATCHES * RECORDS, count)
      client:close()
      assert.equal(0, broker:stop())
    end)
  end
end)
