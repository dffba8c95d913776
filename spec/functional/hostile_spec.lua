-- SPDX-License-Identifier: Apache-2.0
-- Bytes that no good client sends: what is closed, what is answered, what the log says, and that nobody else notices.
local bit = require "bit"
local stdlib = require "posix.stdlib"
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"
local wire = require "spec.support.wire"

local bytes = unit.bytes
local MIB = 1024 * 1024

-- Instrumented programs need memory of their own.
local measures_memory = (os.getenv "LUKA_SAN" or "") == "" and not os.getenv "VALGRIND"

--- What the process holds in memory, in bytes.
local function resident(broker)
  local status = unit.read_file(("/proc/%d/status"):format(broker.pid))
  return tonumber(status:match "VmRSS:%s*(%d+) kB") * 1024
end

--- Sends bytes on a connection of its own; what came back before it was closed, nil if it stays open for a moment.
local function send(broker, text, patience_ms)
  local client = broker:connect()
  client:send(text)
  local answer = client:receive_end(patience_ms)
  client:close()
  return answer
end

local function size(n) return bytes(("%08x"):format(n)) end

--- Every request that is served, with its versions, as ApiVersions tells.
local function served(client)
  local list = {}
  local names = {}
  for name, api in pairs(wire.apis) do names[api.key] = name end
  for _, api in ipairs(client:ask("ApiVersions", 0, {}).api_keys) do
    list[#list + 1] = { name = names[api.api_key], key = api.api_key, max = api.max_version, min = api.min_version }
  end
  return list
end

--- Values of fields, by name; others have one of their type.
local values = { max_wait_ms = 1, isolation_level = 0, session_id = 0, session_epoch = -1, partition_max_bytes = 1000, max_bytes = 1000 }

--- A body with one element in every array and something in every field, for a version.
local sample
local function sample_field(field, version)
  if values[field.key] then return values[field.key] end
  if field.array then
    return { field.struct and sample(field.struct, version) or sample_field({ base = field.base }, version) }
  elseif field.struct then
    return sample(field.struct, version)
  end
  local base = field.base
  if base == "bool" then return true end
  if base == "string" then return "fuzzed" end
  if base == "bytes" then return "abc" end
  if base == "records" then return records.batch() end
  if base == "uuid" then return values.id or ("\3"):rep(16) end
  return 1
end

function sample(struct, version)
  local value = {}
  for _, field in ipairs(struct.fields) do
    if version >= field.lo and version <= field.hi then value[field.key] = sample_field(field, version) end
  end
  return value
end

local function sample_request(api, version, correlation_id)
  return wire.request(api.name, version, sample(wire.apis[api.name].request.root, version), { correlation_id = correlation_id or 7 })
end

describe("The port of a broker", function()
  local broker

  before_each(function() broker = brokers.start { set = { "workers=2" } } end)
  after_each(function()
    assert.is_true(requests.is_well(broker))
    assert.equal(0, broker:stop())
  end)

  local STRANGERS = {
    { "an HTTP request", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "looks like HTTP" },
    { "an HTTP POST", "POST /topics HTTP/1.1\r\n\r\n", "looks like HTTP" },
    { "an HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "looks like HTTP" },
    { "a TLS 1.0 hello", bytes "16030100" .. ("\0"):rep(64), "looks like TLS" },
    { "a TLS 1.2 hello", bytes "16030300" .. ("\0"):rep(64), "looks like TLS" },
    { "an SSH greeting", "SSH-2.0-OpenSSH_9.2p1\r\n", "looks like SSH" },
    { "size -1", bytes "ffffffff", "length is %-1" },
    { "size 0", bytes "00000000", "length is 0" },
    { "size -2147483648", bytes "80000000", "length is %-2147483648" },
    { "size 2147483647", bytes "7fffffff" .. "x", "2147483647 bytes, more than the limit of 104857600" },
    { "size 104857601", bytes "06400001" .. "x", "104857601 bytes, more than the limit of 104857600" },
  }
  for _, case in ipairs(STRANGERS) do
    it(("closes on %s without a word, and says in the log what it looks like"):format(case[1]), function()
      local other = broker:connect()
      assert.is_true(requests.is_well(broker))
      local before = resident(broker)
      assert.equal("", send(broker, case[2]))
      local line = broker:log():match("[^\n]*" .. case[3] .. "[^\n]*")
      assert.truthy(line, broker:log())
      assert.truthy(line:match "warn" and line:match "127%.0%.0%.1:%d+")
      if measures_memory then assert.is_true(resident(broker) - before < MIB) end
      assert.equal(1, #other:ask("Metadata", 9, { topics = {} }).brokers)
      other:close()
    end)
  end

  it("says so once a second at most, however many come", function()
    for _ = 1, 300 do assert.equal("", send(broker, "GET / HTTP/1.1\r\n\r\n")) end
    local _, lines = broker:log():gsub("looks like HTTP", "")
    assert.is_true(lines >= 1 and lines <= 60)
  end)

  it("takes no memory for what is only announced", function()
    local waiting = {}
    local before = resident(broker)
    for i = 1, 10 do
      waiting[i] = broker:connect()
      waiting[i]:send(size(90 * MIB) .. "x")
    end
    assert.is_true(requests.is_well(broker))
    if measures_memory then assert.is_true(resident(broker) - before < 4 * MIB) end
    for _, client in ipairs(waiting) do
      assert.same({ nil, "timeout" }, { client:receive_frame(0) })
      client:close()
    end
  end)

  it("waits for the rest of a request, and serves others meanwhile", function()
    local frame = wire.request("ApiVersions", 0, {}, { correlation_id = 7 })
    frame = size(#frame) .. frame
    local waiting = {}
    for cut = 0, #frame - 1 do
      local client = broker:connect()
      client:send(frame:sub(1, cut))
      waiting[#waiting + 1] = { client, frame:sub(cut + 1) }
    end
    for _ = 1, 3 do assert.is_true(requests.is_well(broker)) end
    for _, one in ipairs(waiting) do
      assert.same({ nil, "timeout" }, { one[1]:receive_frame(0) })
      one[1]:send(one[2])
      assert.equal(0, one[1]:answer("ApiVersions", 0, 7).error_code)
      one[1]:close()
    end
  end)

  it("closes when a request ends before it is whole", function()
    local frame = wire.request("ApiVersions", 0, {})
    frame = size(#frame) .. frame
    for cut = 1, #frame - 1 do
      local client = broker:connect()
      client:send(frame:sub(1, cut))
      client:finish()
      assert.equal("", client:receive_end())
      client:close()
    end
  end)

  it("closes on a frame that is too short for a header", function()
    for length = 1, 7 do assert.equal("", send(broker, size(length) .. bytes("00120000000000"):sub(1, length))) end
  end)

  it("takes any client id that can be read, and closes on one that cannot", function()
    local head = bytes "0012 0000 00000007"
    local function hello(rest) return size(#head + #rest) .. head .. rest end
    for _, rest in ipairs { bytes "ffff", bytes "fffe", bytes "0000", bytes "0003" .. "\255\0\254" } do
      local client = broker:connect()
      client:send(hello(rest))
      assert.equal(0, client:answer("ApiVersions", 0, 7).error_code)
      client:close()
    end
    assert.equal("", send(broker, hello "")) -- no client id
    assert.equal("", send(broker, hello(bytes "01f4"))) -- longer than the frame
  end)

  it("closes on a request of an unknown key or version, and names both in the log", function()
    assert.equal("", send(broker, size(10) .. bytes "03e7 0000 00000007 ffff"))
    assert.truthy(broker:log():match "warn[^\n]*127%.0%.0%.1:%d+[^\n]*999[^\n]*")
    requests.wait_until("the log names the request", function()
      assert.equal("", send(broker, size(10) .. bytes "0001 0063 00000007 ffff"))
      return broker:log():match "warn[^\n]*127%.0%.0%.1:%d+[^\n]*Fetch version 99[^\n]*"
    end)
  end)

  it("closes on a body that cannot be read, and names request and reason in the log", function()
    local frame = wire.request("Metadata", 9, { topics = { { name = "a" } } })
    assert.equal("", send(broker, size(#frame - 3) .. frame:sub(1, -4)))
    assert.truthy(broker:log():match "warn[^\n]*127%.0%.0%.1:%d+[^\n]*Metadata version 9[^\n]*")
  end)
end)

describe("A request that is small on the wire and large in memory", function()
  local broker

  --- The most that the process ever held in memory, in bytes.
  local function peak()
    return tonumber(unit.read_file(("/proc/%d/status"):format(broker.pid)):match "VmHWM:%s*(%d+) kB") * 1024
  end

  before_each(function() broker = brokers.start { set = { "workers=1" } } end)
  after_each(function()
    assert.is_true(requests.is_well(broker))
    assert.equal(0, broker:stop())
  end)

  --- Sends a frame; what its connection got, and how much more memory than the frame the broker took.
  local function cost(frame)
    assert.is_true(requests.is_well(broker))
    local before = peak()
    local answer = send(broker, size(#frame) .. frame, 20000)
    return answer, peak() - before - 2 * #frame
  end

  local function head(name, version)
    return wire.encode("RequestHeader", 1, { request_api_key = wire.apis[name].key, request_api_version = version,
      correlation_id = 7, client_id = "x" })
  end

  local HEAVY = {
    { "Produce of 1200000 partitions without records", function()
      local parts = bytes "00000001 ffffffff"
      local topic = bytes "0001 61 000493e0" .. parts:rep(300000)
      return head("Produce", 3) .. bytes "ffff 0001 00000000 00000004" .. topic:rep(4)
    end },
    { "Produce of 100001 topics", function()
      return head("Produce", 3) .. bytes "ffff 0001 00000000 000186a1" .. bytes("0001 61 00000000"):rep(100001)
    end },
    { "ListOffsets of 500000 partitions", function()
      return head("ListOffsets", 0) .. bytes "ffffffff 00000001 0001 61 0007a120"
        .. bytes("00000000 ffffffffffffffff 00000001"):rep(500000)
    end },
    { "CreateTopics of 700000 assignments", function()
      return head("CreateTopics", 0) .. bytes "00000001 0001 61 ffffffff ffff 000aae60" .. bytes("00000001 00000000"):rep(700000)
        .. bytes "00000000 00000000"
    end },
    { "DeleteTopics of 900000 names", function()
      return head("DeleteTopics", 0) .. bytes "000dbba0" .. bytes("0001 61"):rep(900000) .. bytes "00000000"
    end },
    { "DescribeConfigs of 900000 keys", function()
      return head("DescribeConfigs", 0) .. bytes "00000001 02 0001 61 000dbba0" .. bytes("0001 61"):rep(900000)
    end },
    { "CreatePartitions of 700000 assignments", function()
      return head("CreatePartitions", 0) .. bytes "00000001 0001 61 00000002 000aae60" .. bytes("00000000"):rep(700000)
        .. bytes "00000000 00"
    end },
    { "OffsetForLeaderEpoch of 500000 partitions", function()
      return head("OffsetForLeaderEpoch", 0) .. bytes "00000001 0001 61 0007a120" .. bytes("00000000 00000000"):rep(500000)
    end },
    { "DescribeTopicPartitions of 900000 names", function()
      return head("DescribeTopicPartitions", 0) .. bytes "00 a1f736" .. bytes("02 61 00"):rep(900000) .. bytes "000007d0 ff 00"
    end },
    { "DescribeProducers of 900000 partitions", function()
      return head("DescribeProducers", 0) .. bytes "00 02 02 61 a1f736" .. bytes("00000000"):rep(900000) .. bytes "00 00"
    end },
    { "AlterConfigs of 900000 configs", function()
      return head("AlterConfigs", 0) .. bytes "00000001 02 0001 61 000dbba0" .. bytes("0001 61 0001 62"):rep(900000) .. "\0"
    end },
    { "IncrementalAlterConfigs of 900000 resources", function()
      return head("IncrementalAlterConfigs", 0) .. bytes "000dbba0" .. bytes("02 0001 61 00000000"):rep(900000) .. "\0"
    end },
    { "JoinGroup of 900000 protocols", function()
      return head("JoinGroup", 0) .. bytes "0001 67 00007530 0000 0001 63 000dbba0" .. bytes("0001 61 00000000"):rep(900000)
    end },
    { "SyncGroup of 900000 assignments", function()
      return head("SyncGroup", 0) .. bytes "0001 67 00000001 0001 6d 000dbba0" .. bytes("0001 61 00000000"):rep(900000)
    end },
    { "LeaveGroup of 900000 members", function()
      return head("LeaveGroup", 3) .. bytes "0001 67 000dbba0" .. bytes("0001 61 ffff"):rep(900000)
    end },
    { "DescribeGroups of 900000 names", function()
      return head("DescribeGroups", 0) .. bytes "000dbba0" .. bytes("0001 61"):rep(900000)
    end },
    { "DeleteGroups of 900000 names", function()
      return head("DeleteGroups", 0) .. bytes "000dbba0" .. bytes("0001 61"):rep(900000)
    end },
    { "FindCoordinator of 900000 keys", function()
      return head("FindCoordinator", 4) .. bytes "00 00 a1f736" .. bytes("02 61"):rep(900000) .. "\0"
    end },
    { "Metadata of 900000 names", function()
      return head("Metadata", 0) .. bytes "000dbba0" .. bytes("0001 61"):rep(900000)
    end },
  }
  for _, case in ipairs(HEAVY) do
    it(("closes its connection: %s"):format(case[1]), function()
      local answer, taken = cost(case[2]())
      assert.equal("", answer)
      if measures_memory then assert.is_true(taken < 80 * MIB, ("%d MiB"):format(taken / MIB)) end
      local log = broker:log()
      assert.truthy(log:match "names more than 100000 partitions or topics" or log:match "takes too much memory", log)
    end)
  end
end)

describe("An answer that cannot be encoded", function()
  it("closes its connection and leaves no file open", function()
    stdlib.setenv("LUKA_ERRINJ", "api_encode=1:5")
    local broker = brokers.start { wait = false }
    stdlib.setenv("LUKA_ERRINJ", nil)
    broker:wait_until_listening()
    local client = broker:connect()
    local topic = requests.create(client, "leaky")
    requests.append(client, topic, records.batch { records = { "a" } })
    local reader = broker:connect()
    reader:request("Fetch", requests.FETCH, requests.fetch_body(requests.FETCH, { { topic } }))
    assert.equal("", reader:receive_end())
    assert.truthy(broker:log():match "cannot encode the answer to Fetch")
    requests.delete(client, topic)
    local function open_files()
      local pipe = io.popen(("ls -l /proc/%d/fd"):format(broker.pid))
      local text = pipe:read "*a"
      pipe:close()
      local _, count = text:gsub("%.log[%w.-]* %(deleted%)", "")
      return count + select(2, text:gsub("leaky[^\n]*%.log", ""))
    end
    requests.wait_until("the deleted topic's file is closed", function() return open_files() == 0 end)
    client:close()
    reader:close()
    assert.equal(0, broker:stop())
  end)
end)

describe("Each request that is served", function()
  local WITHOUT_BODY = { ApiVersions = true, ListGroups = true } -- before version 3
  local broker, apis

  setup(function()
    broker = brokers.start { set = { "workers=2" } }
    local client = broker:connect()
    apis = served(client)
    client:close()
    assert.is_true(#apis >= 30)
  end)
  teardown(function()
    assert.is_true(requests.is_well(broker))
    assert.equal(0, broker:stop())
  end)

  it("closes its connection in every version when it is cut, or full of 0xff or 0x7f", function()
    for _, api in ipairs(apis) do
      for version = api.min, api.max do
        local whole = sample_request(api, version)
        local body = #whole - #wire.request(api.name, version, {}) + 8
        for _, cut in ipairs { 1, math.floor(body / 2), body - 1 } do
          -- A header is followed by less body than the version has; two have none before version 3.
          if cut > 0 and not (WITHOUT_BODY[api.name] and version < 3) then
            assert.equal("", send(broker, size(#whole - cut) .. whole:sub(1, -cut - 1)),
              ("%s %d without the last %d bytes"):format(api.name, version, cut))
          end
        end
        for _, junk in ipairs { "\255", "\127" } do
          local head = wire.encode("RequestHeader", 1, { request_api_key = api.key, request_api_version = version,
            correlation_id = 7, client_id = "x" })
          if wire.apis[api.name].request.flexible and version >= wire.apis[api.name].request.flexible then head = head .. "\0" end
          -- Some versions of Metadata, DescribeLogDirs and ElectLeaders take -1 for all topics, some of InitProducerId for no transaction,
          -- and bytes behind a body are nobody's business.
          local is_right = WITHOUT_BODY[api.name] and version < 3
            or api.name == "Metadata" and version > 0 and version < 9 and junk == "\255"
            or api.name == "InitProducerId" and version < 2 and junk == "\255"
            or (api.name == "DescribeLogDirs" or api.name == "ElectLeaders") and version < 2 and junk == "\255"
          if not is_right then
            assert.equal("", send(broker, size(#head + 64) .. head .. junk:rep(64)), ("%s %d of %q"):format(api.name, version, junk))
          end
        end
      end
    end
  end)

  it("closes its connection in versions that are too high, with either header", function()
    for _, api in ipairs(apis) do
      if api.name ~= "ApiVersions" then
        for _, version in ipairs { api.max + 1, 32767, -1, -32768 } do
          for _, tags in ipairs { "", "\0" } do
            local head = wire.encode("RequestHeader", 1, { request_api_key = api.key, request_api_version = version,
              correlation_id = 7, client_id = "x" }) .. tags
            assert.equal("", send(broker, size(#head + 64) .. head .. ("\0"):rep(64)))
          end
        end
      end
    end
  end)
end)

describe("Mutated requests", function()
  local SEED = tonumber(os.getenv "FUZZ_SEED") or os.time() % 1000000
  local COUNT = tonumber(os.getenv "FUZZ_COUNT") or 5000
  local LIMIT = os.getenv "VALGRIND" and COUNT / 10 or COUNT

  --- A generator of its own, so that a seed gives the same run everywhere.
  local state = SEED + 1
  local function random(n)
    state = (state * 16807) % 2147483647
    return state % n
  end

  local EXTREMES = { "\0", "\1", "\127", "\128", "\255", "\255\255", "\127\255", "\0\0\0\0", "\255\255\255\255", "\127\255\255\255",
    "\128\0\0\0", "\255\255\255\127", "\255\255\255\255\15", "\255\255\255\255\255\255\255\255\255\1" }

  --- Changes what follows key, version and correlation id.
  local function mutate(text)
    for _ = 1, 1 + random(3) do
      local at, what = 9 + random(math.max(#text - 8, 1)), random(6)
      if what == 0 then
        text = text:sub(1, at - 1) .. string.char(random(256)) .. text:sub(at + 1)
      elseif what == 1 and at <= #text then
        text = text:sub(1, at - 1) .. string.char(bit.bxor(text:byte(at), bit.lshift(1, random(8)))) .. text:sub(at + 1)
      elseif what == 2 then
        local extreme = EXTREMES[1 + random(#EXTREMES)]
        text = text:sub(1, at - 1) .. extreme .. text:sub(at + #extreme)
      elseif what == 3 then
        text = text:sub(1, at - 1) .. text:sub(at + 1 + random(8))
      elseif what == 4 then
        text = text:sub(1, at - 1) .. text:sub(at, at + random(40)) .. text:sub(at)
      else
        text = text:sub(1, at)
      end
    end
    return text
  end

  local MAY_WAIT = { Fetch = true, JoinGroup = true, SyncGroup = true }

  it(("never harm the broker (FUZZ_SEED=%d)"):format(SEED), function()
    -- Topics with thousands of partitions would be made if a request said so; that is slow, and no fault.
    local broker = brokers.start { set = { "workers=2", "auto_create_topics_enable=false" } }
    local keeper = broker:connect()
    local kept = requests.create(keeper, "kept")
    values.id = requests.create(keeper, "fuzzed", { partitions = 2 }).id
    local sent = records.batch { records = { "kept" } }
    requests.append(keeper, kept, sent)
    local before = resident(broker)
    local apis = served(keeper)
    local client, answered, closed = broker:connect(), 0, 0
    for i = 1, LIMIT do
      local api = apis[1 + random(#apis)]
      local version = api.min + random(api.max - api.min + 1)
      values.acks, values.session_epoch = random(3) - 1, random(3) - 1
      client:send_frame(mutate(sample_request(api, version, 1000000 + i)))
      -- Followed by one that is answered when the connection stays open; these may have been told to wait for long.
      local last = client:request("ApiVersions", 0, {})
      local answer, why
      repeat
        answer, why = client:receive_frame(MAY_WAIT[api.name] and 100 or nil)
      until not answer or answer:sub(1, 4) == size(last or 0)
      if answer then
        answered = answered + 1
      else
        assert.is_true(why == "closed" or MAY_WAIT[api.name], ("%s %d, request %d: %s"):format(api.name, version, i, tostring(why)))
        closed = closed + 1
      end
      client:close()
      client = broker:connect()
      if i % 100 == 0 then
        assert.is_true(requests.is_well(broker))
        local fuzzed = requests.find(keeper, "fuzzed") or requests.create(keeper, "fuzzed", { partitions = 2 })
        values.id = fuzzed.id
      end
    end
    client:close()
    assert.is_false(broker:poll_exit())
    assert.is_true(answered > LIMIT / 20 and closed > LIMIT / 20, ("%d answered, %d closed"):format(answered, closed))
    assert.equal(records.stored(sent, 0), requests.fetch(keeper, kept).records)
    assert.equal(1, requests.append(keeper, kept, sent))
    if measures_memory then assert.is_true(resident(broker) - before < 32 * MIB) end
    keeper:close()
    assert.is_true(requests.is_well(broker))
    assert.equal(0, broker:stop())
  end)
end)
