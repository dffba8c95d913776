-- SPDX-License-Identifier: Apache-2.0
-- `luka produce` and `luka consume` with a broker: lines and records both ways, options, errors, signals, and the line
-- that shows progress on a terminal.
local brokers = require "spec.support.broker"
local wait_until = require("spec.support.client").wait_until
local cjson = require "cjson"
local fcntl = require "posix.fcntl"
local poll = require "posix.poll"
local process = require "spec.support.process"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local signal = require "posix.signal"
local stat = require "posix.sys.stat"
local terminals = require "spec.support.terminal"
local unistd = require "posix.unistd"
local unit = require "spec.support.unit"

local PROGRAM = os.getenv "LUKA_PROGRAM" or "build/luka"

local broker, client, address

--- Runs a verb with the broker's address: standard output, standard error, exit status.
local function run(verb, input, ...)
  local status, out, err = process.start({ PROGRAM, verb, ... }, { input = input, env = { LUKA_BROKER = address } }):wait()
  return out, err, status
end

local function produce(input, ...) return run("produce", input, ...) end
local function consume(...) return run("consume", nil, ...) end

local count = 0

--- A topic of its own for a spec.
local function topic(partitions)
  count = count + 1
  return requests.create(client, "topic-" .. count, { partitions = partitions })
end

--- The records of a partition, as a Fetch gives them.
local function stored(of, partition)
  local fetched = requests.fetch_to_end(client, of, 0, partition or 0)
  return records.read(fetched)
end

local function values(of, partition)
  local out = {}
  for i, record in ipairs(stored(of, partition)) do out[i] = record.value == nil and "<null>" or record.value end
  return out
end

--- The objects of `luka consume --json`.
local function objects(...)
  local out, err, status = consume("--json", ...)
  assert.same({ "", 0 }, { err, status })
  local list = {}
  for line in out:gmatch "[^\n]+" do list[#list + 1] = cjson.decode(line) end
  return list
end

setup(function()
  broker = brokers.start()
  client = broker:connect()
  address = "127.0.0.1:" .. broker.port
end)

teardown(function()
  client:close()
  assert.equal(0, broker:stop())
end)

--- The writing end of a FIFO that a program reads; opening it would wait for ever if the program has ended.
local function writer_of(fifo)
  local fd
  wait_until("the FIFO is read", function()
    fd = fcntl.open(fifo, fcntl.O_WRONLY + fcntl.O_NONBLOCK)
    return fd ~= nil
  end)
  return fd
end

describe("luka produce", function()
  it("makes a record of each line, of bytes of any kind; the last needs no newline", function()
    local t = topic()
    local out, err, status = produce("one\n\n\0\1\255\r\nlast", t.name)
    assert.same({ "", "", 0 }, { out, err, status })
    assert.same({ "one", "", "\0\1\255\r", "last" }, values(t))
  end)

  it("makes nothing of nothing", function()
    local t = topic()
    local _, err, status = produce("", t.name)
    assert.same({ "", 0 }, { err, status })
    assert.equal(0, requests.end_offset(client, t))
  end)

  it("splits keys off, with escapes in the separator", function()
    local t = topic()
    produce("k1\tv1\nk2\tv\t2\n\tempty key\nno key\nk3\t\n", t.name, "-k", "\\t")
    local list = {}
    for i, record in ipairs(stored(t)) do list[i] = { record.key, record.value } end
    assert.same({ { "k1", "v1" }, { "k2", "v\t2" }, { "", "empty key" }, { nil, "no key" }, { "k3", "" } }, list)
  end)

  it("takes separators of several bytes, and of any", function()
    local t = topic()
    produce("a::b\n", t.name, "--key-separator", "::")
    produce("a\0b\n", t.name, "-k", "\\x00")
    for _, record in ipairs(stored(t)) do assert.same({ "a", "b" }, { record.key, record.value }) end
  end)

  it("makes null of empty values when asked", function()
    local t = topic()
    produce("k1:\nk2:v\n\n", t.name, "-k", ":", "--null")
    assert.same({ "<null>", "v", "<null>" }, values(t))
  end)

  it("adds headers, compresses, and writes to a partition", function()
    local t = topic(3)
    local _, err, status = produce(("x"):rep(100) .. "\n", t.name, "-p", "2", "-z", "zstd", "-a", "1", "-H", "a=1", "-H", "b==2=")
    assert.same({ "", 0 }, { err, status })
    local list = objects("-e", t.name)
    assert.same({ { partition = 2, offset = 0, topic = t.name, value = ("x"):rep(100), key = cjson.null,
      headers = { { key = "a", value = "1" }, { key = "b", value = "=2=" } }, timestamp = list[1].timestamp } }, list)
    local batch = requests.fetch_to_end(client, t, 0, 2)
    assert.equal(records.ZSTD, batch:byte(23) % 8)
  end)

  it("puts keys where Kafka's own clients put them", function()
    local t = topic(3)
    -- From UtilsTest of Apache Kafka: murmur2 of the key, without its sign, modulo 3.
    produce("21:a\na-little-bit-long-string:b\nfoobar:c\na-little-bit-longer-string:d\n", t.name, "-k", ":")
    assert.same({ { "a", "c" }, {}, { "b", "d" } }, { values(t, 0), values(t, 1), values(t, 2) })
  end)

  it("keeps the order of lines, many of them, from files", function()
    local t = topic()
    local folder, want = unit.temp_dir(), {}
    for i = 1, 150000 do want[i] = tostring(i) end
    unit.write_file(folder .. "/a", table.concat(want, "\n", 1, 100000) .. "\n")
    unit.write_file(folder .. "/b", table.concat(want, "\n", 100001, 150000))
    local _, err, status = produce(nil, t.name, folder .. "/a", folder .. "/b")
    assert.same({ "", 0 }, { err, status })
    assert.equal(table.concat(want, "\n") .. "\n", (consume("-e", t.name)))
  end)

  it("takes lines of any length that the broker takes", function()
    local t = topic()
    local line = ("0123456789abcdef"):rep(60000)
    produce(line .. "\nshort\n", t.name)
    assert.same({ line, "short" }, values(t))
  end)

  it("reports a record that is refused with the number of its line, and delivers the others", function()
    local t = topic()
    local _, err, status = produce("a\n" .. ("x"):rep(2000000) .. "\nb\n", t.name)
    assert.same({ "luka: line 2: Broker: Message size too large\n", 1 }, { err, status })
    assert.same({ "a", "b" }, values(t))
  end)

  it("names the file of such a line", function()
    local t = topic()
    local folder = unit.temp_dir()
    unit.write_file(folder .. "/a", "1\n2\n")
    unit.write_file(folder .. "/b", "3\n" .. ("x"):rep(2000000))
    local _, err, status = produce(nil, t.name, folder .. "/a", folder .. "/b")
    assert.same({ ("luka: %s/b, line 2: Broker: Message size too large\n"):format(folder), 1 }, { err, status })
  end)

  it("reports the first failures one by one and counts the rest", function()
    local t = topic()
    local _, err, status = produce((("x"):rep(2000) .. "\n"):rep(15), t.name, "-X", "message.max.bytes=1000")
    local _, lines = err:gsub("luka: line %d+: [^\n]*too large\n", "")
    assert.same({ 10, 1 }, { lines, status })
    assert.matches("luka: 15 records in all were not delivered\n", err, 1, true)
  end)

  it("refuses a line that is longer than any may be without reading all of it", function()
    local t = topic()
    local _, err, status = produce("short\n" .. ("x"):rep(1000000), t.name, "-X", "message.max.bytes=100000")
    assert.same({ "luka: line 2 is longer than message.max.bytes, 100000\n", 1 }, { err, status })
    assert.same({ "short" }, values(t))
  end)

  it("makes the broker create a topic", function()
    local _, err, status = produce("x\n", "created-by-produce")
    assert.same({ "", 0 }, { err, status })
    assert.equal("x\n", (consume("-e", "created-by-produce")))
  end)

  it("reports what was not delivered when the broker goes", function()
    local other = brokers.start()
    local mine = other:connect()
    local t = requests.create(mine, "gone")
    local fifo = unit.temp_dir() .. "/fifo"
    assert.equal(0, stat.mkfifo(fifo))
    local program = process.start({ PROGRAM, "produce", "-X", "message.timeout.ms=1000", t.name, fifo },
      { env = { LUKA_BROKER = "127.0.0.1:" .. other.port } })
    local fd = writer_of(fifo)
    unistd.write(fd, "one\n")
    wait_until("the first is delivered", function() return requests.end_offset(mine, t) == 1 end)
    mine:close()
    other:kill()
    unistd.write(fd, "two\nthree\n")
    unistd.close(fd)
    assert.same({ 1, "", ("luka: %s, line 2: Local: Message timed out\nluka: %s, line 3: Local: Message timed out\n")
      :format(fifo, fifo) }, { program:wait() })
  end)

  it("ends with status 130 at Ctrl-C and delivers what it has read", function()
    local t = topic()
    local terminal = terminals.start({ PROGRAM, "produce", t.name }, { env = { LUKA_BROKER = address } })
    terminal:type "one\ntwo\n"
    terminal:wait_for "two"
    wait_until("the lines are there", function() return requests.end_offset(client, t) == 2 end)
    terminal:type "\3"
    assert.equal(130, terminal:wait_exit())
    assert.same({ "one", "two" }, values(t))
    assert.falsy(terminal.screen:find("records", 1, true))
  end)

  it("ends at Ctrl-C also while nobody writes to the FIFO that it reads", function()
    local t = topic()
    local fifo = unit.temp_dir() .. "/fifo"
    assert.equal(0, stat.mkfifo(fifo))
    local program = process.start({ PROGRAM, "produce", t.name, fifo }, { env = { LUKA_BROKER = address } })
    wait_until("it looks at signals", function()
      local status = unit.read_file(("/proc/%d/status"):format(program.pid)) or ""
      return tonumber(status:match "SigBlk:%s*%x*(%x)" or "0", 16) % 4 >= 2
    end)
    program:kill(signal.SIGINT)
    assert.same({ 130, "", "" }, { program:wait() })
  end)

  it("shows progress on a terminal, and takes it away at the end", function()
    local t = topic()
    local fifo = unit.temp_dir() .. "/fifo"
    assert.equal(0, stat.mkfifo(fifo))
    local terminal = terminals.start({ PROGRAM, "produce", t.name, fifo }, { env = { LUKA_BROKER = address } })
    local fd = writer_of(fifo)
    unistd.write(fd, ("x\n"):rep(1234))
    terminal:wait_for "\r\27[K"
    terminal:wait_for "1,234 records, 1.2 KiB, "
    unistd.close(fd)
    assert.equal(0, terminal:wait_exit())
    assert.equal("\r\27[K", terminal.screen:sub(-4))
  end)

  it("shows none when standard error is no terminal", function()
    local t = topic()
    local fifo = unit.temp_dir() .. "/fifo"
    assert.equal(0, stat.mkfifo(fifo))
    local program = process.start({ PROGRAM, "produce", t.name, fifo }, { env = { LUKA_BROKER = address } })
    local fd = writer_of(fifo)
    unistd.write(fd, "x\n")
    wait_until("the line is there", function() return requests.end_offset(client, t) == 1 end)
    unistd.close(fd)
    assert.same({ 0, "", "" }, { program:wait() })
  end)

  it("makes no topic, and sends nothing, when one of the files is not there", function()
    local there = unit.temp_dir() .. "/there"
    unit.write_file(there, "x\n")
    local _, err, status = produce("", "never-made", there, "/nix/da")
    assert.same({ 1, "luka: /nix/da: No such file or directory\n" }, { status, err })
    assert.equal(3, client:ask("Metadata", 12, { topics = { { name = "never-made" } }, allow_auto_topic_creation = false })
      .topics[1].error_code)
  end)

  for _, case in ipairs {
    { "a partition that is not there", { "-p", "3" }, 1, "luka: topic '%s' has no partition 3: it has 1\n" },
    { "a file that is not there", { "/nix/da" }, 1, "luka: /nix/da: No such file or directory\n" },
    { "a folder", { "/" }, 1, "luka: cannot read /: Is a directory\n" },
    { "no broker", { "-b", "127.0.0.1:1" }, 1, "luka: no broker answers at 127.0.0.1:1: Connection refused\n" },
    { "a broker's name that is none", { "-b", "no.such.invalid:1" }, 1, "luka: no broker answers at no.such.invalid:1: " },
    { "a property that is none", { "-X", "foo=1" }, 2, 'luka: No such configuration property: "foo"\n' },
    { "a property's value that is none", { "-X", "linger.ms=x" }, 2, "luka: Invalid value for configuration property " },
    { "an empty separator", { "-k", "" }, 2, "luka: --key-separator is empty\n" },
    { "an unknown compression", { "-z", "brotli" }, 2, "luka: -z: got 'brotli', expected none, gzip, snappy, lz4 or zstd\n" },
    { "a header without a value", { "-H", "x" }, 2, "luka: -H: got 'x', expected " },
  } do
    it(("says what is wrong with %s, status %d"):format(case[1], case[3]), function()
      local t = topic()
      local _, err, status = produce("x\n", t.name, unpack(case[2]))
      assert.equal(case[3], status)
      local want = case[4]:format(t.name)
      assert.equal(want, err:sub(1, #want))
      assert.equal(1, select(2, err:gsub("\n", "")))
    end)
  end
end)

describe("luka consume", function()
  local t

  setup(function()
    t = requests.create(client, "consumed", { partitions = 2 })
    requests.append(client, t, records.batch { ts = 1700000000000, step = 1000, records = { { key = "k0", value = "a" },
      { key = nil, value = "b" }, { key = "\255", value = "\0\254", headers = { { "h", "1" }, { "g", nil } } } } })
    requests.append(client, t, records.batch { ts = 1750000000000, records = { { key = "k3", value = nil } } })
    requests.append(client, t, records.batch { ts = 1750000000000, records = { { key = "q", value = "p1" } } }, { partition = 1 })
  end)

  it("prints values, a line each, of all partitions", function()
    local out, err, status = consume("-e", "consumed")
    assert.same({ "", 0 }, { err, status })
    local lines = {}
    for line in out:gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
    table.sort(lines)
    assert.same({ "", "\0\254", "a", "b", "p1" }, lines)
  end)

  it("prints those of one partition in order", function()
    assert.equal("a\nb\n\0\254\n\n", (consume("-e", "-p", "0", "consumed")))
  end)

  it("prints JSON, with base64 for what is no UTF-8", function()
    assert.same({
      { topic = "consumed", partition = 0, offset = 0, timestamp = 1700000000000, key = "k0", value = "a", headers = {} },
      { topic = "consumed", partition = 0, offset = 1, timestamp = 1700000001000, key = cjson.null, value = "b", headers = {} },
      { topic = "consumed", partition = 0, offset = 2, timestamp = 1700000002000, key_base64 = "/w==", value_base64 = "AP4=",
        headers = { { key = "h", value = "1" }, { key = "g", value = cjson.null } } },
      { topic = "consumed", partition = 0, offset = 3, timestamp = 1750000000000, key = "k3", value = cjson.null, headers = {} },
    }, objects("-e", "-p", "0", "consumed"))
  end)

  it("prints by a format", function()
    assert.equal("consumed 0 2 \255=\0\254 1 2 h=1,g=NULL 1700000002000%\t~\n",
      (consume("-p", "0", "-o", "2", "-c", "1", "-f", "%t %p %o %k=%s %K %S %h %T%%\\t\\x7e\\n", "consumed")))
    assert.equal("k3= 2 -1|", (consume("-p", "0", "-o", "3", "-e", "-f", "%k=%s %K %S|", "consumed")))
  end)

  for _, case in ipairs {
    { "earliest", "a\nb\n\0\254\n\n" },
    { "beginning", "a\nb\n\0\254\n\n" },
    { "2", "\0\254\n\n" },
    { "4", "" },
    { "99", "" },
    { "-1", "\n" },
    { "-99", "a\nb\n\0\254\n\n" },
    { "latest", "" }, { "end", "" },
    { "@1700000001000", "b\n\0\254\n\n" },
    { "@1700000001001", "\0\254\n\n" },
    { "2023-11-14", "a\nb\n\0\254\n\n" },
    { "2023-11-14T22:13:22Z", "\0\254\n\n" },
    { "2023-11-14T23:13:21.5+01:00", "\0\254\n\n" },
    { "2023-11-15", "\n" },
    { "2100-01-01", "" },
  } do
    it("begins at " .. case[1], function()
      local out, err, status = consume("-e", "-p", "0", "-o", case[1], "consumed")
      assert.same({ case[2], "", 0 }, { out, err, status })
    end)
  end

  it("ends after so many records", function()
    assert.equal("a\nb\n", (consume("-c", "2", "-p", "0", "consumed")))
  end)

  it("begins at the first record that is left when those before were deleted", function()
    local cut = topic()
    requests.append(client, cut, records.batch { records = { "a", "b", "c" } })
    client:ask("DeleteRecords", 2, { timeout_ms = 10000,
      topics = { { name = cut.name, partitions = { { partition_index = 0, offset = 2 } } } } })
    assert.equal("c\n", (consume("-e", "-o", "0", cut.name)))
    assert.equal("c\n", (consume("-e", cut.name)))
  end)

  it("goes on with what comes in, until Ctrl-C: status 130, and all is printed", function()
    local live = topic()
    local path = unit.temp_dir() .. "/out"
    local terminal = terminals.start({ PROGRAM, "consume", live.name }, { env = { LUKA_BROKER = address }, output = path })
    local sent = {}
    for i = 1, 3 do
      requests.append(client, live, records.batch { records = { "record " .. i } })
      sent[i] = "record " .. i .. "\n"
      wait_until("it is printed", function() return unit.read_file(path) == table.concat(sent) end)
    end
    terminal:wait_for "3 records, 24 B, "
    terminal:type "\3"
    assert.equal(130, terminal:wait_exit())
    assert.equal(table.concat(sent), unit.read_file(path))
    assert.equal("\r\27[K", terminal.screen:sub(-4))
  end)

  it("ends with status 143 at SIGTERM", function()
    local program = process.start({ PROGRAM, "consume", "-p", "1", "consumed" }, { env = { LUKA_BROKER = address } })
    program:wait_for "p1\n"
    program:kill(signal.SIGTERM)
    assert.same({ 143, "p1\n", "" }, { program:wait() })
  end)

  it("shows no progress where its output is seen", function()
    local terminal = terminals.start({ PROGRAM, "consume", "-p", "1", "consumed" }, { env = { LUKA_BROKER = address } })
    terminal:wait_for "p1\r\n"
    terminal:type "\3"
    assert.equal(130, terminal:wait_exit())
    assert.falsy(terminal.screen:find("records", 1, true))
  end)

  it("shows what is in a record so that a terminal does not obey it", function()
    local odd = topic()
    requests.append(client, odd, records.batch { records = { "a\tb\nc\27[31m\r\194\155\195\188\255" } })
    for _, case in ipairs { { {}, "a\tb\r\nc\\x1b[31m\\r\\xc2\\x9b\195\188\\xff\r\n" },
      { { "-f", "\\x1b[1m%s\\x1b[0m|" }, "\27[1ma\tb\r\nc\\x1b[31m\\r\\xc2\\x9b\195\188\\xff\27[0m|" } } do
      local terminal = terminals.start({ PROGRAM, "consume", "-e", odd.name, unpack(case[1]) }, { env = { LUKA_BROKER = address } })
      assert.equal(0, terminal:wait_exit())
      assert.equal(case[2], terminal.screen)
    end
  end)

  it("ends quietly when nobody reads its output any more", function()
    local many = topic()
    requests.append(client, many, records.batch { records = { ("x"):rep(300000), ("y"):rep(300000) } })
    local program = process.start({ "sh", "-c",
      ("%s consume %s | head -c 5; echo; %s consume %s >&- ; echo $?"):format(PROGRAM, many.name, PROGRAM, many.name) },
      { env = { LUKA_BROKER = address } })
    local _, out, err = program:wait()
    assert.equal("xxxxx\n1\n", out)
    assert.equal("luka: cannot write to standard output: Bad file descriptor\n", err)
  end)

  it("ends at Ctrl-C also while its reader does not read", function()
    local many = topic()
    requests.append(client, many, records.batch { records = { ("x"):rep(300000) } })
    local fifo = unit.temp_dir() .. "/fifo"
    assert.equal(0, stat.mkfifo(fifo))
    local fd = assert(fcntl.open(fifo, fcntl.O_RDWR))
    local program = process.start({ PROGRAM, "consume", many.name }, { env = { LUKA_BROKER = address }, output = fd })
    local output = { [fd] = { events = { OUT = true } } }
    wait_until("the pipe is full", function() return poll.poll(output, 0) == 0 end)
    program:kill(signal.SIGINT)
    assert.equal(130, (program:wait()))
    unistd.close(fd)
  end)

  for _, case in ipairs {
    { "a topic that is not there", { "no-such-topic" }, 1, "luka: there is no topic 'no-such-topic'\n" },
    { "a topic whose name cannot be", { "no/such" }, 1, "luka: topic 'no/such': Broker: Invalid topic\n" },
    { "a partition that is not there", { "-p", "7", "consumed" }, 1, "luka: topic 'consumed' has no partition 7: it has 2\n" },
    { "no broker", { "-b", "127.0.0.1:1", "consumed" }, 1, "luka: no broker answers at 127.0.0.1:1: Connection refused\n" },
    { "a start that is none", { "-o", "yesterday", "consumed" }, 2,
      "luka: --from: got 'yesterday', expected earliest, latest, an offset, -N, a time such as 2026-01-31T12:00:00Z, or @MS since 1970\n" },
    { "a day that is none", { "-o", "2023-02-29", "consumed" }, 2, "luka: --from: got '2023-02-29', expected " },
    { "a format that is none", { "-f", "%k %x", "consumed" }, 2,
      "luka: --format: got '%x', expected %t, %p, %o, %k, %s, %K, %S, %h, %T or %%\n" },
    { "two forms at once", { "--json", "-f", "%k", "consumed" }, 2, "luka: --json and --format exclude each other\n" },
    { "no topic", {}, 2, "luka: consume: TOPIC is missing; `luka help consume` says more\n" },
  } do
    it(("says what is wrong with %s, status %d"):format(case[1], case[3]), function()
      local out, err, status = consume(unpack(case[2]))
      assert.same({ "", case[3] }, { out, status })
      assert.equal(case[4], err:sub(1, #case[4]))
      assert.equal(1, select(2, err:gsub("\n", "")))
    end)
  end

  it("names the Debian package when librdkafka is missing", function()
    local folder = unit.temp_dir()
    unit.write_file(folder .. "/librdkafka.so.1", "no library")
    local status, _, err = process.start({ PROGRAM, "consume", "x" }, { env = { LD_LIBRARY_PATH = folder } }):wait()
    assert.same({ 1, "luka: librdkafka.so.1 is missing: install the Debian package librdkafka1\n" }, { status, err })
  end)
end)
