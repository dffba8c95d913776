-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("base/epoch.h", "replica/partition.h", "replica/table.h")

describe("the table of partitions", function()
  local directory, id, parts, thread

  --- Makes `count` partitions of one topic.
  local function make(count)
    parts = ffi.new("struct partition *[?]", count)
    for i = 0, count - 1 do parts[i] = C.partition_new(nil, "topic", id, i, nil, 0) end
  end

  local function change(added, added_count, removed, removed_count)
    C.partition_directory_change(directory, added, added_count, removed, removed_count)
  end

  before_each(function()
    thread = ffi.new "struct epoch_thread"
    C.epoch_register(thread)
    directory = ffi.new "struct partition_directory"
    id = ffi.new "struct uuid"
    ffi.copy(id.bytes, "0123456789abcdef", 16)
    C.partition_directory_create(directory)
  end)
  after_each(function()
    C.partition_directory_destroy(directory)
    C.epoch_unregister()
    C.epoch_collect()
  end)

  it("has what was added, until it is removed", function()
    make(100)
    change(parts, 100, nil, 0)
    for i = 0, 99 do assert.is_true(C.partition_directory_find(directory, id, i) == parts[i]) end
    assert.is_true(C.partition_directory_find(directory, id, 100) == nil)
    change(nil, 0, parts + 10, 80)
    assert.equal(20, tonumber(C.partition_directory_all(directory).count))
    for i = 0, 99 do
      local found = C.partition_directory_find(directory, id, i)
      assert.is_true(i >= 10 and i < 90 and found == nil or (i < 10 or i >= 90) and found == parts[i])
    end
    for i = 0, 99 do C.partition_unref(parts[i]) end
  end)

  it("adds and removes in one change", function()
    make(6)
    change(parts, 3, nil, 0)
    change(parts + 3, 3, parts, 3)
    for i = 0, 5 do assert.equal(i >= 3, C.partition_directory_find(directory, id, i) ~= nil) end
    for i = 0, 5 do C.partition_unref(parts[i]) end
  end)

  it("keeps a removed partition as long as an older version may be read", function()
    make(2)
    change(parts, 2, nil, 0)
    for i = 0, 1 do C.partition_unref(parts[i]) end
    C.epoch_enter()
    local found = C.partition_directory_find(directory, id, 0)
    change(nil, 0, parts, 1)
    assert.is_true(C.partition_try_ref(found))
    C.epoch_leave()
    assert.equal(1, found.refs) -- the table's went with the old version
    C.partition_unref(found)
  end)

  it("holds one reference to each partition, however many versions there were", function()
    make(3)
    change(parts, 2, nil, 0)
    C.epoch_enter()
    for _ = 1, 10 do
      change(parts + 2, 1, nil, 0)
      assert.same({ 2, 2, 2 }, { parts[0].refs, parts[1].refs, parts[2].refs })
      change(nil, 0, parts + 2, 1)
      C.partition_unref(parts[2])
      parts[2] = C.partition_new(nil, "topic", id, 2, nil, 0)
    end
    C.epoch_leave()
    for i = 0, 2 do C.partition_unref(parts[i]) end
  end)

  it("removes 50000 partitions in a moment", function()
    local count = 50000
    make(count)
    change(parts, count, nil, 0)
    for i = 0, count - 1 do C.partition_unref(parts[i]) end
    local before = os.clock()
    change(nil, 0, parts, count)
    assert.is_true(os.clock() - before < 0.5)
    assert.equal(0, tonumber(C.partition_directory_all(directory).count))
  end)
end)
