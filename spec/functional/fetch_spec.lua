-- SPDX-License-Identifier: Apache-2.0
-- Fetch without sessions: which batches come, limits, waiting, offsets and leader epochs, segments.
local batches = require "spec.unit.record.batches"
local brokers = require "spec.support.broker"
local malformed = require "spec.support.malformed"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"
local dirent = require "posix.dirent"
local fcntl = require "posix.fcntl"
local unistd = require "posix.unistd"

local NEWEST = requests.FETCH
local batch, fetch, fetch_all = records.batch, requests.fetch, requests.fetch_all

--- The names of a folder's files that end in `suffix`, sorted.
local function files(folder, suffix)
  local names = {}
  for name in dirent.files(folder) do
    if name:sub(-#suffix) == suffix then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

describe("Fetch", function()
  local broker, client, count = nil, nil, 0
  local log, sent -- three batches of two records each, at offsets 0, 2 and 4; and their bytes as stored

  local function topic(options)
    count = count + 1
    return requests.create(client, ("topic-%d"):format(count), options)
  end

  setup(function()
    broker = brokers.start { set = { "workers=2" } }
    client = broker:connect()
    log, sent = topic { partitions = 2 }, {}
    for i = 0, 2 do
      local one = batch { records = { { key = "k", value = "v" .. i }, { key = "", headers = { { "h", "1" } } } }, ts = 1000 * i, step = 3 }
      assert.equal(2 * i, requests.append(client, log, one))
      sent[i + 1] = records.stored(one, 2 * i)
    end
    for i = 0, 3 do requests.append(client, log, batch { records = { tostring(i) } }, { partition = 1 }) end
    client:close()
  end)
  teardown(function() assert.equal(0, broker:stop()) end)
  before_each(function() client = broker:connect() end)
  after_each(function() client:close() end)

  for version = 4, NEWEST do
    local v = { version = version }

    --- An answer without records has these fields; what a version lacks is nil.
    local function assert_error(code, answer)
      assert.equal(code, answer.error_code)
      assert.same({ -1, -1, "" }, { answer.high_watermark, answer.last_stable_offset, answer.records })
      assert.equal(version >= 5 and -1 or nil, answer.log_start_offset)
    end

    describe(("version %d"):format(version), function()
      it("gives all batches, and the offsets of the partition", function()
        local whole = fetch_all(client, { { log } }, v)
        assert.equal(version >= 7 and 0 or nil, whole.error_code)
        assert.equal(version >= 7 and 0 or nil, whole.session_id)
        assert.same(version >= 16 and {} or nil, whole.node_endpoints)
        assert.equal(version < 13 and log.name or nil, whole.responses[1].topic)
        assert.equal(version >= 13 and log.id or nil, whole.responses[1].topic_id)
        local answer = whole.responses[1].partitions[1]
        assert.same({ 0, 0, 6, 6 }, { answer.partition_index, answer.error_code, answer.high_watermark, answer.last_stable_offset })
        assert.equal(version >= 5 and 0 or nil, answer.log_start_offset)
        assert.equal(version >= 11 and -1 or nil, answer.preferred_read_replica)
        assert.same(version >= 12 and { epoch = -1, end_offset = -1 } or nil, answer.diverging_epoch)
        assert.same(version >= 12 and { leader_id = -1, leader_epoch = -1 } or nil, answer.current_leader)
        assert.is_nil(answer.aborted_transactions)
        assert.equal(table.concat(sent), answer.records)
      end)

      it("begins with the batch that holds the offset", function()
        for _, case in ipairs { { 1, 1 }, { 2, 2 }, { 3, 2 }, { 4, 3 }, { 5, 3 } } do
          assert.equal(table.concat(sent, "", case[2]), fetch(client, log, { fetch_offset = case[1] }, v).records)
        end
      end)

      it("gives nothing and no error at the end", function()
        local answer = fetch(client, log, { fetch_offset = 6 }, v)
        assert.same({ 0, 6, "" }, { answer.error_code, answer.high_watermark, answer.records })
      end)

      it("answers 1 for offsets out of range", function()
        for _, offset in ipairs { 7, 1000, -1, -2, 9223372036854775807LL, -9223372036854775807LL - 1 } do
          local answer = fetch(client, log, { fetch_offset = offset }, v)
          assert_error(1, answer)
          assert.is_nil(answer.aborted_transactions)
        end
      end)

      it(("answers %d for an unknown topic"):format(version >= 13 and 100 or 3), function()
        local answer = fetch(client, requests.UNKNOWN, {}, v)
        assert_error(version >= 13 and 100 or 3, answer)
        assert.same({}, answer.aborted_transactions)
        assert.is_nil(requests.find(client, requests.UNKNOWN.name))
      end)

      it("answers 3 for an unknown partition", function()
        local parts = fetch_all(client, { { log, { { partition = 9 }, { partition = -1 } } } }, v).responses[1].partitions
        assert.equal(2, #parts)
        for i, partition in ipairs { 9, -1 } do
          assert.equal(partition, parts[i].partition_index)
          assert_error(3, parts[i])
          assert.same({}, parts[i].aborted_transactions)
        end
      end)

      it("answers a partition that is named twice once, from the last offset", function()
        local parts = fetch_all(client, { { log, { { fetch_offset = 0 }, { fetch_offset = 2 } } } }, v).responses[1].partitions
        assert.equal(1, #parts)
        assert.equal(table.concat(sent, "", 2), parts[1].records)
      end)

      it("gives the first batch whole whatever the limits are, and of others what fits", function()
        for _, limit in ipairs { 0, 1, 60 } do
          for _, case in ipairs { { limit, nil }, { nil, limit } } do
            local wanted = { { partition_max_bytes = case[1] }, { partition = 1, partition_max_bytes = case[1] } }
            local parts = fetch_all(client, { { log, wanted } }, { version = version, max_bytes = case[2] }).responses[1].partitions
            assert.same({ 0, sent[1] }, { parts[1].error_code, parts[1].records })
            assert.same({ 0, 4 }, { parts[2].error_code, parts[2].high_watermark })
            -- Kafka may send a piece of a batch; a whole one may not come.
            assert.is_true(#parts[2].records <= limit)
          end
        end
      end)

      it("answers -1 where a limit is negative", function()
        local negative = { { partition_max_bytes = -1 }, { partition = 1, partition_max_bytes = -1 } }
        local parts = fetch_all(client, { { log, negative } }, v).responses[1].partitions
        for i = 1, 2 do
          assert_error(-1, parts[i])
          assert.is_nil(parts[i].aborted_transactions)
        end
        parts = fetch_all(client, { { log, { {}, { partition = 1 } } } }, { version = version, max_bytes = -1 }).responses[1].partitions
        assert_error(-1, parts[1])
        assert.same({ 0, { 0 } }, { parts[2].error_code, records.bases(parts[2].records) })
      end)

      it("answers a request without partitions at once", function()
        local answer = fetch_all(client, {}, { version = version, max_wait_ms = 60000, min_bytes = 1 })
        assert.same({}, answer.responses)
      end)

      it("fails as a whole for an unknown isolation level", function()
        for _, level in ipairs { 2, -1 } do
          local answer = fetch_all(client, { { log } }, { version = version, isolation_level = level })
          assert.equal(version >= 7 and -1 or nil, answer.error_code)
          if version >= 13 then
            assert.same({}, answer.responses)
          else
            assert_error(-1, answer.responses[1].partitions[1])
            assert.same({}, answer.responses[1].partitions[1].aborted_transactions)
          end
        end
      end)

      it("lists no aborted transactions for read_committed", function()
        local answer = fetch(client, log, {}, { version = version, isolation_level = 1 })
        assert.same({}, answer.aborted_transactions)
        assert.equal(table.concat(sent), answer.records)
      end)

      it("answers 6 to who says that it is a replica, and records to a debugging consumer", function()
        local function as(id)
          return version >= 15 and { version = version, replica_state = { replica_id = id, replica_epoch = 1 } }
            or { version = version, replica_id = id }
        end
        local answer = fetch(client, log, {}, as(5))
        assert_error(6, answer)
        if version >= 12 then
          local node = client:ask("Metadata", 9, { topics = {} }).brokers[1].node_id
          if version < 16 then node = -1 end
          assert.same({ leader_id = node, leader_epoch = node < 0 and -1 or 0 }, answer.current_leader)
        end
        assert.equal(table.concat(sent), fetch(client, log, {}, as(-2)).records)
      end)

      it("gives zstd to any version", function()
        local zstd = topic { configs = { ["compression.type"] = "zstd" } }
        requests.append(client, zstd, batch { records = { ("x"):rep(100) } })
        assert.same({ ("x"):rep(100) }, records.values(fetch(client, zstd, {}, v).records))
      end)

      it("waits no longer than it is told", function()
        local answer = fetch(client, log, { fetch_offset = 6 }, { version = version, max_wait_ms = 30, min_bytes = 1 })
        assert.same({ 0, "" }, { answer.error_code, answer.records })
        answer = fetch(client, log, {}, { version = version, max_wait_ms = 30, min_bytes = 100000 })
        assert.equal(table.concat(sent), answer.records)
      end)

      if version >= 9 then
        it("checks the leader epoch that the client believes in", function()
          for _, case in ipairs { { 0, 0 }, { -1, 0 }, { -2, 0 }, { 1, 75 }, { 5, 75 } } do
            local answer = fetch(client, log, { current_leader_epoch = case[1] }, v)
            assert.equal(case[2], answer.error_code)
            assert.equal(case[2] == 0 and table.concat(sent) or "", answer.records)
          end
        end)
      end

      if version >= 11 then
        it("takes any rack", function()
          assert.equal(table.concat(sent), fetch(client, log, {}, { version = version, rack_id = "somewhere" }).records)
        end)
      end

      if version >= 12 then
        it("tells a client whose history is another one where it leaves this log", function()
          assert.equal(sent[3], fetch(client, log, { fetch_offset = 4, last_fetched_epoch = 0 }, v).records)
          local answer = fetch(client, log, { fetch_offset = 7, last_fetched_epoch = 0 }, v)
          assert.same({ 0, 6, "", { epoch = 0, end_offset = 6 } },
            { answer.error_code, answer.high_watermark, answer.records, answer.diverging_epoch })
          for _, epoch in ipairs { 1, 5 } do
            assert_error(1, fetch(client, log, { fetch_offset = 4, last_fetched_epoch = epoch }, v))
          end
        end)

        it("does not look at the cluster id of consumers", function()
          assert.equal(table.concat(sent), fetch(client, log, {}, { version = version, cluster_id = "other" }).records)
        end)
      end
    end)
  end

  it("gives whole batches up to the limit, then at most a piece", function()
    local a = topic()
    local one = batch { records = { ("v"):rep(200) } }
    for _ = 1, 20 do requests.append(client, a, one) end
    for limit = #one, 6 * #one, 37 do
      for _, case in ipairs { { limit, nil }, { nil, limit } } do
        local bytes = fetch(client, a, { partition_max_bytes = case[1] }, { max_bytes = case[2] }).records
        local list, rest = records.parse(bytes)
        assert.is_true(#bytes <= limit)
        assert.equal(math.floor(limit / #one), #list)
        assert.equal(batches.int(#list, 8):sub(1, #rest), rest:sub(1, 8))
        for i, stored in ipairs(list) do assert.equal(records.stored(one, i - 1), stored.bytes) end
      end
    end
  end)

  it("reads a log from end to end in small steps, each record once", function()
    local a = topic()
    for i = 0, 199 do requests.append(client, a, batch { records = { tostring(2 * i), tostring(2 * i + 1) }, codec = i % 5 }) end
    local offset, seen = 0, 0
    while offset < 400 do
      local list = records.parse(fetch(client, a, { fetch_offset = offset, partition_max_bytes = 300 }).records)
      assert.is_true(#list > 0)
      for _, stored in ipairs(list) do
        for _, record in ipairs(records.read(stored.bytes)) do
          assert.same({ seen, tostring(seen) }, { record.offset, record.value })
          seen = seen + 1
        end
      end
      offset = list[#list].last + 1
    end
    assert.equal(400, seen)
  end)

  it("never gives more than fetch.max.bytes, but a first batch whole", function()
    local other = brokers.start { set = { "fetch_max_bytes=2000" } }
    local c = other:connect()
    local a = requests.create(c, "limited", { partitions = 3 })
    for partition = 0, 2 do
      for _ = 1, 10 do requests.append(c, a, records.sized(500), { partition = partition }) end
    end
    local parts = fetch_all(c, { { a, { { partition = 0 }, { partition = 1 }, { partition = 2 } } } }).responses[1].partitions
    assert.equal(3, #parts)
    assert.is_true(#parts[1].records + #parts[2].records + #parts[3].records <= 2000)
    assert.same({ 0, 1, 2, 3 }, records.bases(parts[1].records))
    requests.append(c, a, records.sized(5000))
    assert.equal(5000, #fetch(c, a, { fetch_offset = 10 }).records)
    c:close()
    assert.equal(0, other:stop())
  end)

  it("gives megabytes of many partitions in one answer", function()
    local a = topic { partitions = 12 }
    local stored = {}
    for partition = 0, 11 do
      local one = batch { records = { records.noise(600000, partition + 1) } }
      requests.append(client, a, one, { partition = partition })
      stored[partition] = records.stored(one, 0)
    end
    local wanted = {}
    for partition = 0, 11 do wanted[partition + 1] = { partition = partition } end
    for _, part in ipairs(fetch_all(client, { { a, wanted } }).responses[1].partitions) do
      assert.is_true(part.records == stored[part.partition_index])
    end
  end)

  it("answers 256 MB that a client asks for within fetch.max.bytes, in little memory", function()
    local other = brokers.start { set = { "fetch_max_bytes=8388608", "workers=1" } }
    local c = other:connect()
    local partitions = 64
    local a = requests.create(c, "many", { partitions = partitions })
    local one = batch { records = { records.noise(1000000, 3) } }
    for partition = 0, partitions - 1 do
      for _ = 1, 4 do requests.append(c, a, one, { partition = partition }) end
    end
    local function rss()
      return tonumber(unit.read_file(("/proc/%d/status"):format(other.pid)):match "VmRSS:%s*(%d+) kB") * 1024
    end
    local wanted = {}
    for partition = 0, partitions - 1 do wanted[partition + 1] = { partition = partition, partition_max_bytes = 10000000 } end
    local before = rss()
    local answer = fetch_all(c, { { a, wanted } }, { max_bytes = 2147483647 })
    local got, whole = 0, 0
    for _, part in ipairs(answer.responses[1].partitions) do
      assert.equal(0, part.error_code)
      got, whole = got + #part.records, whole + #records.parse(part.records)
    end
    assert.is_true(got <= 8388608 and whole >= 8, got)
    assert.is_true(rss() - before < 16 * 1024 * 1024)
    c:close()
    assert.equal(0, other:stop())
  end)

  describe("while it waits", function()
    --- Sends a Fetch that waits for long.
    local function send(of, part, options)
      options.max_wait_ms = options.max_wait_ms or 600000
      return client:request("Fetch", NEWEST, requests.fetch_body(NEWEST, { { of, { part } } }, options))
    end

    local function answer(id) return client:answer("Fetch", NEWEST, id).responses[1].partitions[1] end

    it("is answered by an append", function()
      local a, writer = topic(), broker:connect()
      for i = 0, 9 do
        local id = send(a, { fetch_offset = i }, { min_bytes = 1 })
        assert.equal(i, requests.append(writer, a, batch { records = { "v" .. i } }))
        local part = answer(id)
        assert.same({ i + 1, { "v" .. i } }, { part.high_watermark, records.values(part.records) })
      end
      writer:close()
    end)

    it("is answered when as many bytes have come as it wants", function()
      local a, writer = topic(), broker:connect()
      local one = batch()
      local id = send(a, {}, { min_bytes = 3 * #one })
      for _ = 1, 2 do
        requests.append(writer, a, one)
        assert.same({ nil, "timeout" }, { client:receive_frame(0) })
      end
      requests.append(writer, a, one)
      assert.same({ 0, 1, 2 }, records.bases(answer(id).records))
      writer:close()
    end)

    it("is answered when several partitions together have the bytes it wants", function()
      local a, writer = topic { partitions = 4 }, broker:connect()
      local one = batch()
      local parts = {}
      for partition = 0, 3 do parts[partition + 1] = { partition = partition } end
      local id = client:request("Fetch", NEWEST, requests.fetch_body(NEWEST, { { a, parts } },
        { max_wait_ms = 600000, min_bytes = 4 * #one }))
      for partition = 0, 3 do
        assert.same({ nil, "timeout" }, { client:receive_frame(0) })
        requests.append(writer, a, one, { partition = partition })
      end
      for _, part in ipairs(client:answer("Fetch", NEWEST, id).responses[1].partitions) do
        assert.same({ 0 }, records.bases(part.records))
      end
      writer:close()
    end)

    it("does not wait when a partition has an error", function()
      local parts = fetch_all(client, { { log, { { fetch_offset = 100 }, { partition = 1, fetch_offset = 4 } } } },
        { max_wait_ms = 600000, min_bytes = 100000 }).responses[1].partitions
      assert.same({ 1, 0 }, { parts[1].error_code, parts[2].error_code })
    end)

    it("does not wait when the histories part", function()
      local part = fetch(client, log, { fetch_offset = 7, last_fetched_epoch = 0 }, { max_wait_ms = 600000, min_bytes = 1 })
      assert.equal(6, part.diverging_epoch.end_offset)
    end)

    it("is answered when its topic is deleted", function()
      local a, other = topic(), broker:connect()
      local id = send(a, {}, { min_bytes = 1 })
      requests.delete(other, a)
      local part = answer(id)
      assert.equal(100, part.error_code)
      other:close()
    end)

    it("may lose its client", function()
      local a = topic()
      for _ = 1, 20 do
        local gone = broker:connect()
        gone:request("Fetch", NEWEST, requests.fetch_body(NEWEST, { { a } }, { max_wait_ms = 600000, min_bytes = 1 }))
        gone:close()
      end
      requests.append(client, a, batch())
      assert.equal(1, fetch(client, a).high_watermark)
    end)

    it("wakes every one of many clients", function()
      local a, waiting = topic(), {}
      for i = 1, 50 do
        local c = broker:connect()
        waiting[i] = { c, c:request("Fetch", NEWEST, requests.fetch_body(NEWEST, { { a } }, { max_wait_ms = 600000, min_bytes = 1 })) }
      end
      requests.append(client, a, batch { records = { "news" } })
      for _, one in ipairs(waiting) do
        local part = one[1]:answer("Fetch", NEWEST, one[2]).responses[1].partitions[1]
        assert.same({ "news" }, records.values(part.records))
        one[1]:close()
      end
    end)
  end)

  describe("over several segments", function()
    local rolled, stored, folder

    setup(function()
      local c = broker:connect()
      count = count + 1
      rolled, stored = requests.create(c, ("topic-%d"):format(count), { configs = { ["segment.bytes"] = "1048576" } }), {}
      for i = 0, 9 do
        local one = batch { records = { records.noise(400000, i + 1) } }
        assert.equal(i, requests.append(c, rolled, one))
        stored[i] = records.stored(one, i)
      end
      c:close()
      folder = ("%s/%s-0"):format(broker.data, rolled.name)
    end)

    it("has no segment file larger than segment.bytes, each named after its first offset", function()
      local names = files(folder, ".log")
      assert.same({ "00000000000000000000.log", "00000000000000000002.log", "00000000000000000004.log", "00000000000000000006.log",
        "00000000000000000008.log" }, names)
      for i, name in ipairs(names) do
        assert.is_true(unit.read_file(folder .. "/" .. name) == stored[2 * i - 2] .. stored[2 * i - 1])
      end
    end)

    it("gives from any offset what is left in its segment", function()
      for i = 0, 9 do
        local bytes = fetch(client, rolled, { fetch_offset = i }).records
        assert.is_true(bytes == (i % 2 == 0 and stored[i] .. stored[i + 1] or stored[i]))
      end
    end)

    it("gives all of it from end to end", function()
      local all = {}
      for i = 0, 9 do all[i + 1] = stored[i] end
      assert.is_true(requests.fetch_to_end(client, rolled, 0) == table.concat(all))
    end)

    it("reads what is not in memory any more", function()
      unistd.sync()
      for _, name in ipairs(files(folder, "")) do
        local fd = fcntl.open(folder .. "/" .. name, fcntl.O_RDONLY)
        if fd and fcntl.posix_fadvise then fcntl.posix_fadvise(fd, 0, 0, fcntl.POSIX_FADV_DONTNEED) end
        if fd then unistd.close(fd) end
      end
      for i = 9, 0, -1 do
        assert.is_true(fetch(client, rolled, { fetch_offset = i }).records:sub(1, #stored[i]) == stored[i])
      end
    end)

    it("begins a new segment where the times of records are too far apart", function()
      local a = topic { configs = { ["segment.ms"] = "3600000" } }
      requests.append(client, a, batch { ts = 1000 })
      requests.append(client, a, batch { ts = 1000 + 3600000 })
      requests.append(client, a, batch { ts = 1000 + 3600001 })
      assert.same({ "00000000000000000000.log", "00000000000000000002.log" }, files(("%s/%s-0"):format(broker.data, a.name), ".log"))
      assert.same({ 0, 1 }, records.bases(fetch(client, a).records))
      assert.same({ 2 }, records.bases(fetch(client, a, { fetch_offset = 2 }).records))
    end)
  end)

  it("finds the right topic by name and by id after it was deleted and made anew", function()
    local old = topic()
    requests.append(client, old, batch { records = { "old" } })
    requests.delete(client, old)
    local new = requests.create(client, old.name)
    assert.is_true(new.id ~= old.id)
    requests.append(client, new, batch { records = { "new" } })
    assert.equal(100, fetch(client, old).error_code)
    assert.same({ "new" }, records.values(fetch(client, new).records))
    assert.same({ "new" }, records.values(fetch(client, old, {}, { version = 12 }).records))
  end)

  -- The waits of the following are a minute, which is longer than these specs are patient.
  it("does not wait for more bytes than it may give", function()
    local a = topic()
    requests.append(client, a, batch { records = { records.noise(4000, 1) } })
    local part = fetch(client, a, {}, { max_wait_ms = 60000, min_bytes = 100000, max_bytes = 1000 })
    assert.same({ 0 }, records.bases(part.records))
  end)

  it("does not wait when a limit has cut what there is at the end of a batch", function()
    local a = topic()
    for i = 1, 4 do requests.append(client, a, batch { records = { records.noise(30000, i) } }) end
    local part = fetch(client, a, { partition_max_bytes = 65536 }, { max_wait_ms = 60000, min_bytes = 65536 })
    assert.same({ 0, 1 }, records.bases(part.records))
  end)

  it("looks once at many partitions that all have news", function()
    local a = topic { partitions = 40 }
    local parts = {}
    for i = 0, 39 do parts[i + 1] = { partition = i } end
    local waiting = broker:connect()
    local id = waiting:request("Fetch", NEWEST, requests.fetch_body(NEWEST, { { a, parts } }, { max_wait_ms = 60000, min_bytes = 1 }))
    waiting:wait_until_read()
    requests.append(client, a, batch { records = { "news" } }, { partition = 7 })
    local found = {}
    for _, part in ipairs(waiting:answer("Fetch", NEWEST, id).responses[1].partitions) do
      if part.records ~= "" then found[#found + 1] = part.partition_index end
    end
    assert.same({ 7 }, found)
    waiting:close()
  end)

  it("gives readers every record while it is written", function()
    local load = os.getenv "LUKA_LOAD"
    local command = ("%s both --brokers 127.0.0.1:%d --topic busy --create --partitions 2 --connections 2 --depth 4 --records 10 "
      .. "--seconds 2 --verify >/dev/null 2>%s"):format(load, broker.port, brokers.temp_dir() .. "/load")
    assert.equal(0, os.execute(command))
  end)

  it("closes the connection on a request that ends early, at every length", function()
    local forget = { { log, { 1 } } }
    for _, version in ipairs { 4, 12, NEWEST } do
      local body = requests.fetch_body(version, { { log } }, { forget = version >= 7 and forget or nil })
      assert.is_nil(malformed.first_accepted_prefix(broker, "Fetch", version, body))
    end
    assert.equal(6, fetch(client, log).high_watermark)
  end)
end)
