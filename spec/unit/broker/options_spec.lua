-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local evaluate = require "spec.unit.lua.evaluate"
local C = unit.load("broker/options.h", "lua/config.h")

--- The path of the metastore for --set data=... or --set metadata=...
local function metadata(key, value)
  local sets = ffi.new("struct config_override[1]")
  sets[0].key, sets[0].value = key, value
  local config, failure = ffi.new "struct lua_config", ffi.new "struct lua_config_error"
  local options = ffi.new "struct broker_options"
  assert.equal(0, C.lua_config_load(nil, sets, 1, false, config, failure))
  assert.equal(0, C.options_create(config, options))
  local path = ffi.string(options.metadata)
  C.options_destroy(options)
  C.lua_config_destroy(config)
  return path
end

describe("the metastore's file", function()
  local folder = evaluate.folder
  local here = io.popen("pwd -P"):read "*l"

  it("is luka.mdb in the first log directory", function()
    assert.equal(folder .. "/d/luka.mdb", metadata("data", folder .. "/d"))
  end)

  it("has one absolute path, however its folder is written", function()
    assert.equal(here .. "/some/data/luka.mdb", metadata("data", "some/data"))
    for _, path in ipairs { "some//data/", "./some/./data", "some/../some/data", here .. "/some/data" } do
      assert.equal(here .. "/some/data/luka.mdb", metadata("data", path))
    end
    assert.equal(here .. "/x.mdb", metadata("metadata", "./x.mdb"))
    assert.equal("/luka.mdb", metadata("data", "/"))
    assert.equal("/luka.mdb", metadata("data", "/../nonexistent/.."))
  end)

  it("is found through symbolic links", function()
    os.execute(("mkdir -p '%s/real' && ln -sfn '%s/real' '%s/link'"):format(folder, folder, folder))
    assert.equal(folder .. "/real/new/luka.mdb", metadata("data", folder .. "/link/new"))
    assert.equal(folder .. "/new/luka.mdb", metadata("data", folder .. "/link/../new"))
  end)
end)
