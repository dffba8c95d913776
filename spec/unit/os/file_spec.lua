-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("os/file.h", "os/errinj.h", "base/error.h", "base/mem.h")

describe("a file", function()
  local dir = unit.temp_dir()

  local function read_all(path)
    local text, size = ffi.new "char *[1]", ffi.new "size_t[1]"
    local result = C.file_read_all(path, 1000, text, size)
    if result < 0 then return nil, result, ffi.string(C.error_last().message) end
    local bytes = ffi.string(text[0], size[0])
    C.mem_free(text[0])
    return bytes
  end

  it("is replaced whole, and read back", function()
    assert.equal(0, C.file_replace(dir .. "/a", "one", 3))
    assert.equal(0, C.file_replace(dir .. "/a", "two!", 4))
    assert.equal("two!", read_all(dir .. "/a"))
    assert.is_nil(unit.read_file(dir .. "/a.tmp"))
  end)

  it("is named in the error when it cannot be read or written", function()
    C.errinj_set(C.ERRINJ_FILE_READ, 1, 5)
    local _, code, message = read_all(dir .. "/a")
    C.errinj_set(C.ERRINJ_FILE_READ, 0, 0)
    assert.same({ C.ERR_IO, dir .. "/a: read failed: Input/output error" }, { code, message })
    C.errinj_set(C.ERRINJ_FILE_WRITE, 1, 28)
    code = C.file_replace(dir .. "/a", "x", 1)
    C.errinj_set(C.ERRINJ_FILE_WRITE, 0, 0)
    assert.same({ C.ERR_NO_SPACE, dir .. "/a.tmp: write failed: No space left on device" },
      { code, ffi.string(C.error_last().message) })
    assert.equal("two!", read_all(dir .. "/a"))
  end)

  it("of another kind is refused, and a pipe does not block", function()
    os.execute("mkfifo " .. dir .. "/pipe && mkdir " .. dir .. "/folder")
    for _, name in ipairs { "pipe", "folder" } do
      local _, code, message = read_all(dir .. "/" .. name)
      assert.same({ C.ERR_CORRUPT, ("%s/%s is not a file"):format(dir, name) }, { code, message })
    end
  end)

  it("larger than the limit is refused", function()
    unit.write_file(dir .. "/large", ("x"):rep(1001))
    local _, code = read_all(dir .. "/large")
    assert.equal(C.ERR_LIMIT, code)
  end)
end)
