-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("log/log_dir.h", "base/error.h", "base/mem.h")

describe("a folder's name", function()
  local function kind(name)
    local topic, partition = ffi.new "char[250]", ffi.new("int32_t[1]", -1)
    local result = C.log_dir_parse_folder(name, topic, partition)
    if result == C.LOG_FOLDER_PARTITION then return "partition", ffi.string(topic), partition[0] end
    local names = { [C.LOG_FOLDER_DELETED] = "deleted", [C.LOG_FOLDER_STRAY] = "stray",
      [C.LOG_FOLDER_FUTURE] = "future", [C.LOG_FOLDER_OTHER] = "other" }
    return names[tonumber(result)]
  end
  local id = "0123456789abcdef0123456789abcdef"

  it("is a topic and, after the last dash, a partition", function()
    assert.same({ "partition", "t", 0 }, { kind "t-0" })
    assert.same({ "partition", "a.b-c_D", 12 }, { kind "a.b-c_D-12" })
    assert.same({ "partition", "a-1", 2147483647 }, { kind "a-1-2147483647" })
    assert.same({ "partition", "x-delete", 3 }, { kind "x-delete-3" })
    assert.same({ "partition", "-", 1 }, { kind "--1" })
    assert.same({ "partition", ("n"):rep(249), 0 }, { kind(("n"):rep(249) .. "-0") })
    assert.same({ "partition", "__consumer_offsets", 49 }, { kind "__consumer_offsets-49" })
  end)

  it("may say that the partition is deleted, stray or half moved", function()
    assert.equal("deleted", (kind("t-0." .. id .. "-delete")))
    assert.equal("deleted", (kind("a.b-c-7." .. id .. "-delete")))
    assert.equal("stray", (kind("t-0." .. id .. "-stray")))
    assert.equal("future", (kind("t-0." .. id .. "-future")))
  end)

  it("is nothing of ours otherwise", function()
    for _, name in ipairs { "lost+found", "luka.mdb", "t", "t-", "-0", "t-x", "t-01", "t--1x", "t-2147483648", "a b-0",
      "é-0", ".-0", "..-0", ("n"):rep(250) .. "-0", "remote-log-index-cache", "__cluster_metadata-0", "t-delete", "t.x-delete", "-delete",
      "t-0." .. id .. "-other" } do
      assert.equal("other", (kind(name)), name)
    end
  end)
end)

describe("a renamed folder's path", function()
  local function renamed(topic, partition, suffix)
    local dir = ffi.new "struct log_dir"
    local path = ffi.new("char[3]", "/d")
    dir.path = path
    local text = C.log_dir_suffix_path(dir, topic, partition, suffix)
    local out = ffi.string(text)
    C.mem_free(text)
    return out
  end

  it("is Kafka's: partition, an id of 32 digits, what happened", function()
    assert.is_truthy(renamed("a.b-c", 7, "delete"):match("^/d/a%.b%-c%-7%.%x+%-delete$"))
    assert.equal(#"/d/a.b-c-7." + 32 + #"-delete", #renamed("a.b-c", 7, "delete"))
    assert.is_truthy(renamed("t", 0, "stray"):match("^/d/t%-0%.%x+%-stray$"))
  end)

  it("is new each time", function() assert.not_equal(renamed("t", 0, "delete"), renamed("t", 0, "delete")) end)

  it("cuts the topic of 249 bytes so that the name has 255", function()
    local name = renamed(("n"):rep(249), 2147483647, "delete"):sub(4)
    assert.equal(255, #name)
    assert.is_truthy(name:match("^n+%-2147483647%.%x+%-delete$"))
  end)
end)
