-- SPDX-License-Identifier: Apache-2.0
-- The connections as administrators see them, and what the workers count.
local ffi = require "ffi"
local tcp = require "spec.unit.network.tcp"
local unit = require "spec.support.unit"

local C = unit.load("base/epoch.h", "network/connection_list.h", "inspect_driver.h")

local thread = ffi.new "struct epoch_thread"
C.epoch_register(thread)
C.epoch_enter()

--- { total =, [i] = connection }, by rising id.
local function list(server, limit)
  local found = ffi.new "struct connection_list"
  C.inspect_connections(C.echo_server(server.echo), limit or 1000, found)
  local out = { total = tonumber(found.total) }
  for i = 0, found.count - 1 do
    local info = found.infos[i]
    out[i + 1] = { peer = ffi.string(info.peer), listener = ffi.string(info.listener), client_id = ffi.string(info.client_id),
      request = ffi.string(info.request) }
    for _, name in ipairs { "id", "worker", "connected_ms", "idle_ms", "requests", "received_bytes", "sent_bytes", "unanswered",
      "unsent_bytes", "request_ms" } do out[i + 1][name] = tonumber(info[name]) end
  end
  C.connection_list_destroy(found)
  assert(thread ~= nil) -- it is registered: not to be collected before
  table.sort(out, function(a, b) return a.id < b.id end)
  return out
end

local function metric(server, name)
  return tonumber(C.inspect_server_metric(C.echo_server(server.echo), name))
end

describe("a list of connections", function()
  it("has those of all workers, with ids that rise and are not used again", function()
    local server = tcp.serve { workers = 3 }
    local clients = {}
    for i = 1, 7 do clients[i] = server:connect() end
    server:wait("connections", 7)
    local seen = list(server)
    assert.same({ 7, 7 }, { #seen, seen.total })
    local workers = {}
    for i, one in ipairs(seen) do
      assert.equal(i, one.id)
      assert.is_truthy(one.peer:match "^127%.0%.0%.1:%d+$")
      assert.equal("PLAINTEXT", one.listener)
      workers[one.worker] = (workers[one.worker] or 0) + 1
    end
    assert.same({ [0] = 3, 2, 2 }, workers)
    clients[7]:close()
    server:wait("connections", 6)
    server:connect()
    server:wait("connections", 7)
    assert.equal(8, list(server)[7].id)
    server:stop()
  end)

  it("has what each received, sent and waits for", function()
    local server = tcp.serve {}
    local client = server:connect()
    client:ask("e hello", "h held")
    assert.equal("hello", client:answer())
    local one = list(server)[1]
    assert.same({ 2, 1, #"e hello" + #"h held" + 8, #"hello" + 4, 0 },
      { one.requests, one.unanswered, one.received_bytes, one.sent_bytes, one.unsent_bytes })
    assert.is_true(one.connected_ms >= one.idle_ms and one.idle_ms >= 0)
    client:ask "r held"
    client:answer()
    client:answer()
    one = list(server)[1]
    assert.same({ 3, 0 }, { one.requests, one.unanswered })
    server:stop()
  end)

  it("counts a request that waits for an earlier one as unanswered", function()
    local server = tcp.serve {}
    local client = server:connect()
    client:ask("h held", "d later")
    server:wait("connections", 1)
    tcp.eventually(function() return list(server)[1].unanswered == 2 end)
    local other = server:connect()
    other:ask "r held"
    assert.equal("h held", client:answer())
    assert.equal("later", client:answer())
    assert.equal(0, list(server)[1].unanswered)
    server:stop()
  end)

  it("describes no more than it was asked to, and counts all", function()
    local server = tcp.serve { workers = 2 }
    for _ = 1, 10 do server:connect() end
    server:wait("connections", 10)
    local seen = list(server, 7)
    assert.same({ 7, 10 }, { #seen, seen.total })
    seen = list(server, 0)
    assert.same({ 0, 10 }, { #seen, seen.total })
    server:stop()
  end)

  it("has many of one worker, each once", function()
    local server = tcp.serve {}
    for _ = 1, 700 do server:connect() end
    server:wait("connections", 700)
    local seen = list(server)
    assert.same({ 700, 700 }, { #seen, seen.total })
    for i, one in ipairs(seen) do assert.equal(i, one.id) end
    assert.equal(600, #list(server, 600))
    server:stop()
  end)

  it("is empty when there are none", function()
    local server = tcp.serve { workers = 2 }
    assert.same({ total = 0 }, list(server))
    server:stop()
  end)
end)

describe("the server's metrics", function()
  it("add up what its workers counted", function()
    local server = tcp.serve { workers = 3, max_request_memory = 1000000 }
    local text = ("x"):rep(1000)
    for _ = 1, 6 do
      local client = server:connect()
      client:ask("e " .. text)
      client:answer()
    end
    -- An answer is counted when it has been sent.
    tcp.eventually(function() return metric(server, "network.answers") == 6 end)
    assert.same({ 6, 6, 6, 6 * 1006, 6 * 1004, 0 }, { metric(server, "network.connections"), metric(server, "network.accepted"),
      metric(server, "network.requests"), metric(server, "network.received_bytes"), metric(server, "network.sent_bytes"),
      metric(server, "network.sent_file_bytes") })
    assert.equal(1000000, metric(server, "memory.request_limit_bytes"))
    server:stop()
  end)

  it("have no bound where there is none", function()
    local server = tcp.serve {}
    assert.is_true(metric(server, "memory.answer_limit_bytes") < 0)
    assert.is_true(metric(server, "memory.answer_bytes") >= 0)
    server:stop()
  end)
end)
