-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("log/meta_properties.h", "base/error.h")

describe("meta.properties", function()
  local path = unit.temp_dir() .. "/meta.properties"

  local function text_of(pointer) return pointer ~= nil and ffi.string(pointer) or nil end

  local function directory_id(props)
    local text = ffi.new "char[23]"
    C.uuid_format(props.directory_id, text)
    return ffi.string(text)
  end

  --- Reads a file with that text; with an error: nil, code, message.
  local function read(text)
    unit.write_file(path, text)
    local props = ffi.new "struct meta_properties"
    local result = C.meta_properties_read(path, props)
    if result < 0 then return nil, result, ffi.string(C.error_last().message) end
    return ffi.gc(props, C.meta_properties_destroy)
  end

  it("of version 1 is read as Kafka 4.4 writes it", function()
    local props = assert(read("#\n#Sun Nov 29 16:20:02 UTC 2026\nnode.id=1\ndirectory.id=CnQGVsAts4a6d3yaNAz57w\n"
      .. "version=1\ncluster.id=4L6g3nShT-eMCtK--X86sw\n"))
    assert.equal(1, props.node_id)
    assert.equal("4L6g3nShT-eMCtK--X86sw", text_of(props.cluster_id))
    assert.equal("CnQGVsAts4a6d3yaNAz57w", directory_id(props))
    assert.is_nil(text_of(props.metadata))
  end)

  it("of version 0 is read with broker.id", function()
    local props = assert(read "version=0\nbroker.id=17\ncluster.id=abc\n")
    assert.equal(17, props.node_id)
    assert.equal("abc", text_of(props.cluster_id))
    assert.equal("AAAAAAAAAAAAAAAAAAAAAA", directory_id(props))
  end)

  it("may say next to nothing", function()
    local props = assert(read "version=0\n")
    assert.equal(-1, props.node_id)
    assert.is_nil(text_of(props.cluster_id))
  end)

  it("is read with the escapes and separators of Java's properties", function()
    local props = assert(read "version : 1\r\n  node.id 3\n! a comment\ncluster.id = a\\:b\\=c\\u00e9\\\\\nluka.metadata=/d\\\n   ir\n")
    assert.equal(3, props.node_id)
    assert.equal("a:b=c\195\169\\", text_of(props.cluster_id))
    assert.equal("/dir", text_of(props.metadata))
  end)

  it("has lines that end with LF, CR or both", function()
    local props = assert(read "version=1\rnode.id=3\r\ncluster.id=a\\\r b\r\rk=v\r")
    assert.equal(3, props.node_id)
    assert.equal("ab", text_of(props.cluster_id))
    assert.equal("k=v\n", text_of(props.others))
  end)

  it("is written as version 1 with our own line and what others put in", function()
    local props = assert(read "broker.id=2\nreserved.x=a\\=b\nversion=0\ncluster.id=c1\nempty=\n")
    C.uuid_parse("CnQGVsAts4a6d3yaNAz57w", props.directory_id)
    local with_metadata = assert(read "version=1\nluka.metadata=/data/a b\\\\c/luka.mdb\n")
    props.metadata, with_metadata.metadata = with_metadata.metadata, nil
    assert.equal(0, C.meta_properties_write(path, props))
    assert.equal("reserved.x=a\\=b\nempty=\nversion=1\nnode.id=2\ncluster.id=c1\ndirectory.id=CnQGVsAts4a6d3yaNAz57w\n"
      .. "luka.metadata=/data/a b\\\\c/luka.mdb\n", unit.read_file(path))
  end)

  it("reads back what it wrote", function()
    local first = assert(read "version=1\nnode.id=5\ncluster.id=\\ x\\n\ndirectory.id=CnQGVsAts4a6d3yaNAz57w\nluka.metadata=/m\nk:v\n")
    assert.equal(0, C.meta_properties_write(path, first))
    local again = assert(read(unit.read_file(path)))
    assert.equal(5, again.node_id)
    assert.equal(" x\n", text_of(again.cluster_id))
    assert.equal("CnQGVsAts4a6d3yaNAz57w", directory_id(again))
    assert.equal("/m", text_of(again.metadata))
    assert.equal("k:v\n", text_of(again.others))
  end)

  it("loses a backslash at its end, which would join what is written behind it", function()
    for _, case in ipairs { { "\\", "" }, { "\\\\", "\\\\" }, { "\\\\\\", "\\\\" }, { "\\\r", "" } } do
      local first = assert(read("version=1\nk=v" .. case[1]))
      assert.equal("k=v" .. case[2] .. "\n", text_of(first.others))
      assert.equal(0, C.meta_properties_write(path, first))
      assert.equal("k=v" .. case[2] .. "\nversion=1\n", unit.read_file(path))
    end
  end)

  it("is not found when it is missing", function()
    local props = ffi.new "struct meta_properties"
    assert.equal(C.ERR_NOT_FOUND, C.meta_properties_read(path .. ".none", props))
  end)

  local bad = {
    { "no version", "node.id=1\n", "no version" },
    { "a version to come", "version=2\n", "version 2 is not known", "ERR_UNSUPPORTED_VERSION" },
    { "an id that is no number", "version=1\nnode.id=one\n", ":2: 'one' is not a value of node.id" },
    { "a negative id", "version=1\nnode.id=-1\n", ":2: '-1' is not a value of node.id" },
    { "an id beyond 32 bits", "version=0\nbroker.id=2147483648\n", ":2: '2147483648' is not a value of broker.id" },
    { "two ids", "version=0\nbroker.id=1\nnode.id=2\n", ":3: both 1 and 2 are named as broker id" },
    { "an empty cluster id", "version=1\ncluster.id=\n", ":2: '' is not a value of cluster.id" },
    { "no cluster id before CRs", "version=1\ncluster.id\r\r=1\n", ":2: '' is not a value of cluster.id" },
    { "a directory id that is none", "version=1\ndirectory.id=abc\n", ":2: 'abc' is not a value of directory.id" },
    { "a metadata path that is not absolute", "version=1\nluka.metadata=x/luka.mdb\n", ":2: 'x/luka.mdb' is not a value of luka.metadata" },
    { "metadata without a name", "version=1\nluka.metadata=..\n", ":2: '..' is not a value of luka.metadata" },
    { "metadata of a directory without a name", "version=1\nluka.metadata=CnQGVsAts4a6d3yaNAz57w/\n", "is not a value of luka.metadata" },
    { "metadata deeper in a directory", "version=1\nluka.metadata=CnQGVsAts4a6d3yaNAz57w/a/b\n", "is not a value of luka.metadata" },
    { "directories that have no ids", "version=1\nluka.directories=CnQGVsAts4a6d3yaNAz57w,x\n", "is not a value of luka.directories" },
    { "directories that end with a comma", "version=1\nluka.directories=CnQGVsAts4a6d3yaNAz57w,\n", "is not a value of luka.directories" },
    { "zero bytes of a power cut", ("\0"):rep(40), ":1: not a text file" },
  }
  for _, case in ipairs(bad) do
    it("with " .. case[1] .. " is refused with file, line and value", function()
      local props, code, message = read(case[2])
      assert.is_nil(props)
      assert.equal(C[case[4] or "ERR_MALFORMED"], code)
      assert.equal(path, message:sub(1, #path))
      assert.is_truthy(message:find(case[3], 1, true), message)
    end)
  end

  describe("compared with the broker", function()
    local function check(node_id, cluster_id, metadata)
      local props = assert(read "version=1\nnode.id=5\ncluster.id=c5\nluka.metadata=/m/luka.mdb\n")
      local result = C.meta_properties_check(props, "/d/meta.properties", node_id, cluster_id, metadata)
      return result, result < 0 and ffi.string(C.error_last().message) or nil
    end

    it("agrees when both say the same, or one says nothing", function()
      assert.equal(0, (check(5, "c5", "/m/luka.mdb")))
      assert.equal(0, (check(-1, nil, nil)))
      local props = assert(read "version=0\n")
      assert.equal(0, C.meta_properties_check(props, "f", 7, "c7", "/x"))
    end)

    local others = {
      { "another broker id", { 6, "c5", "/m/luka.mdb" }, { "broker id 5", "id is 6" } },
      { "another cluster", { 5, "c6", "/m/luka.mdb" }, { "cluster c5", "cluster c6" } },
      { "another metastore", { 5, "c5", "/n/luka.mdb" }, { "/m/luka.mdb", "/n/luka.mdb" } },
    }
    for _, case in ipairs(others) do
      it("of " .. case[1] .. " is refused with one line that names both and the file", function()
        local result, message = check(unpack(case[2]))
        assert.equal(C.ERR_CONFIG, result)
        assert.is_truthy(message:find("/d/meta.properties", 1, true), message)
        assert.is_truthy(message:find(case[3][1], 1, true), message)
        assert.is_truthy(message:find(case[3][2], 1, true), message)
        assert.is_nil(message:find "\n")
      end)
    end
  end)
end)
