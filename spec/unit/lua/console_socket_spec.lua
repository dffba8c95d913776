-- SPDX-License-Identifier: Apache-2.0
-- Which socket `luka console` and `luka reload` connect to.
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path

local socket = require "posix.sys.socket"
local unistd = require "posix.unistd"
local unit = require "spec.support.unit"

--- What the configuration says, and what was asked of it; C evaluates it in the program.
local answer, asked
package.loaded["luka.native.config"] = {
  evaluate = function(path, sets, is_debug, is_json)
    asked = { path = path, sets = sets, is_debug = is_debug, is_json = is_json }
    return unpack(answer, 1, 3)
  end,
}
local find = require("luka.console.socket")

describe("the console's socket", function()
  local folder
  local home = unistd.getcwd()

  before_each(function()
    folder = unit.temp_dir()
    assert(unistd.chdir(folder))
    answer, asked = { { console = "somewhere/console.sock" } }, nil
  end)
  after_each(function() unistd.chdir(home) end)

  it("is the argument when that is one", function()
    local fd = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0)
    socket.bind(fd, { family = socket.AF_UNIX, path = "c.sock" })
    assert.equal("c.sock", find.find("c.sock", {}))
    assert.is_nil(asked)
    unistd.close(fd)
  end)

  it("is the argument when there is no such file: connecting says so", function()
    assert.equal("gone.sock", find.find("gone.sock", {}))
  end)

  it("is what the configuration says that is the argument", function()
    unit.write_file("my.conf", "")
    assert.equal("somewhere/console.sock", find.find("my.conf", { set = { { "id", "7" } }, debug = true }))
    assert.same({ path = "my.conf", sets = { { "id", "7" } }, is_debug = true, is_json = false }, asked)
  end)

  it("is what ./config.lua says where that exists", function()
    unit.write_file("config.lua", "")
    assert.equal("somewhere/console.sock", find.find(nil, {}))
    assert.equal("config.lua", asked.path)
  end)

  it("is the default without an argument and without ./config.lua", function()
    assert.equal("somewhere/console.sock", find.find(nil, {}))
    assert.is_nil(asked.path)
  end)

  local function refused(argument, options)
    local ok, err = pcall(find.find, argument, options or {})
    assert.is_false(ok)
    return err
  end

  it("is refused when the configuration is wrong, as serve does", function()
    answer = { nil, "config.lua:1: broken", "a traceback" }
    assert.same({ code = "config", message = "config.lua:1: broken", trace = "a traceback" }, refused "config.lua")
  end)

  it("is refused when the configuration turns it off", function()
    answer = { {} }
    assert.same({ code = "failed", message = "config.lua: broker.console is false: this broker has no console" }, refused "config.lua")
  end)

  it("is refused for a folder, and for --set beside a socket", function()
    assert.same({ code = "usage", message = ". is a folder: expected a configuration, or the socket of a broker's console" }, refused ".")
    assert.same({ code = "usage", message = "--set goes with a configuration, and gone.sock is none" },
      refused("gone.sock", { set = { { "id", "7" } } }))
  end)
end)
