-- SPDX-License-Identifier: Apache-2.0
-- The server as a whole: workers, limits, idleness, start and stop.
local tcp = require "spec.unit.network.tcp"

describe("a server", function()
  it("gives a new connection to the worker with the fewest", function()
    local server = tcp.serve { workers = 4 }
    local clients = {}
    for i = 1, 40 do clients[i] = server:connect() end
    server:wait("connections", 40)
    assert.equal(10, server:count "busiest")
    for i = 1, 40 do clients[i]:ask("e " .. i) end
    for i = 1, 40 do assert.equal(tostring(i), clients[i]:answer()) end
    for i = 1, 20 do clients[i]:close() end
    server:wait("connections", 20)
    for i = 1, 20 do clients[i] = server:connect() end
    server:wait("connections", 40)
    assert.equal(10, server:count "busiest")
    server:stop()
  end)

  it("tells of every connection's begin and end once", function()
    local server = tcp.serve { workers = 2 }
    for i = 1, 30 do
      local client = server:connect()
      client:ask "e x"
      client:answer()
      if i % 3 == 0 then client:reset() elseif i % 3 == 1 then client:close() end
    end
    server:wait("opened", 30)
    server:wait("closed", 20)
    server:stop()
  end)

  it("serves many connections that talk at once on several workers", function()
    local server = tcp.serve { workers = 4 }
    local clients, expected = {}, {}
    for i = 1, 50 do clients[i], expected[i] = server:connect(), {} end
    local seed = 1
    for round = 1, 40 do
      for i, client in ipairs(clients) do
        seed = (seed * 1103515245 + 12345) % 2147483648
        local text = ("%d.%d "):format(round, i) .. ("x"):rep(math.floor(seed / 65536) % 2000)
        client:ask((seed % 5 == 0 and "p " or "e ") .. text)
        table.insert(expected[i], seed % 5 == 0 and text:reverse() or text)
      end
    end
    for i, client in ipairs(clients) do
      for round = 1, 40 do assert.equal(expected[i][round], client:answer()) end
    end
    server:stop()
  end)

  it("accepts nobody beyond max.connections, and those who wait in turn when others have gone", function()
    local server = tcp.serve { workers = 2, max_connections = 2 }
    local log = tcp.log_of(function()
      local first, second = server:connect(), server:connect()
      server:wait("connections", 2)
      local waiting = {}
      for i = 1, 5 do
        waiting[i] = server:connect()
        waiting[i]:ask("e " .. i)
      end
      second:ask "e y" -- the open ones are served
      assert.equal("y", second:answer())
      for i = 1, 5 do assert.is_true(waiting[i]:is_silent()) end
      assert.equal(2, server:count "opened")
      first:close()
      assert.equal("1", waiting[1]:answer())
      second:close()
      assert.equal("2", waiting[2]:answer())
      for i = 3, 5 do
        waiting[i - 2]:close()
        assert.equal(tostring(i), waiting[i]:answer())
      end
      assert.equal(2, server:count "connections")
    end)
    assert.truthy(log:find("new connections wait: max.connections (2) are open", 1, true), log)
    assert.equal(1, select(2, log:gsub("\n", "")), log)
    server:stop()
  end)

  it("accepts those who wait when max.connections is raised", function()
    local server = tcp.serve { max_connections = 1 }
    tcp.log_of(function()
      server:connect()
      server:wait("connections", 1)
      local second, third = server:connect(), server:connect()
      third:ask "e x"
      assert.is_true(second:is_silent())
      assert.equal(0, tcp.C.echo_set_limits(server.echo, 3, 100, nil))
      assert.equal("x", third:answer())
    end)
    server:wait("connections", 3)
    server:stop()
  end)

  it("can be stopped while clients wait to be accepted", function()
    local server = tcp.serve { workers = 2, max_connections = 1 }
    tcp.log_of(function()
      server:connect()
      server:wait("connections", 1)
      for _ = 1, 3 do server:connect() end
      assert.is_true(tonumber(tcp.C.echo_drain(server.echo, 1000)) < 1000)
    end)
    server:stop()
  end)

  it("closes connections beyond the room that descriptors leave at once, and takes new ones when others have gone", function()
    local server = tcp.serve { connection_room = 2 }
    local log = tcp.log_of(function()
      local first, second = server:connect(), server:connect()
      server:wait("connections", 2)
      local third = server:connect()
      assert.equal("eof", (third:ending()))
      first:close()
      server:wait("connections", 1)
      local fourth = server:connect()
      fourth:ask "e x"
      assert.equal("x", fourth:answer())
      second:ask "e y"
      assert.equal("y", second:answer())
    end)
    assert.truthy(log:find("refused: as many are open as the limit on open files allows", 1, true), log)
    server:stop()
  end)

  describe("with max.connections.per.ip", function()
    it("closes further connections of an address at once, and counts those that end", function()
      local server = tcp.serve { workers = 2, max_per_ip = 3 }
      local log = tcp.log_of(function()
        local all = {}
        for i = 1, 3 do all[i] = server:connect() end
        server:wait("connections", 3)
        for _ = 1, 20 do assert.equal("eof", (server:connect():ending())) end
        local other = server:connect { from = "127.0.0.9" }
        other:ask "e x"
        assert.equal("x", other:answer())
        for i = 1, 3 do
          all[i]:reset()
          server:wait("connections", 3)
          all[i] = server:connect()
          all[i]:ask "e y"
          assert.equal("y", all[i]:answer())
        end
        assert.equal("eof", (server:connect():ending()))
      end)
      local line = "connection from 127%.0%.0%.1:%d+ closed: its address has max%.connections%.per%.ip %(3%) open already; 1 closed"
      assert.truthy(log:find(line), log)
      assert.is_true(select(2, log:gsub("\n", "")) <= 3, log) -- one a second
      server:stop()
    end)

    it("has other limits for some addresses, also 0, whatever way they are written", function()
      local server = tcp.serve { listen = ":0", max_per_ip = 1, ip_overrides = "127.0.0.2:3, localhost:2,[::1]:0" }
      tcp.log_of(function()
        for address, limit in pairs { ["127.0.0.1"] = 2, ["127.0.0.2"] = 3, ["127.0.0.3"] = 1 } do
          local before = server:count "opened"
          for _ = 1, limit do server:connect { from = address } end
          server:wait("opened", before + limit)
          assert.equal("eof", (server:connect({ from = address }):ending()), address)
        end
      end)
      server:stop()
    end)

    it("may be 0 with overrides: nobody else is served", function()
      local server = tcp.serve { max_per_ip = 0, ip_overrides = "127.0.0.2:1" }
      tcp.log_of(function()
        assert.equal("eof", (server:connect():ending()))
        local one = server:connect { from = "127.0.0.2" }
        one:ask "e x"
        assert.equal("x", one:answer())
      end)
      server:stop()
    end)

    it("can be changed while the server runs, for connections that come", function()
      local server = tcp.serve { max_per_ip = 1 }
      tcp.log_of(function()
        server:connect()
        server:wait("connections", 1)
        assert.equal("eof", (server:connect():ending()))
        assert.equal(0, tcp.C.echo_set_limits(server.echo, 0, 1, "127.0.0.1:2"))
        server:connect()
        server:wait("connections", 2)
        assert.equal("eof", (server:connect():ending()))
        assert.is_true(tcp.C.echo_set_limits(server.echo, 0, 0, nil) < 0)
        assert.is_true(tcp.C.echo_set_limits(server.echo, 0, 5, "127.0.0.1") < 0)
        assert.equal("eof", (server:connect():ending())) -- nothing has changed
      end)
      server:stop()
    end)

    for text, reason in pairs {
      ["127.0.0.1"] = "expected host:count", [":5"] = "expected host:count", ["127.0.0.1:-1"] = "expected host:count",
      ["127.0.0.1:x"] = "expected host:count", ["127.0.0.1:2147483648"] = "expected host:count",
      ["127.0.0.1:1,,127.0.0.2:1"] = "expected host:count", ["no.such.host.invalid:1"] = "host no.such.host.invalid is unknown",
    } do
      it(("is not started with overrides of %q"):format(text), function()
        local log = tcp.log_of(function()
          assert.has_error(function() tcp.serve { max_per_ip = 1, ip_overrides = text } end)
        end)
        assert.truthy(log:find("max_connections_per_ip_overrides", 1, true), log)
        assert.truthy(log:find(reason, 1, true), log)
      end)
    end
  end)

  it("turns clients away when it is out of descriptors, and serves the others", function()
    local server = tcp.serve()
    local old = server:connect()
    old:ask "e x"
    old:answer()
    local log = tcp.log_of(function()
      tcp.C.echo_use_up_descriptors(3)
      local clients = { server:connect() }
      clients[2] = server:connect()
      -- Every descriptor left is used by a client's own end; the server has none for its end of the last.
      local ended = clients[2]:ending()
      tcp.C.echo_give_descriptors_back()
      assert.equal("eof", ended)
    end)
    assert.truthy(log:find("too many open files", 1, true), log)
    old:ask "e y"
    assert.equal("y", old:answer())
    local new = server:connect()
    new:ask "e z"
    assert.equal("z", new:answer())
    server:stop()
  end)

  it("listens on all interfaces and calls an IPv4 client by its IPv4 address", function()
    local server = tcp.serve { listen = ":0" }
    local log = tcp.log_of(function()
      local client = server:connect()
      client:ask "e x"
      assert.equal("x", client:answer())
      client:send "\255\255\255\255"
      client:ending()
    end)
    assert.truthy(log:find "connection from 127%.0%.0%.1:%d+ closed", log)
    server:stop()
  end)

  it("calls on_start and on_stop once a worker", function()
    local server = tcp.serve { workers = 3 }
    server:wait("started", 3)
    tcp.C.echo_stop(server.echo)
    assert.equal(3, server:count "stopped")
    server:stop()
  end)

  it("stops no worker before the mails of all others have come", function()
    local server = tcp.serve { workers = 4 }
    for _ = 1, 20 do server:connect():ask "m" end
    server:wait("offered", 20)
    tcp.C.echo_stop(server.echo)
    assert.equal(4, server:count "stopped")
    assert.equal(60, server:count "mailed")
    assert.equal(0, server:count "mailed_late")
    server:stop()
  end)

  it("is not started with a number of workers that makes no sense", function()
    local log = tcp.log_of(function()
      assert.has_error(function() tcp.serve { workers = 257 } end)
    end)
    assert.truthy(log:find("workers is a number from 1 to 256", 1, true), log)
  end)
end)

describe("a connection from inside", function()
  it("is served", function()
    local server = tcp.serve { workers = 2 }
    local first, second = server:attach(), server:attach()
    first:ask "e one"
    second:ask("p " .. ("ab"):rep(100000))
    assert.equal("one", first:answer())
    assert.equal(("ba"):rep(100000), second:answer())
    server:stop()
  end)

  it("counts for no limit, and as no client", function()
    local server = tcp.serve { max_connections = 1, connection_room = 1, max_per_ip = 1 }
    local inside = { server:attach(), server:attach(), server:attach() }
    for i = 1, 3 do
      inside[i]:ask("e " .. i)
      assert.equal(tostring(i), inside[i]:answer())
    end
    local client = server:connect()
    client:ask "e x"
    assert.equal("x", client:answer())
    local fourth = server:attach()
    fourth:ask "e y"
    assert.equal("y", fourth:answer())
    assert.equal(1, server:count "connections")
    inside[1]:close()
    server:wait("closed", 1)
    assert.equal(1, server:count "connections")
    client:close()
    server:wait("connections", 0)
    client = server:connect()
    client:ask "e x"
    assert.equal("x", client:answer())
    server:stop()
  end)

  it("is not closed for being idle", function()
    local server = tcp.serve { max_idle_ms = 40 }
    local inside, client = server:attach(), server:connect()
    inside:ask "e x"
    assert.equal("x", inside:answer())
    assert.equal("eof", (client:ending()))
    inside:ask "e y"
    assert.equal("y", inside:answer())
    server:stop()
  end)

  it("ends with the drain, after its answers", function()
    local server = tcp.serve { workers = 2 }
    local inside = server:attach()
    inside:ask "t 50"
    inside:ask "e x"
    server:wait("offered", 2)
    tcp.C.echo_drain(server.echo, 5000)
    assert.equal("t", inside:answer())
    assert.equal("x", inside:answer())
    assert.equal("eof", (inside:ending()))
    server:stop()
  end)
end)

describe("an idle connection", function()
  it("is closed with a clean end after the idle time, without a line in the log", function()
    local server = tcp.serve { max_idle_ms = 40 }
    local log = tcp.log_of(function()
      local client = server:connect()
      assert.equal("eof", (client:ending()))
    end)
    assert.equal("", log)
    assert.equal(1, server:count "idle_closed")
    server:stop()
  end)

  it("is one that sent half a request and then nothing, too", function()
    local server = tcp.serve { max_idle_ms = 40 }
    local client = server:connect()
    client:send(tcp.int32(100) .. "e ")
    assert.equal("eof", (client:ending()))
    server:wait("buffer_bytes", 0)
    server:stop()
  end)

  it("is not one that waits for its answer", function()
    local server = tcp.serve { max_idle_ms = 40 }
    local client, other = server:connect(), server:connect()
    client:ask "h x"
    assert.equal("eof", (other:ending()))
    local last = server:connect()
    assert.equal("eof", (last:ending()))
    local releaser = server:connect()
    releaser:ask "r x"
    assert.equal("h x", client:answer())
    server:stop()
  end)

  it("is not one that keeps talking", function()
    local server = tcp.serve { max_idle_ms = 200 }
    local client = server:connect()
    local start = tcp.now_ms()
    while tcp.now_ms() - start < 500 do
      client:ask "e x"
      assert.equal("x", client:answer())
    end
    assert.equal(0, server:count "idle_closed")
    server:stop()
  end)

  it("is one whose client is gone while its request waits", function()
    for _, frames in ipairs { { "h x" }, { "h x", "d y" } } do
      local server = tcp.serve { max_idle_ms = -1, max_half_closed_ms = 50 }
      local client = server:connect()
      client:ask(unpack(frames))
      server:wait("offered", #frames)
      client:close()
      server:wait("idle_closed", 1)
      server:wait("closed", 1)
      server:stop()
    end
  end)

  it("is one whose client is gone before as many requests as it may have are answered", function()
    local server = tcp.serve { max_inflight = 2, max_half_closed_ms = 50 }
    local client = server:connect()
    client:ask("h x", "h y", "e z")
    server:wait("offered", 2)
    client:close()
    server:wait("closed", 1)
    assert.equal(2, server:count "offered")
    server:stop()
  end)

  it("stays open when the idle time is -1", function()
    local server = tcp.serve { max_idle_ms = -1 }
    local client = server:connect()
    client:ask "e x"
    assert.equal("x", client:answer())
    server:stop()
  end)
end)

describe("draining", function()
  it("closes idle connections and takes no new ones", function()
    local server = tcp.serve { workers = 2 }
    local clients = {}
    for i = 1, 6 do clients[i] = server:connect() end
    server:wait("connections", 6)
    tcp.C.echo_drain(server.echo, 10000)
    for i = 1, 6 do assert.equal("eof", (clients[i]:ending())) end
    assert.has_error(function() tcp.connect(server.port) end)
    server:stop()
  end)

  it("sends the answers of what was taken up, and takes up nothing more", function()
    local server = tcp.serve { send_buffer_bytes = 16384 }
    local client = server:connect { receive_buffer = 8192 }
    client:ask("h drains", "b 900000", "d y", "e never")
    server:wait("offered", 3)
    -- The answer does not fit the socket: the deadline, not the kernel, ends what the client does not take.
    tcp.C.echo_drain(server.echo, 50)
    assert.equal("h drains", client:answer())
    local ended, bytes = client:ending()
    assert.equal("eof", ended)
    assert.equal(tcp.int32(900000), bytes:sub(1, 4))
    assert.is_true(#bytes < 900004)
    server:stop()
  end)

  it("waits for work on other threads", function()
    local server = tcp.serve()
    local client = server:connect()
    local frames = {}
    for i = 1, 100 do frames[i] = "p " .. i end
    client:ask(unpack(frames))
    server:wait("offered", 100)
    tcp.C.echo_drain(server.echo, 10000)
    for i = 1, 100 do assert.equal(tostring(i):reverse(), client:answer()) end
    assert.equal("eof", (client:ending()))
    server:stop()
  end)

  it("has core/api answer what only waits", function()
    local server = tcp.serve()
    local client = server:connect()
    client:ask "h drains"
    server:wait("offered", 1)
    local took = tcp.C.echo_drain(server.echo, 10000)
    assert.is_true(took < 5000, tostring(took))
    assert.equal("h drains", client:answer())
    server:stop()
  end)

  it("ends at its deadline when an answer does not come", function()
    local server = tcp.serve()
    local client = server:connect()
    client:ask "h stays"
    server:wait("offered", 1)
    local took = tonumber(tcp.C.echo_drain(server.echo, 50))
    assert.is_true(took >= 50 and took < 5000, tostring(took))
    assert.equal("eof", (client:ending()))
    server:stop()
  end)

  it("waits for a request whose client is gone", function()
    local server = tcp.serve()
    local client = server:connect()
    client:ask "t 100"
    server:wait("offered", 1)
    client:reset()
    server:wait("closed", 1)
    tcp.C.echo_drain(server.echo, 10000)
    assert.equal(1, server:count "made")
    server:stop()
  end)

  it("ends connections at its deadline, and then waits for the requests that they leave behind", function()
    local server = tcp.serve()
    local client = server:connect()
    client:ask "t 150"
    server:wait("offered", 1)
    assert.is_true(tonumber(tcp.C.echo_drain(server.echo, 20)) >= 20)
    local ended, bytes = client:ending()
    assert.same({ "eof", "" }, { ended, bytes })
    assert.equal(1, server:count "made")
    server:stop()
  end)

  it("is not needed: a server may be stopped with connections open and answers waiting", function()
    local server = tcp.serve { workers = 2 }
    for _ = 1, 4 do server:connect():ask("h x", "e y", "d z") end
    server:wait("offered", 12)
    tcp.C.echo_delete(server.echo)
  end)
end)
