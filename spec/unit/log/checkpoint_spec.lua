-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("log/checkpoint.h", "base/error.h", "os/errinj.h")

describe("a checkpoint file", function()
  local dir = unit.temp_dir()
  local path = dir .. "/recovery-point-offset-checkpoint"

  --- Reads a file with that text: the entries as "topic-partition=offset", or the error's code and message.
  local function read(text)
    os.remove(path)
    if text then unit.write_file(path, text) end
    local checkpoint = ffi.new "struct checkpoint"
    local result = C.checkpoint_read(path, checkpoint)
    if result < 0 then return nil, result, ffi.string(C.error_last().message) end
    local out = {}
    for i = 0, tonumber(checkpoint.count) - 1 do
      local entry = checkpoint.entries[i]
      out[#out + 1] = ("%s-%d=%s"):format(ffi.string(entry.topic), entry.partition, tostring(entry.offset):gsub("LL", ""))
    end
    C.checkpoint_destroy(checkpoint)
    return out
  end

  local function write(list)
    local entries = ffi.new("struct checkpoint_entry[?]", #list + 1)
    for i, item in ipairs(list) do
      entries[i - 1].topic, entries[i - 1].partition, entries[i - 1].offset = item[1], item[2], item[3]
    end
    return C.checkpoint_write(path, entries, #list)
  end

  it("is read as Kafka writes it", function()
    assert.same({ "a.b_c-0=5", "rd1-0=0", "rd1-12=9223372036854775807" },
      read "0\n3\nrd1 12 9223372036854775807\nrd1 0 0\na.b_c 0 5\n")
  end)

  it("is empty when it is missing, has no byte, or announces no entry", function()
    assert.same({}, read(nil))
    assert.same({}, read "")
    assert.same({}, read "0\n0\n")
  end)

  it("may end without a line end", function() assert.same({ "t-0=7" }, read "0\n1\nt 0 7") end)

  it("takes the last line of a partition that stands twice", function()
    assert.same({ "a-0=1", "t-0=9", "t-1=3" }, read "0\n4\nt 0 7\na 0 1\nt 1 3\nt 0 9\n")
  end)

  it("is written in Kafka's form", function()
    assert.equal(0, write { { "a.b-c", 0, 17 }, { "t", 2147483647, 9223372036854775807LL } })
    assert.equal("0\n2\na.b-c 0 17\nt 2147483647 9223372036854775807\n", unit.read_file(path))
    assert.equal(0, write {})
    assert.equal("0\n0\n", unit.read_file(path))
  end)

  it("leaves nothing else in the folder when it is written", function()
    assert.equal(0, write { { "t", 0, 1 } })
    assert.is_nil(unit.read_file(path .. ".tmp"))
  end)

  it("stays as it was when writing fails", function()
    assert.equal(0, write { { "t", 0, 1 } })
    C.errinj_set(C.ERRINJ_FILE_WRITE, 1, 28)
    local result = write { { "t", 0, 2 } }
    C.errinj_set(C.ERRINJ_FILE_WRITE, 0, 0)
    assert.equal(C.ERR_NO_SPACE, result)
    assert.equal("0\n1\nt 0 1\n", unit.read_file(path))
  end)

  it("finds a partition among many", function()
    local lines = {}
    for i = 999, 0, -1 do lines[#lines + 1] = ("t%d %d %d\n"):format(i % 10, i, i * 3) end
    unit.write_file(path, "0\n1000\n" .. table.concat(lines))
    local checkpoint, offset = ffi.new "struct checkpoint", ffi.new "int64_t[1]"
    assert.equal(0, C.checkpoint_read(path, checkpoint))
    for i = 0, 999 do
      assert.is_true(C.checkpoint_find(checkpoint, "t" .. i % 10, i, offset))
      assert.equal(i * 3, tonumber(offset[0]))
    end
    offset[0] = -7
    assert.is_false(C.checkpoint_find(checkpoint, "t1", 2, offset))
    assert.is_false(C.checkpoint_find(checkpoint, "", 0, offset))
    assert.equal(-7, tonumber(offset[0]))
    C.checkpoint_destroy(checkpoint)
  end)

  local bad = {
    { "zero bytes of a power cut", ("\0"):rep(30), 1 },
    { "a version that is no number", "x\n1\nt 0 7\n", 1 },
    { "no number of entries", "0\n", 2 },
    { "a number of entries that is none", "0\n-1\n", 2 },
    { "fewer lines than announced", "0\n2\nt 0 7\n", 2 },
    { "more lines than announced", "0\n1\nt 0 7\nt 1 8\n", 4 },
    { "a missing field", "0\n1\nt 0\n", 3 },
    { "a field too many", "0\n1\nt 0 7 8\n", 3 },
    { "an empty line", "0\n2\n\nt 0 7\n", 3 },
    { "a partition that is no number", "0\n1\nt x 7\n", 3 },
    { "a partition beyond 32 bits", "0\n1\nt 2147483648 7\n", 3 },
    { "an offset that is no number", "0\n2\nt 0 7\nt 1 7x\n", 4 },
    { "a negative offset", "0\n1\nt 0 -1\n", 3 },
    { "an offset beyond 64 bits", "0\n1\nt 0 9223372036854775808\n", 3 },
    { "a cut last line", "0\n2\nt 0 7\nt 1", 4 },
  }
  for _, case in ipairs(bad) do
    it("with " .. case[1] .. " is refused with file and line", function()
      local entries, code, message = read(case[2])
      assert.is_nil(entries)
      assert.equal(C.ERR_MALFORMED, code)
      assert.equal(("%s:%d: "):format(path, case[3]), message:sub(1, #path + 4))
    end)
  end

  it("of another version is refused", function()
    local _, code = read "1\n1\nt 0 7\n"
    assert.equal(C.ERR_UNSUPPORTED_VERSION, code)
  end)

  it("is refused, or is the whole of it, for every prefix", function()
    local text = "0\n2\ntopic 10 123\nt 1 7\n"
    for length = 1, #text do
      local entries = read(text:sub(1, length))
      -- A digit less is still a number: the prefixes that end in one of the last line.
      if entries then assert.is_true(length >= #text - 1) end
    end
  end)
end)

describe("the clean-shutdown marker", function()
  local dir = unit.temp_dir()

  it("is Kafka's file, there once written and gone once removed", function()
    assert.is_false(C.clean_shutdown_exists(dir))
    assert.equal(0, C.clean_shutdown_write(dir))
    assert.is_true(C.clean_shutdown_exists(dir))
    assert.equal('{"version":0,"brokerEpoch":-1}', unit.read_file(dir .. "/.kafka_cleanshutdown"))
    assert.equal(0, C.clean_shutdown_remove(dir))
    assert.is_false(C.clean_shutdown_exists(dir))
  end)

  it("may be missing when it is removed", function() assert.equal(0, C.clean_shutdown_remove(dir)) end)
end)
