-- SPDX-License-Identifier: Apache-2.0
-- Hostile functions in hooks: whatever they do, who asked has an answer that names them, and the broker goes on.
local admins = require "spec.support.admin"
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local reload = require "spec.support.reload"

--- What a hook does for a topic of that name, and what the answer says.
local CASES = {
  { "endless", "while true do end", "took longer than 50 ms" },
  { "endless_pcall", "while true do pcall(function() while true do end end) end", "took longer than 50 ms" },
  { "endless_coroutine", "coroutine.wrap(function() while true do end end)()", "took longer than 50 ms" },
  { "endless_index", "return setmetatable({}, { __index = function() while true do end end }).x", "took longer than 50 ms" },
  { "endless_tostring", "error(setmetatable({}, { __tostring = function() while true do end end }))", "took longer than 50 ms" },
  { "endless_format", "return ('%s'):format(setmetatable({}, { __tostring = function() while true do end end }))",
    "took longer than 50 ms" },
  { "endless_module", "endless()", "took longer than 50 ms" },
  { "pattern", "return ('a'):rep(3000):find('.-.-.-.-b$')", "took longer than 50 ms" },
  { "deep", "local function f() return 1 + f() end f()", "stack overflow" },
  { "gigabyte", "return ('x'):rep(1e9)", "not enough memory" },
  { "bomb", "local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end", "" },
  { "error_nil", "error(nil)", "nil" },
  { "error_table", "error({})", "the error raised is a table, not a text" },
  { "error_tostring", "error(setmetatable({}, { __tostring = function() error 'x' end }))",
    "the error raised is a table, not a text" },
  { "returns", "return {}, {}, error", nil },
  { "yield", "coroutine.yield(1)", "attempt to yield outside a coroutine" },
  { "yield_inside", "return ('%s'):format(setmetatable({}, { __tostring = function() return admin.topics()[1] end }))",
    "cannot wait inside a function that C calls back" },
  { "forever", "while true do admin.topics() end", "is not done after 800 ms" },
  { "odd_reject", "reject {}", "reject: got a table, expected a text" },
  { "caught_reject", "pcall(reject, 'caught')", "caught" },
}

describe("a hostile hook", function()
  local broker, client, admin

  setup(function()
    local parts = { 'hook("topic.create", function(request)' }
    for i, case in ipairs(CASES) do
      parts[#parts + 1] = ("  if request.name == %q then %s end"):format("x" .. i, case[2])
    end
    parts[#parts + 1] = '  if request.name == "itself" then admin.create_topic("itself") produce("itself", { value = "1" }) end'
    parts[#parts + 1] = '  if request.name == "kept" then keep = request request.partitions = 3 end'
    parts[#parts + 1] = "end)"
    local folder = brokers.temp_dir()
    reload.write({ folder = folder }, "return function() while true do end end", "endless.lua")
    reload.write({ folder = folder }, "broker { workers = 2 }\nlocal endless = require 'endless'\n" .. table.concat(parts, "\n"))
    broker = brokers.start { config = folder .. "/config.lua" }
    client = broker:connect()
    admin = admins.of(broker)
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  for i, case in ipairs(CASES) do
    it((case[3] and "is refused and named: " or "does no harm: ") .. case[1], function()
      if not case[3] then return admin.create_topic("x" .. i) end
      local err = admins.refusal(admin.create_topic, "x" .. i)
      assert.equal("POLICY_VIOLATION", err.code)
      assert.truthy(err.message:find(case[3], 1, true))
      if case[1] ~= "caught_reject" then
        assert.truthy(err.message:match "hook topic%.create: .*%w+%.lua:%d+: " or err.message:find("not enough memory", 1, true))
      end
      assert.equal(0, client:ask("ApiVersions", 3, { client_software_name = "a", client_software_version = "1" }).error_code)
      -- All that it held is given up, and hooks are as before.
      clients.wait_until("hooks work", function() return (pcall(admin.create_topic, "fine" .. i)) end)
    end)
  end

  it("may do what it is asked about, without being asked again", function()
    local err = admins.refusal(admin.create_topic, "itself")
    assert.equal("TOPIC_ALREADY_EXISTS", err.code)
    assert.equal(1, admin.list_offsets("itself", "latest")[1].offset)
  end)
end)

describe("a hook that cannot be interrupted", function()
  it("is answered for after a second, and said", function()
    local broker = reload.start([[
      broker { unsafe = true }
      hook("topic.create", function(request) if request.name == "asleep" then os.execute "sleep 3" end end)]])
    local admin = admins.of(broker)
    local err = admins.refusal(admin.create_topic, "asleep")
    assert.same({ "POLICY_VIOLATION", "topic.create: no answer within 1000 ms" }, { err.code, err.message })
    assert.truthy(broker:log():find("the script thread is busy with something that cannot be interrupted", 1, true))
    clients.wait_until("hooks work again", function() return (pcall(admin.create_topic, "awake")) end)
    assert.equal(0, broker:stop())
  end)
end)
