-- SPDX-License-Identifier: Apache-2.0
-- The load generator, scripts/bench/load, against a broker: its figures are right, and its checks find what is wrong.
local brokers = require "spec.support.broker"
local client = require "spec.support.client"
local requests = require "spec.support.requests"

local LOAD = os.getenv "LUKA_LOAD"
if not LOAD or LOAD == "" then LOAD = "build/release/load" end

describe("the load generator", function()
  local broker, dir

  setup(function()
    broker = brokers.start { set = { "workers=2" } }
    dir = brokers.temp_dir()
  end)
  teardown(function() assert.equal(0, broker:stop()) end)

  --- Runs it; its output and its exit status.
  local function run(arguments, port)
    local command = ("timeout 60 %s %s --brokers 127.0.0.1:%d 2>&1; echo \"status $?\""):format(LOAD, arguments, port or broker.port)
    local pipe = assert(io.popen(command))
    local text = pipe:read "*a"
    pipe:close()
    return text, tonumber(text:match "status (%d+)\n$")
  end

  --- A number of the output, of the part after `side`.
  local function figure(text, side, name)
    local part = assert(text:match('"' .. side .. '":(%b{})'), text)
    return tonumber(part:match('"' .. name:gsub("%p", "%%%0") .. '":(%-?[%d.]+)'))
  end

  local function figures(text, side, ...)
    local out = {}
    for i = 1, select("#", ...) do out[i] = figure(text, side, (select(i, ...))) end
    return out
  end

  it("counts what it produced, and fetches and verifies just that", function()
    local text, status = run "produce --topic a --create --partitions 3 --connections 4 --depth 5 --records 7 --requests 500 --acks 1"
    assert.equal(0, status, text)
    assert.same({ 500, 3500, 0 }, figures(text, "produce", "requests", "records", "errors"))
    local bytes = figure(text, "produce", "bytes")
    text, status = run "fetch --topic a --partitions 3 --until-end --verify"
    assert.equal(0, status, text)
    assert.same({ 3500, bytes, 0 }, figures(text, "fetch", "records", "bytes", "errors"))
  end)

  it("gives rising quantiles", function()
    local text = run "produce --topic q --create --requests 2000 --depth 3"
    local before = 0
    for _, name in ipairs { "p50", "p90", "p99", "p99.9", "max" } do
      local value = figure(text, "produce", name)
      assert.is_true(value >= before and value > 0)
      before = value
    end
  end)

  it("keeps to the rate of an open loop", function()
    local text, status = run "produce --topic r --create --rate 200 --seconds 1 --connections 2"
    assert.equal(0, status, text)
    assert.equal(200, figure(text, "produce", "requests") + figure(text, "produce", "unsent"))
    assert.is_true(figure(text, "produce", "seconds") > 0.9)
  end)

  for _, codec in ipairs { "none", "gzip", "snappy", "lz4", "zstd" } do
    it("finds every acknowledged record again, with codec " .. codec, function()
      local file = dir .. "/acked-" .. codec
      local topic = "k-" .. codec
      for _ = 1, 2 do
        local text, status = run(("produce --topic %s --create --partitions 2 --connections 3 --depth 4 --records 5 "
          .. "--codec %s --requests 300 --verify-acked %s"):format(topic, codec, file))
        assert.equal(0, status, text)
      end
      local text, status = run(("check %s --topic %s --partitions 2"):format(file, topic))
      assert.equal(0, status, text)
      assert.same({ 3000, 3000, 0, 0, 0 }, figures(text, "check", "acked", "found", "lost", "wrong", "disordered"))
    end)
  end

  it("says so when an acknowledged record is not there, or another is in its place", function()
    local file = dir .. "/acked-bad"
    run("produce --topic bad --create --records 2 --requests 10 --verify-acked " .. file)
    local out = assert(io.open(file, "w"))
    out:write "0 0 2 0001000000000000\n" -- right
    out:write "0 4 1 0001000000000063\n" -- another number than the one at offset 4
    out:write "0 19 4 0001000000000013\n" -- three of them beyond the end
    out:close()
    local text, status = run("check " .. file .. " --topic bad")
    assert.equal(1, status, text)
    assert.same({ 7, 3, 1, 3 }, figures(text, "check", "acked", "found", "wrong", "lost"))
  end)

  it("survives the end of the broker and reports it", function()
    local other = brokers.start()
    local asking = other:connect()
    local topic = requests.create(asking, "t")
    local pipe = assert(io.popen(("timeout 60 %s produce --topic t --depth 8 --seconds 30 --brokers 127.0.0.1:%d; echo \"status $?\"")
      :format(LOAD, other.port)))
    client.wait_until("records arrive", function() return requests.end_offset(asking, topic) > 100 end)
    other:kill()
    local text = pipe:read "*a"
    pipe:close()
    assert.equal(1, figure(text, "produce", "disconnects"), text)
    assert.is_truthy(text:match "status 1\n$")
  end)

  for _, case in ipairs {
    { "no topic", "produce", "--topic is missing", 2 },
    { "no mode", "--topic t", "say produce, fetch, both, api-versions or check first", 2 },
    { "a number out of range", "produce --topic t --acks 2", "--acks is a number from -1 to 1, not '2'", 2 },
    { "an unknown codec", "produce --topic t --codec br", "'br' is no codec", 2 },
    { "numbered records without acknowledgements", "produce --topic t --acks 0 --verify-acked x", "needs acknowledgements", 2 },
    { "a topic that is not there", "produce --topic nowhere --seconds 1", "UNKNOWN_TOPIC_OR_PARTITION", 1 },
  } do
    it("refuses " .. case[1] .. " in one line", function()
      local text, status = run(case[2])
      assert.is_truthy(text:find(case[3], 1, true), text)
      assert.equal(case[4], status)
    end)
  end

  it("does not leave this machine unless that is meant", function()
    local pipe = assert(io.popen(LOAD .. " produce --topic t --brokers 192.0.2.1:9092 2>&1"))
    local text = pipe:read "*a"
    pipe:close()
    assert.is_truthy(text:find("192.0.2.1:9092 is not on this machine", 1, true))
  end)
end)
