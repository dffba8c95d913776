-- SPDX-License-Identifier: Apache-2.0
-- Idempotent producers through a broker: ids that nobody has twice, and batches that are stored once, also when the
-- broker was stopped or killed between the first and the second try.
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local wire = require "spec.support.wire"

local NONE, OUT_OF_ORDER, INVALID_RECORD = 0, 45, 87

local function init(client, version, body)
  return client:ask("InitProducerId", version, body or { transactional_id = wire.NULL, transaction_timeout_ms = 60000 })
end

--- A batch of one record.
local function batch(id, sequence, value)
  return records.batch { records = { value or "x" }, producer_id = id, producer_epoch = 0, sequence = sequence }
end

--- { error, base offset, append time }
local function send(client, topic, id, sequence)
  local answer = requests.produce(client, topic, batch(id, sequence))
  return { answer.error_code, answer.base_offset, answer.log_append_time_ms }
end

describe("InitProducerId", function()
  local broker, client
  before_each(function()
    broker = brokers.start { set = { "workers=2" } }
    client = broker:connect()
  end)
  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("gives every producer an id of its own with epoch 0, in every version", function()
    local seen = {}
    for version = 0, 6 do
      local answer = init(client, version)
      assert.same({ NONE, 0 }, { answer.error_code, answer.producer_epoch })
      assert.is_nil(seen[answer.producer_id])
      seen[answer.producer_id] = true
    end
  end)

  it("gives no id twice over kill -9 and a clean stop", function()
    local last = -1
    for round = 1, 4 do
      for _ = 1, 3 do
        local id = init(client, 4).producer_id
        assert.truthy(id > last)
        last = id
      end
      client:close()
      if round % 2 == 0 then broker:stop() else broker:kill() end
      broker = broker:restart()
      client = broker:connect()
    end
  end)

  -- { what, body, error }, all answered without an id
  local REFUSED = {
    { "an id without epoch", { transactional_id = wire.NULL, transaction_timeout_ms = 1, producer_id = 5, producer_epoch = -1 }, 42 },
    { "an epoch without id", { transactional_id = wire.NULL, transaction_timeout_ms = 1, producer_id = -1, producer_epoch = 3 }, 42 },
    { "an empty transactional id", { transactional_id = "", transaction_timeout_ms = 1 }, 42 },
    { "a transaction timeout of 0", { transactional_id = "t", transaction_timeout_ms = 0 }, 50 },
    { "a transaction timeout of 900001", { transactional_id = "t", transaction_timeout_ms = 900001 }, 50 },
    { "a transactional id", { transactional_id = "t", transaction_timeout_ms = 900000 }, 15 },
  }
  for _, case in ipairs(REFUSED) do
    it("answers " .. case[3] .. " to " .. case[1], function()
      local answer = init(client, 5, case[2])
      assert.same({ case[3], -1, -1 }, { answer.error_code, answer.producer_id, answer.producer_epoch })
    end)
  end

  it("gives a new id to a producer that tells its own", function()
    local first = init(client, 5).producer_id
    local answer = init(client, 5, { transactional_id = wire.NULL, transaction_timeout_ms = 1, producer_id = first, producer_epoch = 0 })
    assert.same({ NONE, first + 1, 0 }, { answer.error_code, answer.producer_id, answer.producer_epoch })
  end)
end)

describe("A batch that is sent again", function()
  local broker, client
  before_each(function()
    broker = brokers.start { set = { "workers=2" } }
    client = broker:connect()
  end)
  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  -- Case X1.
  for _, how in ipairs { "at once", "after a clean restart", "after kill -9" } do
    it(how .. " is answered with its first offset when it is one of the last five", function()
      local topic = requests.create(client, "t")
      local id = init(client, 4).producer_id
      for i = 0, 5 do assert.same({ NONE, i, -1 }, send(client, topic, id, i)) end
      if how ~= "at once" then
        client:close()
        if how == "after kill -9" then broker:kill() else assert.equal(0, broker:stop()) end
        broker = broker:restart()
        client = broker:connect()
      end
      for i = 5, 1, -1 do assert.same({ NONE, i, 1000 }, send(client, topic, id, i)) end
      assert.same({ OUT_OF_ORDER, -1, -1 }, send(client, topic, id, 0))
      assert.same({ OUT_OF_ORDER, -1, -1 }, send(client, topic, id, 7))
      assert.same({ INVALID_RECORD, -1, -1 }, send(client, topic, id, -1))
      assert.equal(6, requests.end_offset(client, topic))
      assert.same({ NONE, 6, -1 }, send(client, topic, id, 6))
    end)
  end

  -- Measured on Apache Kafka 4.4.0: { producer id, epoch, first sequence, records, error, base offset }.
  local MEASURED = {
    { "over the end of the numbers", { { 1, 0, 2147483647, 1, 0, 0 }, { 1, 0, 0, 1, 0, 1 }, { 1, 0, 1, 1, 0, 2 },
      { 1, 0, 2147483647, 1, 0, 0 }, { 1, 0, 0, 1, 0, 1 } } },
    { "across the end of the numbers", { { 1, 0, 2147483646, 3, 0, 0 }, { 1, 0, 1, 1, 0, 3 }, { 1, 0, 2147483646, 3, 0, 0 } } },
    { "with a gap at the end of the numbers", { { 1, 0, 2147483647, 1, 0, 0 }, { 1, 0, 1, 1, 45, -1 } } },
    { "of an unknown producer, with any sequence", { { 1, 0, 7, 1, 0, 0 }, { 1, 0, 9, 1, 45, -1 }, { 1, 0, 8, 1, 0, 1 } } },
    { "of a newer epoch, from 0 on", { { 1, 0, 7, 1, 0, 0 }, { 1, 1, 0, 1, 0, 1 }, { 1, 2, 5, 1, 45, -1 }, { 1, 0, 8, 1, 47, -1 },
      { 1, 1, 1, 1, 0, 2 } } },
    { "that has only a part of another one", { { 1, 0, 0, 3, 0, 0 }, { 1, 0, 1, 2, 45, -1 }, { 1, 0, 0, 2, 45, -1 },
      { 1, 0, 2, 1, 45, -1 } } },
  }
  for _, how in ipairs { "", ", over a clean restart", ", over kill -9" } do
    for _, case in ipairs(MEASURED) do
      it(("is judged as by Kafka: %s%s"):format(case[1], how), function()
        local topic = requests.create(client, "t")
        for i, step in ipairs(case[2]) do
          local values = {}
          for j = 1, step[4] do values[j] = "x" end
          local answer = requests.produce(client, topic, records.batch { records = values, producer_id = step[1],
            producer_epoch = step[2], sequence = step[3] })
          assert.same({ i, step[5], step[6] }, { i, answer.error_code, answer.base_offset })
          if how ~= "" and i == 1 then
            client:close()
            if how == ", over kill -9" then broker:kill() else assert.equal(0, broker:stop()) end
            broker = broker:restart()
            client = broker:connect()
          end
        end
      end)
    end
  end

  it("is stored once, whatever was lost to kill -9 under way", function()
    local topic = requests.create(client, "t")
    local id = init(client, 4).producer_id
    local sequence = 0
    for _ = 1, 8 do
      local sent = {}
      for i = 0, 4 do sent[i] = requests.send_produce(client, topic, batch(id, sequence + i, tostring(sequence + i))) end
      client:answer("Produce", requests.PRODUCE, sent[0])
      broker:kill()
      client:close()
      broker = broker:restart()
      client = broker:connect()
      for i = 0, 4 do
        local answer = requests.produce(client, topic, batch(id, sequence + i, tostring(sequence + i)))
        assert.same({ NONE, sequence + i }, { answer.error_code, answer.base_offset })
      end
      sequence = sequence + 5
    end
    local values = records.values(requests.fetch_to_end(client, topic, 0))
    assert.equal(40, #values)
    for i, value in ipairs(values) do assert.equal(tostring(i - 1), value) end
  end)

  it("is stored again when its producer has been silent too long", function()
    client:close()
    broker:stop()
    broker = brokers.start { set = { "workers=1", "producer_id_expiration_ms=1", "log_retention_check_interval_ms=20" } }
    client = broker:connect()
    local topic = requests.create(client, "t")
    local id = init(client, 4).producer_id
    send(client, topic, id, 0)
    require("spec.support.client").wait_until("the producer is forgotten", function()
      return send(client, topic, id, 9)[1] == NONE
    end)
  end)
end)
