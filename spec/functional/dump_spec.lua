-- SPDX-License-Identifier: Apache-2.0
-- `luka dump` on the directory that Apache Kafka 4.4.0 wrote, on one that Luka wrote, and on files that are damaged. The
-- numbers of Kafka's directory are those that Kafka's own DumpLogSegments prints for it.
local brokers = require "spec.support.broker"
local cjson = require "cjson"
local kafka_dir = require "spec.support.kafka_dir"
local process = require "spec.support.process"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local stat = require "posix.sys.stat"
local unistd = require "posix.unistd"
local unit = require "spec.support.unit"

local PROGRAM = os.getenv "LUKA_PROGRAM" or "build/luka"
local FIRST, SECOND = "00000000000000000000", "00000000000000001920"

--- Runs `luka dump`: standard output, standard error, exit status.
local function dump(...)
  local status, out, err = process.start({ PROGRAM, "dump", ... }):wait()
  return out, err, status
end

--- The objects of `luka dump --json`.
local function objects(...)
  local out, err, status = dump("--json", ...)
  assert.equal("", err)
  local list = {}
  for line in out:gmatch "[^\n]+" do list[#list + 1] = cjson.decode(line) end
  return list, status
end

local function of_type(list, kind)
  local out = {}
  for _, object in ipairs(list) do
    if object.type == kind then out[#out + 1] = object end
  end
  return out
end

--- Segments with batches, records, the sum of the CRCs and the last offset, as DumpLogSegments has them.
local SEGMENTS = {
  { "golden-plain-0/" .. FIRST, 173, 1920, 339599087953, 1919 },
  { "golden-plain-0/" .. SECOND, 123, 1200, 258762811944, 3119 },
  { "golden-txn-0/" .. FIRST, 8, 24, 20764879999, 23 },
  { "golden-compact-0/" .. FIRST, 3, 50, 6667616302, 49 },
  { "__consumer_offsets-49/" .. FIRST, 1, 1, 1380617738, 0 },
  { "__transaction_state-43/" .. FIRST, 13, 13, 31459755992, 12 },
}

describe("luka dump of what Apache Kafka wrote", function()
  local data

  setup(function() data = kafka_dir.copy() end)

  for _, case in ipairs(SEGMENTS) do
    it("has the batches and records of " .. case[1], function()
      local list, status = objects("-r", data .. "/" .. case[1] .. ".log")
      local batches, sum = of_type(list, "batch"), 0
      for _, batch in ipairs(batches) do
        sum = sum + batch.crc
        assert.is_true(batch.is_intact)
      end
      assert.same({ case[2], case[3], case[4], case[5], 0 },
        { #batches, #of_type(list, "record"), sum, batches[#batches].last_offset, status })
    end)
  end

  it("shows every field of a batch", function()
    local batch = objects(data .. "/golden-txn-0/" .. FIRST .. ".log")[2]
    assert.same({
      file = data .. "/golden-txn-0/" .. FIRST .. ".log", type = "batch", position = 126, size = 78, base_offset = 5,
      last_offset = 5, count = 1, magic = 2, crc = 3670056825, is_intact = true, compression = "none",
      timestamp_type = "CreateTime", base_timestamp = 1795969957033, max_timestamp = 1795969957033, leader_epoch = 0,
      producer_id = 23, producer_epoch = 0, is_transactional = true, is_control = true,
    }, batch)
  end)

  it("shows keys, values, headers, and what markers say", function()
    local plain = of_type(objects("-r", "-c", "1", "-o", "7", data .. "/golden-plain-0/" .. FIRST .. ".log"), "record")
    local want = kafka_dir.plain(7)
    assert.same({ { file = plain[1].file, type = "record", offset = 7, timestamp = want.timestamp, key = want.key,
      value = want.value, headers = { { key = "n", value = "7" } } } }, plain)
    local markers = {}
    for _, record in ipairs(of_type(objects("-r", data .. "/golden-txn-0/" .. FIRST .. ".log"), "record")) do
      if record.control then markers[#markers + 1] = record.offset .. " " .. record.control .. " " .. record.coordinator_epoch end
    end
    assert.same({ "5 commit 0", "11 abort 0", "17 commit 0", "23 abort 0" }, markers)
  end)

  it("shows bytes that are no UTF-8 as base64", function()
    local record = of_type(objects("-r", data .. "/__consumer_offsets-49/" .. FIRST .. ".log"), "record")[1]
    assert.is_nil(record.value)
    assert.equal("AAQAAAAAAAAE0v////8BAAABoigmvWcBABBjXc6oBt5PKo0YmM1ew7mG", record.value_base64)
    assert.equal("\0\1\0\12golden-group\0\12golden-plain\0\0\0\0", record.key)
  end)

  it("shows the entries of the indexes, and the room behind them", function()
    local list, status = objects(data .. "/golden-plain-0/" .. SECOND .. ".index", data .. "/golden-plain-0/" .. SECOND .. ".timeindex")
    local offsets, times = of_type(list, "index"), of_type(list, "timeindex")
    assert.same({ 54, 54, 0 }, { #offsets, #times, status })
    assert.same({ 1940, 10954, 1960, 22088 }, { offsets[1].offset, offsets[1].position, offsets[2].offset, offsets[2].position })
    assert.same({ 1700000019400, 1940 }, { times[1].timestamp, times[1].offset })
    assert.equal("room for 1310666 more entries", of_type(list, "note")[1].text)
  end)

  it("shows aborted transactions, producers, leader epochs, checkpoints and ids", function()
    local txn = objects(data .. "/golden-txn-0/" .. FIRST .. ".txnindex")
    assert.same({ { 23, 6, 11, 12 }, { 23, 18, 23, 24 } }, {
      { txn[1].producer_id, txn[1].first_offset, txn[1].last_offset, txn[1].last_stable_offset },
      { txn[2].producer_id, txn[2].first_offset, txn[2].last_offset, txn[2].last_stable_offset } })
    local producer = objects(data .. "/golden-plain-0/" .. SECOND .. ".snapshot")
    assert.same({ { file = producer[1].file, type = "producer", producer_id = 22, producer_epoch = 0, first_sequence = 1901,
      last_sequence = 1919, first_offset = 1901, last_offset = 1919, timestamp = 1700000019190 } }, producer)
    local epochs = objects(data .. "/golden-plain-0/leader-epoch-checkpoint")
    assert.same({ 1, 0, 0 }, { #epochs, epochs[1].epoch, epochs[1].start_offset })
    local points, marks = objects(data .. "/recovery-point-offset-checkpoint"), objects(data .. "/replication-offset-checkpoint")
    assert.same({ 150, 134 }, { #points, #marks })
    for _, entry in ipairs(marks) do
      if entry.topic == "golden-plain" then assert.same({ 0, 3120 }, { entry.partition, entry.offset }) end
    end
    local id = objects(data .. "/golden-plain-0/partition.metadata")
    assert.same({ "version", "0", "topic_id", kafka_dir.IDS["golden-plain"] }, { id[1].key, id[1].value, id[2].key, id[2].value })
    local cluster = {}
    for _, property in ipairs(objects(data .. "/meta.properties")) do cluster[property.key] = property.value end
    assert.equal(kafka_dir.CLUSTER_ID, cluster["cluster.id"])
  end)

  it("aligns columns for humans", function()
    local out, err, status = dump("-c", "2", data .. "/golden-txn-0/" .. FIRST .. ".log")
    assert.same({ "", 0 }, { err, status })
    assert.equal(data .. "/golden-txn-0/" .. FIRST .. [[.log: segment, 816 bytes
         OFFSETS  COUNT  POSITION     SIZE  LATEST TIME               CODEC   EPOCH  PRODUCER  SEQUENCE  NOTES
            0..4      5         0      126  2026-11-29T16:32:36.964Z  none        0      23:0      0..4  transactional
               5      1       126       78  2026-11-29T16:32:37.033Z  none        0      23:0         -  control
]], out)
  end)

  it("takes a folder for the files in it, and in the folders in it", function()
    local files, order = {}, {}
    for _, object in ipairs((objects(data .. "/golden-plain-0"))) do
      if not files[object.file] then order[#order + 1] = object.file:match "[^/]*$" end
      files[object.file] = true
    end
    assert.same({ FIRST .. ".log", FIRST .. ".index", FIRST .. ".timeindex", SECOND .. ".log", SECOND .. ".index",
      SECOND .. ".timeindex", SECOND .. ".snapshot", "leader-epoch-checkpoint", "partition.metadata" }, order)
    local _, status = objects("--verify", data)
    assert.equal(0, status)
  end)

  it("verifies it: all is right", function()
    local list, status = objects("--verify", data)
    assert.equal(0, status)
    assert.same({ 33, 0 }, { #of_type(list, "verified"), #of_type(list, "problem") })
    local out = dump("--verify", data .. "/golden-plain-0")
    assert.truthy(out:find(FIRST .. ".log: right, 173 batches, 1920 records, offsets 0..1919\n", 1, true))
    assert.truthy(out:find(SECOND .. ".timeindex: right, 54 entries\n", 1, true))
  end)
end)

describe("luka dump of what Luka wrote", function()
  local broker, folder

  setup(function()
    broker = brokers.start { set = { "log_segment_bytes=1048576", "log_index_interval_bytes=1000" } }
    local client = broker:connect()
    local topic = requests.create(client, "ours")
    for i = 0, 59 do
      requests.append(client, topic, records.batch { records = { { key = "k" .. i, value = ("v"):rep(30000) } } })
    end
    client:close()
    folder = broker.data .. "/ours-0"
  end)

  teardown(function() if not broker:poll_exit() then broker:stop() end end)

  it("verifies the files of a broker that runs", function()
    local list, status = objects("--verify", folder)
    assert.equal(0, status)
    local segments = 0
    for _, object in ipairs(of_type(list, "verified")) do
      if object.file:find "%.log$" then segments = segments + 1 end
    end
    assert.equal(2, segments)
  end)

  it("verifies a whole data directory of a stopped broker", function()
    assert.equal(0, broker:stop())
    local out, err, status = dump("--verify", broker.data)
    assert.same({ "", 0 }, { err, status })
    assert.falsy(out:find("WRONG", 1, true))
    assert.truthy(out:find("meta.properties: right, 5 entries", 1, true))
    assert.falsy(out:find("luka.mdb", 1, true))
  end)

  it("says of the metadata what shows it, and of a clean shutdown that there was one", function()
    local out, err, status = dump(broker.data)
    assert.same({ "", 0 }, { err, status })
    assert.truthy(out:find("luka.mdb: the metastore of a Luka broker", 1, true))
    assert.truthy(out:find(".kafka_cleanshutdown: the last process that used this directory closed it cleanly", 1, true))
  end)
end)

describe("luka dump of damage", function()
  local folder, log

  before_each(function()
    folder = kafka_dir.copy() .. "/golden-plain-0"
    log = folder .. "/" .. FIRST .. ".log"
  end)

  --- Changes bytes of a file from a position on, which counts from 0.
  local function overwrite(path, position, bytes)
    local file = assert(io.open(path, "r+b"))
    file:seek("set", position)
    file:write(bytes)
    file:close()
  end

  local function problems(...)
    local list, status = objects(...)
    local out = {}
    for _, problem in ipairs(of_type(list, "problem")) do
      out[#out + 1] = (problem.position and problem.position .. ": " or "") .. problem.text
    end
    return out, status, list
  end

  it("says where a CRC is wrong, and goes on", function()
    overwrite(log, 200, "x")
    local found, status, list = problems(log)
    assert.same({ "0: the CRC is wrong" }, found)
    assert.equal(1, status)
    assert.equal(173, #of_type(list, "batch"))
  end)

  it("says where the last batch is cut", function()
    unit.write_file(log, unit.read_file(log):sub(1, 10900))
    local found, status, list = problems(log)
    assert.same({ "10794: a batch of 598 bytes is cut after 106; 106 bytes from here to the end are not looked at" }, found)
    assert.same({ 1, 1 }, { status, #of_type(list, "batch") })
    unit.write_file(log, unit.read_file(log):sub(1, 10800))
    assert.same({ "10794: a batch header is cut after 6 bytes; 6 bytes from here to the end are not looked at" }, (problems(log)))
  end)

  it("does not wait for what is no file, nor for a hole of any size", function()
    local place = unit.temp_dir()
    assert.equal(0, stat.mkfifo(place .. "/" .. FIRST .. ".log"))
    assert.equal(0, unistd.link("nowhere", place .. "/" .. SECOND .. ".log", true))
    local name = place .. "/00000000000000005000.log"
    assert.equal(0, os.execute("truncate -s 4T " .. name))
    local status, out, err = process.start({ "timeout", "20", PROGRAM, "dump", place }):wait()
    assert.equal(("%s: segment, 4398046511104 bytes\n! position 0: 4398046511104 bytes of zeros at the end\n"):format(name), out)
    assert.equal(("luka: %s/%s.log: no regular file\nluka: %s/%s.log: No such file or directory\n")
      :format(place, FIRST, place, SECOND), err)
    assert.equal(1, status)
    out, err, status = dump(place .. "/" .. FIRST .. ".log")
    assert.same({ "", ("luka: %s/%s.log: no regular file\n"):format(place, FIRST), 1 }, { out, err, status })
  end)

  it("says where zeros begin, and garbage", function()
    unit.write_file(log, unit.read_file(log):sub(1, 10794) .. ("\0"):rep(5000))
    assert.same({ "10794: 5000 bytes of zeros at the end" }, (problems(log)))
    unit.write_file(log, unit.read_file(log):sub(1, 10794) .. ("garbage!"):rep(100))
    local found, status = problems(log)
    assert.same({ "10794: there is no record format 103; 800 bytes from here to the end are not looked at" }, found)
    assert.equal(1, status)
  end)

  it("does the other files after one that is wrong", function()
    unit.write_file(log, "x")
    local out, err, status = dump("--json", log, folder .. "/nix.log", folder .. "/" .. SECOND .. ".log")
    local _, count = out:gsub('"type":"batch"', "")
    assert.same({ 1, 123 }, { status, count })
    assert.matches("nix.log: No such file", err, 1, true)
  end)

  it("names what cannot be opened, on one line each", function()
    local out, err, status = dump(folder .. "/nix.log", "README.md", folder .. "/partition.metadata")
    assert.equal(1, status)
    assert.equal(("luka: %s/nix.log: No such file or directory\nluka: README.md: no file of a log directory, by its name\n")
      :format(folder), err)
    assert.truthy(out:find("topic_id", 1, true))
  end)

  it("verifies offsets that do not follow each other, and those that are missing", function()
    local bytes = unit.read_file(log)
    unit.write_file(log, bytes:sub(1, 10794) .. bytes:sub(11393, 11990) .. bytes:sub(10795, 11392))
    local found, status = problems("--verify", log)
    assert.same({ "10794: offset 20 missing, and the partition was not compacted", "11392: offset 20 comes after 21" }, found)
    assert.equal(1, status)
    unit.write_file(folder .. "/../cleaner-offset-checkpoint", "0\n1\ngolden-plain 0 22\n")
    assert.same({ "11392: offset 20 comes after 21" }, (problems("--verify", log)))
  end)

  it("verifies that the name of a segment is not above its offsets", function()
    os.rename(log, folder .. "/00000000000000000007.log")
    local found = problems("--verify", folder .. "/00000000000000000007.log")
    assert.same({ "0: an offset below the name of the file" }, found)
  end)

  it("verifies index entries against the segment", function()
    overwrite(folder .. "/" .. SECOND .. ".index", 12, "\0\0\0\99")
    local found, status = problems("--verify", folder .. "/" .. SECOND .. ".index")
    assert.same({ "8: position 99 is not above 10954 of the entry before" }, { found[1] })
    assert.equal(1, status)
    overwrite(folder .. "/" .. SECOND .. ".timeindex", 7, "\1")
    found = problems("--verify", folder .. "/" .. SECOND .. ".timeindex")
    assert.same({ "0: the batch with offset 1940 has the latest time 2023-11-14T22:13:39.400Z" }, found)
  end)

  it("verifies the checksum of a snapshot, and checkpoints", function()
    overwrite(folder .. "/" .. SECOND .. ".snapshot", 20, "x")
    assert.same({ "the checksum is wrong" }, (problems("--verify", folder .. "/" .. SECOND .. ".snapshot")))
    unit.write_file(folder .. "/leader-epoch-checkpoint", "0\n2\n1 5\n0 7\n")
    assert.same({ "line 4: epochs and offsets have to rise" }, (problems("--verify", folder .. "/leader-epoch-checkpoint")))
    unit.write_file(folder .. "/../replication-offset-checkpoint", "0\n2\nfoo 0 1\n")
    assert.same({ "line 2: 2 entries, but there are 1" }, (problems(folder .. "/../replication-offset-checkpoint")))
    unit.write_file(folder .. "/../replication-offset-checkpoint", "0\n1\nfoo 0 99999999999999999999\n")
    assert.same({ "line 3: 'foo 0 99999999999999999999' is no entry" }, (problems(folder .. "/../replication-offset-checkpoint")))
  end)

  it("prints the first problems of a file and counts the rest", function()
    local one = unit.read_file(log):sub(1, 10794)
    unit.write_file(log, one:rep(300))
    local out, _, status = dump("--verify", log)
    local count = 0
    for _ in out:gmatch "comes after 19\n" do count = count + 1 end
    assert.same({ 100, 1 }, { count, status })
    assert.truthy(out:find(": 199 more problems\n", 1, true))
  end)

  it("reads every file under a name that says it is on its way", function()
    for _, suffix in ipairs { ".deleted", ".cleaned", ".swap", ".cut", ".cut.2" } do
      local path = folder .. "/" .. SECOND .. ".log" .. suffix
      unit.write_file(path, unit.read_file(folder .. "/" .. SECOND .. ".log"))
      assert.equal(123, #of_type(objects(path), "batch"))
    end
  end)

  it("bears any prefix of any file", function()
    local cuts = unit.temp_dir()
    for _, name in ipairs { "golden-plain-0/" .. SECOND .. ".snapshot", "golden-plain-0/leader-epoch-checkpoint",
      "golden-plain-0/partition.metadata", "meta.properties", "golden-txn-0/" .. FIRST .. ".log",
      "golden-txn-0/" .. FIRST .. ".txnindex" } do
      local bytes = unit.read_file(folder .. "/../" .. name)
      for size = 0, #bytes do
        kafka_dir.sh("mkdir -p %s/%d", cuts, size)
        unit.write_file(("%s/%d/%s"):format(cuts, size, name:match "[^/]*$"), bytes:sub(1, size))
      end
    end
    local out, err, status = dump("-r", cuts)
    assert.same({ "", 1 }, { err, status })
    assert.truthy(out:find("! position 738: a batch of 78 bytes is cut after 77;", 1, true))
  end)

  it("bears any bytes under any name", function()
    local noise = unit.temp_dir()
    for _, size in ipairs { 1, 10, 17, 61, 100, 5000 } do
      for i, name in ipairs { FIRST .. ".log", FIRST .. ".index", FIRST .. ".timeindex", FIRST .. ".txnindex",
        FIRST .. ".snapshot", "leader-epoch-checkpoint", "replication-offset-checkpoint", "partition.metadata",
        "meta.properties", "99999999999999999999.log", "x.log" } do
        kafka_dir.sh("mkdir -p %s/%d", noise, size)
        unit.write_file(("%s/%d/%s"):format(noise, size, name), records.noise(size, i))
      end
    end
    for _, option in ipairs { "-r", "--json", "--verify" } do
      local out, err, status = dump(option, noise)
      assert.same({ "", 1 }, { err, status })
      -- JSON may have a delete character as it is.
      assert.falsy(out:find(option == "--json" and "[%z\1-\9\11-\31]" or "[%z\1-\9\11-\31\127]"))
    end
  end)

  it("reads a segment that is larger than its memory may be", function()
    if (os.getenv "LUKA_SAN" or "") ~= "" then return end -- sanitizers take terabytes of address space
    local file = assert(io.open(log, "ab"))
    local bytes = unit.read_file(log)
    for _ = 1, 150 do file:write(bytes) end
    file:close()
    local run = process.start { "sh", "-c", "ulimit -v 150000 && exec " .. PROGRAM .. " dump --json " .. log .. " | wc -l" }
    local status, out, err = run:wait()
    assert.same({ 0, "", 151 * 173 }, { status, err, tonumber(out) })
  end)
end)

describe("the command line of luka dump", function()
  for _, case in ipairs {
    { { "dump" }, "luka: dump: FILE is missing; `luka help dump` says more\n" },
    { { "dump", "--verify", "-r", "x.log" }, "luka: --verify looks at whole files: --records, --offset and --count do not go with it\n" },
    { { "dump", "-c", "0", "x.log" }, "luka: -c: got '0', expected a whole number from 1 to 9007199254740992\n" },
    { { "dump", "--offset", "-1", "x.log" }, "luka: --offset: got '-1', expected a whole number from 0 to 9007199254740992\n" },
  } do
    it("is refused with status 2: " .. table.concat(case[1], " "), function()
      local status, _, err = process.start({ PROGRAM, unpack(case[1]) }):wait()
      assert.same({ 2, case[2] }, { status, err })
    end)
  end
end)
