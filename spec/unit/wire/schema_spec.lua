-- SPDX-License-Identifier: Apache-2.0
-- What the generator refuses in a schema, and that it names file and line.
local unit = require "spec.support.unit"
package.path = "scripts/generate/?.lua;" .. package.path
local schema = require "wire.schema"
local names = require "wire.names"
local output = require "wire.output"

local dir = unit.temp_dir()

--- Loads a schema with the given request fields; the first is on line 3.
local function load(fields, versions, flexible, more)
  unit.write_file(dir .. "/ping.lua", ('return { key = 7, name = "Ping", versions = "%s", flexible = "%s",\n'
    .. "request = {\n%s\n},\n%s\nresponse = {},\n}\n"):format(versions or "0-5", flexible or "3+", fields, more or ""))
  return schema.load_file(dir .. "/ping.lua")
end

local REFUSED = {
  { "an unknown type", '{ "A", "int31", "0+" }, -- a', "3: unknown type 'int31'" },
  { "a struct that is not defined", '{ "A", "Nothing", "0+" }, -- a', "3: unknown type 'Nothing'" },
  { "a field without a comment", '{ "A", "int32", "0+" },', "3: 'A' has no comment" },
  { "an unknown key", '{ "A", "int32", "0+", nul = "0+" }, -- a', "3: 'A' has an unknown key 'nul'" },
  { "a wrong version range", '{ "A", "int32", "0..3" }, -- a', "versions '0..3' is not a version range" },
  { "a range that ends before it begins", '{ "A", "int32", "3-1" }, -- a', "3: versions '3-1' ends before it begins" },
  { "a field that no version has", '{ "A", "int32", "6+" }, -- a', "3: no version of PingRequest has 'A'" },
  { "two fields of one name", '{ "A", "int32", "0+" }, -- a\n{ "A", "int8", "1+" }, -- a',
    "4: 'A' is in PingRequest twice" },
  { "two fields of one tag", '{ "A", "int32", "3+", tag = 0 }, -- a\n{ "B", "int8", "3+", tag = 0 }, -- b',
    "4: tag 0 of 'B' is that of 'A'" },
  { "a gap in the tags", '{ "A", "int32", "3+", tag = 1 }, -- a', "PingRequest has no tag 0" },
  { "a tag in versions that are not flexible", '{ "A", "int32", "2+", tag = 0 }, -- a',
    "3: 'A' is tagged in versions that are not flexible" },
  { "tagged records", '{ "A", "records", "3+", tag = 0 }, -- a', "3: records cannot be tagged" },
  { "records in a tagged struct", '{ "A", "S", "3+", tag = 0, -- a\n{ "B", "records", "3+" } } -- b',
    "3: the tagged field 'A' contains records" },
  { "null of a number", '{ "A", "int32", "0+", null = "0+" }, -- a', "3: 'A' of type int32 cannot be null" },
  { "null in other versions only", '{ "A", "string", "0-2", null = "3+" }, -- a',
    "3: 'A' is never null in the versions that have it" },
  { "a default of null that not all versions allow", '{ "A", "string", "0+", null = "1+", default = "null" }, -- a',
    "3: the default of 'A' is null, which not all of its versions allow" },
  { "a default that does not fit", '{ "A", "int8", "0+", default = 128 }, -- a', "3: default 128 does not fit 'A'" },
  { "a default of an array", '{ "A", "[]int8", "0+", default = 1 }, -- a', "3: default 1 does not fit 'A'" },
  { "fields of a simple type", '{ "A", "int8", "0+", -- a\n{ "B", "int8", "0+" } } -- b',
    "3: 'A' of type int8 cannot have fields" },
  { "a struct defined twice", '{ "A", "S", "0+", -- a\n{ "B", "int8", "0+" } }, -- b\n{ "C", "S", "0+", -- c\n'
    .. '{ "D", "int8", "0+" } } -- d', "5: struct 'S' is defined twice in PingRequest" },
  { "a word of C", '{ "Default", "int8", "0+" }, -- a', "3: 'default' is a word of C" },
  { "an array that has no reader", '{ "A", "[]bool", "0+" }, -- a', "3: arrays of bool are not supported" },
}

describe("the generator refuses", function()
  for _, case in ipairs(REFUSED) do
    it(case[1], function()
      local file, err = load(case[2])
      assert.is_nil(file)
      assert.truthy(err:find(case[3], 1, true), err)
      assert.equal(dir .. "/ping.lua:", err:sub(1, #dir + 10))
    end)
  end

  it("a struct that contains itself", function()
    local file, err = load('{ "A", "[]S", "0+" }, -- a', nil, nil,
      'request_structs = {\n{ "S", -- s\n{ "B", "[]S", "0+" } } }, -- b')
    assert.is_nil(file)
    assert.truthy(err:find("PingRequest.S contains itself", 1, true), err)
  end)

  it("a struct that is not used", function()
    local file, err = load('{ "A", "int8", "0+" }, -- a', nil, nil,
      'request_structs = {\n{ "S", -- s\n{ "B", "int8", "0+" } } }, -- b')
    assert.is_nil(file)
    assert.truthy(err:find("struct 'S' is not used", 1, true), err)
  end)

  it("flexible versions that end, or begin after the last", function()
    local _, err = load('{ "A", "int8", "0+" }, -- a', "0-5", "3-4")
    assert.truthy(err:find("flexible of PingRequest is not open-ended", 1, true), err)
    _, err = load('{ "A", "int8", "0+" }, -- a', "0-5", "6+")
    assert.truthy(err:find("begins after its last version", 1, true), err)
  end)

  it("a name that is not the file's", function()
    unit.write_file(dir .. "/pong.lua", 'return { key = 7, name = "Ping", versions = "0", flexible = "none" }')
    local _, err = schema.load_file(dir .. "/pong.lua")
    assert.truthy(err:find("needs a key, and a name that is the file's", 1, true), err)
  end)

  it("a file that is not Lua, or that calls something", function()
    unit.write_file(dir .. "/ping.lua", "return {")
    assert.is_nil((schema.load_file(dir .. "/ping.lua")))
    unit.write_file(dir .. "/ping.lua", 'os.execute "true" return {}')
    assert.is_nil((schema.load_file(dir .. "/ping.lua")))
  end)
end)

describe("the generator", function()
  it("accepts a schema and takes comments from the line or from above it", function()
    local file, err = load('-- long one,\n-- in two lines\n{ "A", "int32", "0+" },\n'
      .. '{ "B", "S", "3+", tag = 0, -- short\n'
      .. '{ "C", "string", "0+" } }, -- c')
    assert.is_nil(err)
    local fields = file.messages[1].root.fields
    assert.equal("long one, in two lines", fields[1].comment)
    assert.equal("short", fields[2].comment)
    assert.equal("wire_ping_request_s", fields[2].struct.c)
  end)

  it("names things in snake case", function()
    for name, expected in pairs {
      ThrottleTimeMs = "throttle_time_ms", V3AndBelowTopics = "v3_and_below_topics", LeaderAndIsr = "leader_and_isr",
      isKRaftController = "is_kraft_controller", LastKnownElr = "last_known_elr", timeoutMs = "timeout_ms",
      ResultsByTopicV3AndBelow = "results_by_topic_v3_and_below", Enable2Pc = "enable2_pc",
    } do
      assert.equal(expected, names.snake(name))
    end
  end)

  it("writes a file only when its text changes, and removes only stale files of its own", function()
    local out = unit.temp_dir()
    local function put(text)
      local set = output.new(out)
      set:put("a.c", output.MARK .. text)
      assert.is_true(set:finish())
    end
    unit.write_file(out .. "/stale.c", output.MARK .. "old")
    unit.write_file(out .. "/mine.c", "by hand")
    put "1"
    assert.is_nil(unit.read_file(out .. "/stale.c"))
    assert.equal("by hand", unit.read_file(out .. "/mine.c"))
    os.execute("touch -d @1000 " .. out .. "/a.c")
    put "1"
    local pipe = io.popen("stat -c %Y " .. out .. "/a.c")
    assert.equal("1000", pipe:read "*l")
    pipe:close()
    put "2"
    assert.equal(output.MARK .. "2", unit.read_file(out .. "/a.c"))
  end)
end)
