-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local stat = require "posix.sys.stat"
local unit = require "spec.support.unit"
local C = unit.load("os/stream.h", "os/clock.h", "base/error.h", "base/mem.h")

local LIMIT, SILENCE_MS, TOTAL_MS = 1000, 100, 20000

describe("stream_read_all", function()
  local folder = unit.temp_dir()

  --- The bytes, or nil, the code and the errno.
  local function read(path, silence_ms)
    local text, size = ffi.new "char *[1]", ffi.new "size_t[1]"
    local result = C.stream_read_all(path, LIMIT, silence_ms or TOTAL_MS, TOTAL_MS, text, size)
    if result < 0 then return nil, result, C.error_last().os_errno end
    local bytes = ffi.string(text[0], size[0])
    assert.equal(0, text[0][size[0]])
    C.mem_free(text[0])
    return bytes
  end

  it("reads files up to its limit, whatever is in them", function()
    for _, size in ipairs { 0, 1, LIMIT } do
      local bytes = ("\0\255"):rep(LIMIT):sub(1, size)
      unit.write_file(folder .. "/file", bytes)
      assert.equal(bytes, read(folder .. "/file"))
    end
    unit.write_file(folder .. "/file", ("x"):rep(LIMIT + 1))
    assert.equal(C.ERR_LIMIT, (select(2, read(folder .. "/file"))))
  end)

  it("reads a file of the system, which has no size", function()
    assert.equal(unit.read_file "/proc/version", (read "/proc/version"))
  end)

  it("reads devices that end, and no more than its limit of others", function()
    assert.equal("", read "/dev/null")
    assert.equal(C.ERR_LIMIT, (select(2, read "/dev/zero")))
  end)

  it("reads a pipe to its end", function()
    stat.mkfifo(folder .. "/pipe", 384)
    os.execute(("(printf one; printf two) >'%s/pipe' &"):format(folder))
    assert.equal("onetwo", read(folder .. "/pipe"))
  end)

  it("gives up a pipe that nobody writes to", function()
    stat.mkfifo(folder .. "/silent", 384)
    local start = C.clock_mono_ms()
    assert.equal(C.ERR_TIMEOUT, (select(2, read(folder .. "/silent", SILENCE_MS))))
    assert.is_true(C.clock_mono_ms() - start >= SILENCE_MS)
  end)

  it("says why the system refuses", function()
    local _, code, err = read(folder .. "/none")
    assert.same({ C.ERR_NOT_FOUND, 2 }, { code, err })
    assert.equal(21, (select(3, read(folder)))) -- EISDIR
  end)
end)
