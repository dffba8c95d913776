-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load "os/limits.h"

ffi.cdef [[
  struct spec_rlimit { unsigned long soft; unsigned long hard; };
  int getrlimit(int resource, struct spec_rlimit *limit);
  int setrlimit(int resource, const struct spec_rlimit *limit);
]]
local RLIMIT_NOFILE = 7

local function raise()
  local before, after = ffi.new "uint64_t[1]", ffi.new "uint64_t[1]"
  assert.equal(0, C.limits_raise_files(before, after))
  return tonumber(before[0]), tonumber(after[0])
end

describe("the limit on open files", function()
  it("is raised to the hard limit, and both are told", function()
    local limit = ffi.new "struct spec_rlimit"
    assert.equal(0, C.getrlimit(RLIMIT_NOFILE, limit))
    local hard = tonumber(limit.hard)
    limit.soft = 100
    assert.equal(0, C.setrlimit(RLIMIT_NOFILE, limit))
    assert.same({ 100, hard }, { raise() })
    assert.same({ hard, hard }, { raise() })
  end)
end)
