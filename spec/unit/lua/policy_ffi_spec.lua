-- SPDX-License-Identifier: Apache-2.0
-- The structs that lua/luka/ffi/policy.lua declares once more for LuaJIT are those of C, member by member.
local ffi = require "ffi"
local unit = require "spec.support.unit"
unit.load "lua/policy_vm_private.h"
dofile "lua/luka/ffi/policy.lua"

local RECORD = {
  "offset", "timestamp", "timestamp_delta", "key", "value", "headers", "body", "key_size", "value_size", "header_count",
  "headers_size", "attributes",
}
local CALL = {
  "at", "serial", "records", "progress", "stop", "chosen", "actions", "topic", "found", "count", "partitions", "partition",
  "found_size", "call_ms", "running", "is_rejected", "is_changed", "has_offset", "may_edit", "may_emit", "edited",
  "find_header", "hash", "set_bytes",
}

describe("what the compiled state knows of C", function()
  it("has records as they are", function()
    assert.equal(ffi.sizeof "struct record_view", ffi.sizeof "struct luka_record_view")
    for _, name in ipairs(RECORD) do
      assert.equal(ffi.offsetof("struct record_view", name), ffi.offsetof("struct luka_record_view", name), name)
    end
  end)

  it("has calls as they are, up to what is not for Lua", function()
    for _, name in ipairs(CALL) do
      assert.equal(ffi.offsetof("struct policy_call", name), ffi.offsetof("struct luka_policy_call", name), name)
    end
    assert.equal(ffi.offsetof("struct policy_call", "header"), ffi.sizeof "struct luka_policy_call")
  end)
end)
