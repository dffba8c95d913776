-- SPDX-License-Identifier: Apache-2.0
-- What measurements use besides plain loads: processor time, sessions, idle connections, the limit program, the page
-- cache. Figures of time are only asked to be there; counts are exact.
local brokers = require "spec.support.broker"
local client = require "spec.support.client"

local LOAD = os.getenv "LUKA_LOAD"
if not LOAD or LOAD == "" then LOAD = "build/release/load" end
local BESIDE = LOAD:gsub("[^/]*$", "")

--- The flat JSON of these programs as a table.
local function decode(text)
  local lua = text:gsub("%[", "{"):gsub("%]", "}"):gsub('"([%w_.]+)":', '["%1"]=')
  return assert(loadstring("return " .. lua), text)()
end

--- Runs a command; what it printed as JSON.
local function run(command)
  local pipe = assert(io.popen("timeout 60 " .. command .. " 2>&1; echo \"status $?\""))
  local text = pipe:read "*a"
  pipe:close()
  local json, status = text:match "^(.-)\n?status (%d+)\n$"
  assert.equal("0", status, text)
  return decode(json)
end

describe("the load generator's ways of measuring", function()
  local broker, dir

  setup(function()
    broker = brokers.start()
    dir = brokers.temp_dir()
  end)
  teardown(function() assert.equal(0, broker:stop()) end)

  local function load(arguments, port) return run(("%s %s --brokers 127.0.0.1:%d"):format(LOAD, arguments, port or broker.port)) end

  it("makes round trips of ApiVersions, on thousands of connections too", function()
    local out = load "api-versions --connections 2000 --threads 2 --requests 6000 --seconds 30"
    assert.same({ 6000, 0, 0 }, { out.api_versions.requests, out.api_versions.errors, out.api_versions.unanswered })
  end)

  it("keeps to the rate of an open loop over connections that take turns, and sends every planned request", function()
    local out = load "api-versions --connections 7 --depth 8 --threads 2 --rate 1000 --requests 300 --seconds 30"
    assert.same({ 300, 0 }, { out.api_versions.requests, out.api_versions.unsent })
  end)

  it("takes the processor time and memory of a broker, for each request and GB", function()
    local out = load("produce --topic cpu --create --requests 500 --cpu-of " .. broker.pid)
    assert.is_true(out.cpu_s > 0 and out.own_cpu_s > 0 and out.rss_bytes > 1e6)
    assert.is_true(math.abs(out.cpu_us_per_request - out.cpu_s * 1e6 / 500) < 0.01)
    assert.is_true(math.abs(out.cpu_s_per_gb - out.cpu_s * 1e9 / out.bytes) < 0.01)
  end)

  it("refuses a process that is not there", function()
    local pipe = assert(io.popen(("%s api-versions --brokers 127.0.0.1:%d --cpu-of 999999999 2>&1"):format(LOAD, broker.port)))
    local text = pipe:read "*a"
    pipe:close()
    assert.equal("load: --cpu-of: there is no such process\n", text)
  end)

  it("prints all latencies as a histogram with rising bounds", function()
    local out = load "api-versions --requests 700 --histogram"
    local seen, before = 0, -1
    for _, bucket in ipairs(out.api_versions.histogram_us) do
      assert.is_true(bucket[1] > before and bucket[2] > 0)
      seen, before = seen + bucket[2], bucket[1]
    end
    assert.equal(700, seen)
  end)

  it("keeps idle connections open beside the others, and prints the memory before and with them", function()
    local out = load("api-versions --requests 100 --idle-connections 300 --cpu-of " .. broker.pid)
    assert.equal(100, out.api_versions.requests)
    assert.is_true(out.rss_before_bytes > 0 and out.rss_idle_bytes > 0)
  end)

  it("reads every record through an incremental session, of the active partitions alone", function()
    load "produce --topic s --create --partitions 40 --active 3 --connections 3 --records 5 --requests 300"
    for _, active in ipairs { 3, 40 } do
      local out = load(("fetch --topic s --partitions 40 --active %d --session --until-end --verify --partition-max-bytes 4096")
        :format(active))
      assert.same({ 1500, 0 }, { out.fetch.records, out.fetch.errors })
    end
    assert.equal(500, load "fetch --topic s --partitions 40 --active 1 --session --until-end --verify".fetch.records)
  end)

  it("has one session in all its requests", function()
    local sessions = brokers.start()
    local out = load("both --topic s --create --partitions 30 --active 2 --session --verify "
      .. "--rate 500 --requests 200 --seconds 1", sessions.port)
    assert.equal(200, out.produce.requests)
    assert.equal(200, out.fetch.records)
    assert.equal(0, out.fetch.errors)
    assert.equal(0, sessions:stop())
  end)

  describe("beside the limit program", function()
    --- Starts it, has the generator load it; what both say.
    local function limit(mode, arguments)
      local path = dir .. "/limit-out"
      os.remove(path)
      local pipe = assert(io.popen(("timeout 60 %slimit %s >%s 2>&1; echo \"status $?\""):format(BESIDE, mode, path)))
      local port
      client.wait_until("it prints its port", function()
        local file = io.open(path)
        local line = file and file:read "*l"
        if file then file:close() end
        port = tonumber(line)
        return port
      end)
      local out = load(arguments .. " --raw", port)
      local text = pipe:read "*a"
      pipe:close()
      assert.equal("status 0\n", text)
      local file = assert(io.open(path))
      file:read "*l"
      local report = decode(file:read "*a")
      file:close()
      return report, out
    end

    local function size_of(path)
      local file = assert(io.open(path))
      local size = file:seek "end"
      file:close()
      return size
    end

    for _, mode in ipairs { "receive", "map" } do
      it(mode .. "s and answers each batch, and its file has all the bytes", function()
        local report, out = limit(mode .. " " .. dir .. "/" .. mode,
          "produce --acks 1 --connections 4 --depth 4 --batch-bytes 65536 --record-bytes 1024 --requests 1500")
        assert.same({ 1500, 1500, 0 }, { out.produce.requests, report.requests, out.produce.errors })
        assert.is_true(report.bytes > out.produce.bytes and report.cpu_s > 0)
        assert.equal(report.bytes, size_of(dir .. "/" .. mode))
      end)
    end

    it("answers small frames without a log", function()
      local report, out = limit("echo", "produce --acks 1 --connections 64 --depth 3 --requests 2000")
      assert.same({ 2000, 2000, 0 }, { out.produce.requests, report.requests, out.produce.errors })
    end)

    it("sends a file round and round", function()
      local file = assert(io.open(dir .. "/sent", "w"))
      file:write(("x"):rep(100000))
      file:close()
      local report, out = limit("send " .. dir .. "/sent", "fetch --connections 3 --requests 10")
      assert.same({ 10, 10 * 4194304, 10 * 4194304 }, { out.fetch.requests, out.fetch.bytes, report.bytes })
    end)
  end)

  it("makes a file cold and sees it", function()
    local path = "build/pages-spec-" .. broker.pid -- on a disk: memory file systems have nothing to drop to
    local file = assert(io.open(path, "w"))
    file:write(("x"):rep(300001))
    file:close()
    local before = run(("%spages resident %s"):format(BESIDE, path))
    local dropped = run(("%spages drop %s"):format(BESIDE, path))
    os.remove(path)
    assert.same({ 300001, 300001 }, { before.resident_bytes, before.total_bytes })
    assert.same({ 0, 300001 }, { dropped.resident_bytes, dropped.total_bytes })
  end)

  it("touches memory in pieces of 64 MiB", function()
    assert.equal(64 * 1024 * 1024, run(BESIDE .. "pages touch 1000").touched_bytes)
  end)
end)
