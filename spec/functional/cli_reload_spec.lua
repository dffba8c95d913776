-- SPDX-License-Identifier: Apache-2.0
-- `luka reload`: what it prints, and its exit statuses.
local brokers = require "spec.support.broker"
local unit = require "spec.support.unit"

local PROGRAM = os.getenv "LUKA_PROGRAM" or "build/luka"

--- Runs `luka reload`; standard output, standard error and exit status.
local function reload(...)
  local folder = unit.temp_dir()
  local words = { PROGRAM, "reload" }
  for _, word in ipairs { ... } do words[#words + 1] = "'" .. word .. "'" end
  local status = os.execute(("timeout 60 %s >%s/out 2>%s/err </dev/null"):format(table.concat(words, " "), folder, folder))
  return unit.read_file(folder .. "/out"), unit.read_file(folder .. "/err"), math.floor(status / 256)
end

describe("luka reload", function()
  local broker, path, socket

  local function write(text) unit.write_file(path, text) end

  setup(function()
    path = unit.temp_dir() .. "/config.lua"
    write "defaults { retention_ms = days(3) }\n"
    broker = brokers.start { config = path }
    socket = broker.data .. "/console.sock"
  end)

  teardown(function() assert.equal(0, broker:stop()) end)

  before_each(function()
    write "defaults { retention_ms = days(3) }\n"
    reload(socket)
  end)

  it("says that nothing is other than before", function()
    local out, err, status = reload(socket)
    assert.same({ "", 0 }, { err, status })
    assert.truthy(out:find("\nunchanged  the configuration", 1, true))
  end)

  it("prints what it has applied", function()
    write "defaults { retention_ms = days(4) }\n"
    local out, err, status = reload(socket)
    assert.same({ "", 0 }, { err, status })
    assert.truthy(out:match "\napplied +defaults%.retention_ms +259200000 +345600000\n")
  end)

  it("prints what needs a restart, and that is no failure", function()
    write "broker { workers = 7 }\ndefaults { retention_ms = days(3) }\n"
    local out, err, status = reload(socket)
    assert.same({ "", 0 }, { err, status })
    assert.truthy(out:match "\nneeds restart +broker%.workers +one per core +7\n")
  end)

  it("prints JSON, an object a line, with --json", function()
    write "defaults { retention_ms = days(4) }\n"
    local out, err, status = reload("--json", socket)
    assert.same({ "", 0 }, { err, status })
    assert.equal('{"outcome":"applied","what":"defaults.retention_ms","old":"259200000","new":"345600000"}\n', out)
  end)

  it("finds the socket by a configuration and --set, as luka console does", function()
    local out, _, status = reload(path, "--set", "data=" .. broker.data)
    assert.equal(0, status)
    assert.truthy(out:find("unchanged", 1, true))
  end)

  describe("of a wrong configuration", function()
    before_each(function() write "defaults { retention_ms = 'x' }\n" end)

    it("prints one line with file and line, and ends with status 2", function()
      local out, err, status = reload(socket)
      assert.equal(path .. ':1: defaults.retention_ms: got "x", expected ', err:match "^(.* expected )[^\n]+\n$")
      assert.same({ "", 2 }, { out, status })
    end)

    it("prints a line of JSON with --log-format json", function()
      local out, err, status = reload("--log-format", "json", socket)
      assert.truthy(err:match '^{"time":"[^"]+","level":"error","text":"[^\n]*:1: defaults%.retention_ms: got \\"x\\", [^\n]*"}\n$')
      assert.same({ "", 2 }, { out, status })
    end)

    it("has changed nothing", function()
      reload(socket)
      write "defaults { retention_ms = days(3) }\n"
      assert.truthy(reload(socket):find("unchanged", 1, true))
    end)
  end)
end)

describe("luka reload without a broker", function()
  it("prints one line that names the socket, and ends with status 1", function()
    local socket = unit.temp_dir() .. "/console.sock"
    local out, err, status = reload(socket)
    assert.truthy(err:match "^luka: cannot connect to [^\n]*\n$" and err:find(socket, 1, true))
    assert.same({ "", 1 }, { out, status })
  end)

  it("ends with status 2 where a configuration is wrong", function()
    local path = unit.temp_dir() .. "/config.lua"
    unit.write_file(path, "broker { id = 'x' }")
    local out, err, status = reload(path)
    assert.equal(path .. ':1: broker.id: got "x", expected a whole number from 0 to 2147483647\n', err)
    assert.same({ "", 2 }, { out, status })
  end)

  it("ends with status 1 where the configuration has no console", function()
    local out, err, status = reload("--set", "console=false")
    assert.truthy(err:match "^luka: [^\n]*no console\n$")
    assert.same({ "", 1 }, { out, status })
  end)
end)
