-- SPDX-License-Identifier: Apache-2.0
-- Functions about segments: retention decides what goes, archive sees it before it does.
local stat = require "posix.sys.stat"
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local configs = require "spec.support.configs"
local records = require "spec.support.records"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"

local append, batch = requests.append, records.batch
local wait_until = clients.wait_until

--- Two batches fit into a segment.
local SMALL = { ["internal.segment.bytes"] = "300" }
local VALUE = ("x"):rep(60)

describe("a function of a topic", function()
  local broker, client

  --- `topics`: the blocks.
  local function start(topics, keys)
    broker = reload.start(("broker { workers = 1, log_retention_check_interval_ms = 50, %s }\n%s"):format(keys or "", topics))
    client = broker:connect()
  end

  local function topic(name, sets)
    local all = {}
    for key, value in pairs(SMALL) do all[key] = value end
    for key, value in pairs(sets or {}) do all[key] = value end
    configs.set(client, name, all)
    return requests.find(client, name)
  end

  --- Appends so many batches of one record each.
  local function fill(made, count)
    for _ = 1, count do append(client, made, batch { ts = os.time() * 1000, records = { VALUE } }) end
  end

  local function starts_at(made, offset)
    wait_until("the log starts at " .. offset, function() return requests.start_offset(client, made) == offset end)
  end

  --- Lines of the log with a text in them.
  local function said(text)
    local count = 0
    for line in broker:log():gmatch "[^\n]+" do count = count + (line:find(text, 1, true) and 1 or 0) end
    return count
  end

  --- Until there have been some more passes over the logs.
  local function passes()
    local text = ("pass %d"):format(math.random(2 ^ 30))
    local made = requests.create(client, "passes-" .. text:gsub(" ", "-"), { configs = { ["retention.ms"] = "1",
      ["internal.segment.bytes"] = "300" } })
    append(client, made, batch { ts = 1, records = { VALUE } })
    starts_at(made, 1)
  end

  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  describe("retention", function()
    it("deletes what it says, oldest first, to the first that stays, and never the active segment", function()
      start [[topic "a" { retention = function(segment) return segment.base_offset ~= 4 end }
              topic "all" { retention = function() return true end }]]
      local a, all = topic "a", topic "all"
      fill(a, 9)
      fill(all, 9)
      starts_at(a, 4)
      starts_at(all, 8)
      passes()
      assert.same({ 4, 9 }, { requests.start_offset(client, a), requests.end_offset(client, a) })
      assert.same({ 8, 9 }, { requests.start_offset(client, all), requests.end_offset(client, all) })
    end)

    it("is given what a segment is", function()
      start [[topic "a" { retention = function(segment)
        if segment.base_offset == 2 then
          log.info("seen", segment.topic, segment.partition, segment.base_offset, segment.next_offset, segment.size,
            segment.age >= 0 and segment.age < 600000, segment.path:match "/a%-0/%d+%.log$", segment.log.size,
            segment.log.segments)
        end
        return segment.base_offset == 0
      end }]]
      local a = topic "a"
      fill(a, 5)
      starts_at(a, 2)
      wait_until("it is asked", function() return said "seen a 0 2 4 " > 0 end)
      local size, total, segments = broker:log():match "seen a 0 2 4 (%d+) true /a%-0/00000000000000000002%.log (%d+) (%d+)\n"
      assert.is_truthy(size, broker:log())
      assert.equal(2 * tonumber(size) - tonumber(size) / 2, tonumber(total))
      assert.equal("2", segments)
    end)

    it("counts instead of retention.ms and retention.bytes", function()
      start [[topic "a" { retention_ms = 1, retention_bytes = 1, retention = function() return false end }]]
      local a = topic "a"
      fill(a, 6)
      passes()
      assert.equal(0, requests.start_offset(client, a))
    end)

    it("lets go what DeleteRecords has, whatever it says", function()
      start [[topic "a" { retention = function() return false end }]]
      local a = topic "a"
      fill(a, 6)
      client:ask("DeleteRecords", 2, { topics = { { name = "a", partitions = { { partition_index = 0, offset = 5 } } } } })
      wait_until("the files have gone", function() return not stat.stat(broker.data .. "/a-0/00000000000000000002.log") end)
      assert.is_truthy(stat.stat(broker.data .. "/a-0/00000000000000000004.log"))
    end)

    for what, body in pairs {
      ["raises"] = "error 'broken'", ["returns a number"] = "return 1", ["never returns"] = "while true do end",
      ["misspells a field"] = "return segment.sise > 5", ["misspells one of log"] = "return segment.log.bytes > 5",
      ["raises nil"] = "error(nil)", ["takes too much memory"] = "local t = ('x'):rep(2^30)",
    } do
      it(("keeps all when it %s, and says so with its line"):format(what), function()
        start(("topic \"a\" { retention_ms = 1, retention = function(segment)\n %s end }"):format(body))
        local a = topic "a"
        fill(a, 6)
        wait_until("it is told", function() return said "retention of topic a: " > 0 end)
        assert.is_truthy(broker:log():find "retention of topic a: [^\n]*config.lua:[23]: ", broker:log())
        assert.equal(0, requests.start_offset(client, a))
      end)
    end

    it("is replaced by a reload, and taken away by one", function()
      start [[topic "a" { retention = function() return false end }]]
      local a = topic "a"
      fill(a, 6)
      passes()
      reload.hup(broker, [[broker { workers = 1, log_retention_check_interval_ms = 50 }
        topic "a" { retention = function(segment) return segment.base_offset < 2 end }]])
      starts_at(a, 2)
      reload.hup(broker, [[broker { workers = 1, log_retention_check_interval_ms = 50 }
        topic "a" { retention_bytes = 1 }]])
      starts_at(a, 4)
    end)
  end)

  describe("archive", function()
    it("copies segments before they are deleted, and the copy is read as they were", function()
      local folder = brokers.temp_dir() .. "/cold/tier"
      start(([[topic "a" { retention_bytes = 1, archive = function(segment)
        log.info("copied to", segment:copy "%s")
      end }]]):format(folder))
      local a = topic "a"
      fill(a, 5)
      starts_at(a, 4)
      for _, base in ipairs { 0, 2 } do
        local path = ("%s/a-0/%020d.log"):format(folder, base)
        local pipe = assert(io.popen(("%s dump --verify %s 2>&1"):format(brokers.PROGRAM, path)))
        local text = pipe:read "*a"
        pipe:close()
        assert.is_truthy(text:find("2 records", 1, true) or text:find("ok", 1, true), text)
        assert.is_truthy(stat.stat((path:gsub("%.log$", ".index"))))
        assert.is_nil(stat.stat(path .. ".tmp"))
      end
      assert.is_nil(stat.stat(folder .. "/a-0/00000000000000000004.log"))
    end)

    it("keeps a segment, and all newer ones, with false", function()
      start [[topic "a" { retention_bytes = 1, archive = function(segment) return segment.base_offset ~= 2 end }]]
      local a = topic "a"
      fill(a, 9)
      starts_at(a, 2)
      passes()
      assert.equal(2, requests.start_offset(client, a))
    end)

    it("keeps what it cannot copy, and goes on once it can", function()
      start(([[topic "a" { retention_bytes = 1, archive = function(segment) segment:copy "/dev/null/x" end }]]))
      local a = topic "a"
      fill(a, 5)
      wait_until("it is told", function() return said "archive of topic a: " > 0 end)
      assert.is_truthy(broker:log():find "archive of topic a: [^\n]*config.lua:2: cannot copy the segment: ", broker:log())
      assert.equal(0, requests.start_offset(client, a))
    end)

    it("sees what a retention lets go, too", function()
      start [[topic "a" {
        retention = function(segment) return segment.base_offset < 4 end,
        archive = function(segment) log.info("archived", segment.base_offset) end,
      }]]
      local a = topic "a"
      fill(a, 7)
      starts_at(a, 4)
      assert.same({ 1, 1, 0 }, { said "archived 0", said "archived 2", said "archived 4" })
    end)

    it("may read files and run programs where the configuration says unsafe", function()
      start([[topic "a" { retention_bytes = 1, archive = function(segment)
        local file = assert(io.open(segment.path, "rb"))
        log.info("bytes", #file:read "*a" == segment.size, os.execute("true") == 0)
        file:close()
      end }]], "unsafe = true")
      local a = topic "a"
      fill(a, 3)
      starts_at(a, 2)
      assert.equal(1, said "bytes true true")
    end)

    it("that takes for ever does not hold up a stop", function()
      start([[topic "a" { retention_bytes = 1, archive = function() log.info "begins" os.execute "sleep 30" end }]],
        "unsafe = true")
      local a = topic "a"
      fill(a, 3)
      wait_until("it runs", function() return said "begins" > 0 end)
    end)
  end)
end)
