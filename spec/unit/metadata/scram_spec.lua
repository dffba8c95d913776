-- SPDX-License-Identifier: Apache-2.0
-- SCRAM credentials as they are kept. The golden ones are what Apache Kafka 3.9.1 kept in ZooKeeper for user bob:
-- password "secret", salt "0123456789abcdef", 4096 iterations.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("metadata/scram.h", "base/arena.h", "base/error.h")

local SALT = "0123456789abcdef"
local GOLDEN = {
  { C.SCRAM_SHA_256, "SCRAM-SHA-256", "7983542ede570e44e3095969771c503ab4ef40f3d510f646b329006d2ad29d24",
    "salt=MDEyMzQ1Njc4OWFiY2RlZg==,stored_key=bpSY5Ze9NUH+I35LC3gVq+DpBfK46iXBxvhAKqVu9pE=,"
    .. "server_key=VpYlBuxyzeCI1KnctrefdljpB1mk3Gp7sBI/t11+NkQ=,iterations=4096" },
  { C.SCRAM_SHA_512, "SCRAM-SHA-512", "f70ec5de69e1bcfd9b38dd2963fb9250a150338934b7aaf613211065e14e4f4e"
    .. "eeaba26bb82dca11ec78b515d7a5ad84df796a884f5f85fec5804f7fe52928fe",
    "salt=MDEyMzQ1Njc4OWFiY2RlZg==,stored_key=r9z/nZUq8fze2w1B+snZeCX0/DbTcJ42U3YyyOf6kh076WPqX++W7U3LB2kmr0S3VC4sP4Uz096Wf5kpZ4TeAA==,"
    .. "server_key=97D1EPAJ5VKqAu+hD11Xv78h/Xxebte7rPFRheKF/+P9N8g/kI6RTtlKm3kvLkO/kVxEx5Fk1FEYqmbaLq1/xQ==,iterations=4096" },
}

describe("SCRAM credentials", function()
  local arena

  before_each(function() arena = ffi.new "struct arena" end)
  after_each(function() C.arena_destroy(arena) end)

  local function read(mechanism, text)
    local credential = ffi.new "struct scram_credential"
    return C.scram_read(mechanism, text, credential), credential
  end

  it("have names for two mechanisms", function()
    for _, case in ipairs(GOLDEN) do assert.equal(case[2], ffi.string(C.scram_name(case[1]))) end
    for _, unknown in ipairs { 0, 3, -1, 256 } do assert.is_true(C.scram_name(unknown) == nil) end
  end)

  for _, case in ipairs(GOLDEN) do
    it("are made as Kafka makes them, for " .. case[2], function()
      local password = unit.bytes(case[3])
      assert.equal(case[4], ffi.string(C.scram_make(arena, case[1], SALT, #SALT, password, #password, 4096)))
    end)

    it("are read, for " .. case[2], function()
      local result, credential = read(case[1], case[4])
      assert.equal(0, result)
      assert.equal(SALT, ffi.string(credential.salt, credential.salt_size))
      assert.equal(4096, credential.iterations)
      assert.equal(case[1] == C.SCRAM_SHA_256 and 32 or 64, tonumber(credential.key_size))
    end)

    it("are refused where a byte at the end is missing, at every length, for " .. case[2], function()
      for length = 0, #case[4] - #"4096" - 1 do
        assert.equal(C.ERR_CORRUPT, (read(case[1], case[4]:sub(1, length))), length)
      end
    end)
  end

  it("may have an empty salt, or one of 1024 bytes", function()
    for _, salt in ipairs { "", ("s"):rep(1024), "s", "ss", "sss" } do
      local text = C.scram_make(arena, C.SCRAM_SHA_256, salt, #salt, "p", 1, 4096)
      local result, credential = read(C.SCRAM_SHA_256, text)
      assert.same({ 0, salt }, { result, ffi.string(credential.salt, credential.salt_size) })
    end
  end)

  it("are not those of the other mechanism, and no other text", function()
    assert.equal(C.ERR_CORRUPT, (read(C.SCRAM_SHA_512, GOLDEN[1][4])))
    assert.equal(C.ERR_CORRUPT, (read(C.SCRAM_SHA_256, GOLDEN[2][4])))
    for _, wrong in ipairs { "", ",,,", "salt", "password=x", GOLDEN[1][4]:gsub("4096", "0"), GOLDEN[1][4]:gsub("4096", "-1"),
      GOLDEN[1][4]:gsub("4096", "9999999999999999999"), GOLDEN[1][4]:gsub("4096", "4096x"), GOLDEN[1][4]:gsub("MDEy", "M*Ey"),
      (GOLDEN[1][4]:gsub("salt=", "salt=" .. ("AAAA"):rep(400))) } do
      assert.equal(C.ERR_CORRUPT, (read(C.SCRAM_SHA_256, wrong)))
    end
  end)
end)
