-- SPDX-License-Identifier: Apache-2.0
-- A configuration whose functions change again and again, read by a broker under full load: no request fails, and each
-- record has met one version of the functions or another.
local clients = require "spec.support.client"
local load = require "spec.support.load"
local records = require "spec.support.records"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"

local RELOADS, SECONDS = 20, 3

--- The configuration's version number n.
local function config(n)
  return ([[
    topic "load" {
      partitions = 3,
      jit = VERSION %% 2 == 0,
      partitioner = function(record, n) return hash(record.value) %% n end,
      transform = function(record)
        record.headers.version = "VERSION"
        return record
      end,
    }
    topic "kept" {}
    view("seen", { from = "kept", where = function(record) return record.value ~= "VERSION" end })
  ]]):gsub("%%%%", "%%"):gsub("VERSION", tostring(n))
end

describe("A broker under full load", function()
  it(("has its configuration read %d times, and no request fails"):format(RELOADS), function()
    local broker = reload.start(config(0), { set = { "workers=2" } })
    local client = broker:connect()
    local requests_done, version, longest_ms = 0, 0, 0
    while version < RELOADS do
      local pipe = load.begin(broker, "both --seconds %d --connections 2 --depth 3 --records 100 --acks 1", SECONDS)
      local until_ms = clients.now_ms() + SECONDS * 1000 - 200
      while clients.now_ms() < until_ms do
        version = version + 1
        local began = clients.now_ms()
        local text = table.concat(reload.hup(broker, config(version)), "\n")
        longest_ms = math.max(longest_ms, clients.now_ms() - began)
        assert.truthy(text:find('applied topic "load".transform: changed', 1, true), text)
      end
      local text = pipe:read "*a"
      pipe:close()
      local errors, lost = 0, 0
      for count in text:gmatch '"errors":(%d+)' do errors = errors + count end
      for count in text:gmatch '"disconnects":(%d+)' do lost = lost + count end
      assert.same({ 0, 0 }, { errors, lost }, text)
      requests_done = requests_done + assert(text:match '"produce":{"requests":(%d+)', text)
    end
    print(("  %d reloads, %d ms at most, under %d Produce requests"):format(version, longest_ms, requests_done))

    local made, seen = requests.find(client, "load"), {}
    for partition = 0, 2 do
      local answer = requests.fetch(client, made, { partition = partition })
      for _, record in ipairs(records.read(answer.records)) do
        assert.same("version", record.headers[1][1])
        seen[tonumber(record.headers[1][2])] = true
      end
    end
    for number in pairs(seen) do assert.is_true(number <= version) end
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
