-- SPDX-License-Identifier: Apache-2.0
-- Memory that connections share: who waits when requests or answers take all of it, who goes first, and who is closed.
local tcp = require "spec.unit.network.tcp"

local KIB = 1024

-- Bytes of a large request that a client sends first: with more than a small buffer it needs its own.
local PART = 20 * KIB

--- A frame that the echo server answers with its text.
local function echo_frame(size, letter) return tcp.frame("e " .. (letter or "x"):rep(size - 2)) end

describe("Request memory", function()
  it("is counted while a large request is read, and given back with its answer or its connection", function()
    local server = tcp.serve { max_request_memory = 10 * 1024 * KIB }
    local first, second = server:connect(), server:connect()
    local frame = echo_frame(200 * KIB)
    first:send(frame:sub(1, PART))
    second:send(frame:sub(1, PART))
    server:wait("request_memory", 512 * KIB) -- two buffers of 256 KiB
    first:send(frame:sub(PART + 1))
    assert.equal(200 * KIB - 2, #first:answer())
    server:wait("request_memory", 256 * KIB)
    second:close()
    server:wait("request_memory", 0)
    server:stop()
  end)

  it("is taken for several large requests at once by a connection that sends them, while half of it is free", function()
    for limit, taken in pairs { [10 * 1024 * KIB] = 256 * KIB, [400 * KIB] = 64 * KIB } do
      local server = tcp.serve { max_request_memory = limit }
      local client = server:connect()
      local frame = echo_frame(60 * KIB)
      client:send(frame:sub(1, PART))
      server:wait("request_memory", 64 * KIB)
      client:send(frame:sub(PART + 1))
      client:answer()
      client:send(frame:sub(1, PART))
      server:wait("request_memory", taken)
      client:send(frame:sub(PART + 1) .. frame .. frame)
      for _ = 1, 3 do assert.equal(60 * KIB - 2, #client:answer()) end
      server:wait("request_memory", 0)
      server:stop()
    end
  end)

  it("is not taken before the length is there by a connection whose last request was larger than usual batches are", function()
    local server = tcp.serve { max_request_memory = 64 * 1024 * KIB }
    local client, other = server:connect(), server:connect()
    client:send(echo_frame(3 * 1024 * KIB))
    client:answer()
    server:wait("request_memory", 0)
    client:send(echo_frame(100):sub(1, 3))
    for _ = 1, 20 do
      other:send(echo_frame(100))
      other:answer()
      server:wait("request_memory", 0)
    end
    client:send(echo_frame(100):sub(4))
    assert.equal(98, #client:answer())
    server:stop()
  end)

  it("has a large request wait when it is all taken, unread, until some is given back", function()
    local server = tcp.serve { max_request_memory = 256 * KIB }
    local first, second = server:connect(), server:connect()
    local frame = echo_frame(200 * KIB)
    first:send(frame:sub(1, PART))
    server:wait("request_memory", 256 * KIB)
    second:send(frame:sub(1, PART))
    server:wait("waiting", 1)
    assert.is_true(second:is_silent())
    first:send(frame:sub(PART + 1))
    first:answer()
    second:send(frame:sub(PART + 1))
    assert.equal(200 * KIB - 2, #second:answer())
    server:wait("waiting", 0)
    server:wait("request_memory", 0)
    server:stop()
  end)

  it("lets small requests pass when it is all taken", function()
    local server = tcp.serve { max_request_memory = 256 * KIB }
    local holder, waiter = server:connect(), server:connect()
    holder:send(echo_frame(300 * KIB):sub(1, PART))
    server:wait("request_memory", 1024 * KIB)
    waiter:send(echo_frame(300 * KIB):sub(1, PART))
    server:wait("waiting", 1)
    for i = 1, 20 do
      local client = server:connect()
      client:send(echo_frame(10 * KIB, "s"))
      assert.equal(10 * KIB - 2, #client:answer(), i)
    end
    server:stop()
  end)

  it("stops one whose earlier requests are unanswered at its first small buffer", function()
    local server = tcp.serve { max_request_memory = 256 * KIB, max_half_closed_ms = 50 }
    local holder, client, other = server:connect(), server:connect(), server:connect()
    holder:send(echo_frame(200 * KIB):sub(1, PART))
    server:wait("request_memory", 256 * KIB)
    for _ = 1, 10 do client:ask("h a" .. ("y"):rep(10 * KIB)) end
    server:wait("waiting", 1)
    assert.is_true(server:count "offered" < 3)
    holder:close()
    server:wait("offered", 10)
    other:ask "e x"
    assert.equal("x", other:answer())
    server:stop()
  end)

  it("lets a request pass that is larger than all of it, alone", function()
    local server = tcp.serve { max_request_memory = 20 * KIB }
    local clients = {}
    for i = 1, 4 do
      clients[i] = server:connect()
      clients[i]:send(echo_frame(300 * KIB):sub(1, 300 * KIB))
    end
    server:wait("waiting", 3)
    for i = 1, 4 do clients[i]:send(echo_frame(300 * KIB):sub(300 * KIB + 1)) end
    for i = 1, 4 do assert.equal(300 * KIB - 2, #clients[i]:answer()) end
    server:wait("request_memory", 0)
    server:stop()
  end)

  it("is served in the order of arrival, whatever the worker", function()
    local server = tcp.serve { workers = 3, max_request_memory = 256 * KIB }
    local frame = echo_frame(200 * KIB)
    local holder = server:connect()
    holder:send(frame:sub(1, PART))
    server:wait("request_memory", 256 * KIB)
    local clients = {}
    for i = 1, 9 do
      clients[i] = server:connect()
      clients[i]:send(frame:sub(1, PART))
      server:wait("waiting", i)
    end
    holder:close()
    for i = 1, 9 do
      -- Only the one whose turn it is, is read; the others wait.
      server:wait("waiting", 9 - i)
      clients[i]:send(frame:sub(PART + 1))
      assert.equal(200 * KIB - 2, #clients[i]:answer())
    end
    server:stop()
  end)

  it("brings a hundred half-sent large requests to their end, a few at a time", function()
    local server = tcp.serve { workers = 4, max_request_memory = 1024 * KIB }
    local frame = echo_frame(600 * KIB)
    local clients = {}
    for i = 1, 100 do
      clients[i] = server:connect()
      -- As much as is taken: of those that wait nothing is read, and their sockets fill up.
      clients[i].sent = clients[i]:try_send(frame:sub(1, 300 * KIB))
    end
    server:wait("waiting", 99)
    assert.is_true(server:count "buffer_bytes" <= 1024 * KIB + 100 * 16 * KIB)
    -- Nobody knows whose turn it is: all go on sending, as far as they are read.
    local left, deadline = 100, tcp.now_ms() + 3 * tcp.DEADLINE_MS
    while left > 0 and tcp.now_ms() < deadline do
      for _, client in ipairs(clients) do
        if client.sent < #frame then
          client.sent = client.sent + client:try_send(frame:sub(client.sent + 1))
          if client.sent == #frame then left = left - 1 end
        end
      end
      tcp.pause(1)
    end
    for i = 1, 100 do assert.equal(600 * KIB - 2, #clients[i]:answer(), i) end
    server:wait("request_memory", 0)
    server:stop()
  end)

  it("is not kept by clients that announce and do not send, while others wait", function()
    local server = tcp.serve { workers = 2, max_request_memory = 256 * KIB, progress_ms = 100, min_progress_bytes = 1000 }
    local frame = echo_frame(200 * KIB)
    local liars, honest = {}, nil
    local log = tcp.log_of(function()
      for i = 1, 5 do
        liars[i] = server:connect()
        liars[i]:send(frame:sub(1, PART + i))
      end
      server:wait("waiting", 4)
      honest = server:connect()
      honest:send(frame)
      assert.equal(200 * KIB - 2, #honest:answer())
    end)
    for i = 1, 5 do assert.equal("eof", (liars[i]:ending())) end
    assert.truthy(log:find("its request comes too slowly, with 0 bytes in the last", 1, true), log)
    server:stop()
  end)

  it("is kept by a client that goes on sending, however many wait", function()
    local server = tcp.serve { max_request_memory = 256 * KIB, progress_ms = 100, min_progress_bytes = 100 }
    local frame = echo_frame(200 * KIB)
    local slow, other = server:connect(), server:connect()
    slow:send(frame:sub(1, PART))
    server:wait("request_memory", 256 * KIB)
    other:send(frame)
    server:wait("waiting", 1)
    local start, at = tcp.now_ms(), PART
    while tcp.now_ms() - start < 500 do
      slow:send(frame:sub(at + 1, at + 200))
      at = at + 200
      tcp.pause(5)
    end
    slow:send(frame:sub(at + 1))
    assert.equal(200 * KIB - 2, #slow:answer())
    assert.equal(200 * KIB - 2, #other:answer())
    server:stop()
  end)

  it("is left in line by a connection that is closed, or whose client is gone", function()
    local server = tcp.serve { max_request_memory = 256 * KIB, max_half_closed_ms = 50 }
    local frame = echo_frame(200 * KIB)
    local holder, gone, reset, last = server:connect(), server:connect(), server:connect(), server:connect()
    holder:send(frame:sub(1, PART))
    server:wait("request_memory", 256 * KIB)
    for i, client in ipairs { gone, reset, last } do
      client:send(frame:sub(1, PART))
      server:wait("waiting", i)
    end
    gone:close()
    reset:reset()
    server:wait("waiting", 1)
    holder:close()
    last:send(frame:sub(PART + 1))
    assert.equal(200 * KIB - 2, #last:answer())
    server:wait("request_memory", 0)
    server:stop()
  end)

  it("is no reason to call a connection idle that waits for it", function()
    local server = tcp.serve { max_request_memory = 256 * KIB, max_idle_ms = 200 }
    local frame = echo_frame(200 * KIB)
    local holder, waiter = server:connect(), server:connect()
    holder:send(frame:sub(1, PART))
    server:wait("request_memory", 256 * KIB)
    waiter:send(frame:sub(1, PART))
    server:wait("waiting", 1)
    assert.equal("eof", (holder:ending())) -- idle: it could send
    waiter:send(frame:sub(PART + 1))
    assert.equal(200 * KIB - 2, #waiter:answer())
    server:stop()
  end)

  it("does not hold up a drain", function()
    local server = tcp.serve { workers = 2, max_request_memory = 256 * KIB }
    local frame = echo_frame(200 * KIB)
    for _ = 1, 6 do server:connect():send(frame:sub(1, PART)) end
    server:wait("waiting", 5)
    assert.is_true(tonumber(tcp.C.echo_drain(server.echo, 5000)) < 2000)
    assert.equal(0, server:count "waiting")
    assert.equal(0, server:count "request_memory")
    server:stop()
  end)
end)

describe("Answer memory", function()
  --- Clients that ask for answers they do not read, until these fill the bound; what their sockets take is not counted.
  local function fill(server, count, size)
    local clients = {}
    for i = 1, count do
      clients[i] = server:connect { receive_buffer = 4096 }
      clients[i]:ask("b " .. size)
    end
    return clients
  end

  it("is counted until the client has taken the whole answer", function()
    local server = tcp.serve { max_answer_memory = 100 * 1024 * KIB, send_buffer_bytes = 4096 }
    local client = server:connect { receive_buffer = 4096 }
    client:ask("b 1000000")
    server:wait("offered", 1)
    tcp.eventually(function() return server:count "answer_memory" >= 1000000 end)
    assert.equal(1000000, #client:answer())
    server:wait("answer_memory", 0)
    client:ask("b 1000000")
    tcp.eventually(function() return server:count "answer_memory" >= 1000000 end)
    client:close()
    server:wait("answer_memory", 0)
    server:stop()
  end)

  it("has requests wait when it is all taken, and go on when clients read", function()
    local server = tcp.serve { workers = 2, max_answer_memory = 1024 * KIB, send_buffer_bytes = 4096, progress_ms = 60000 }
    local readers = fill(server, 12, 400 * KIB)
    tcp.eventually(function() return server:count "waiting" >= 4 end)
    assert.is_true(server:count "answer_memory" <= (1024 + 3 * 500) * KIB + 2 * 1024 * KIB, server:count "answer_memory")
    local other = server:connect()
    other:ask "e x"
    for _ = 1, 100 * tcp.DEADLINE_MS do -- nobody knows whose turn it is: all read what there is
      local left = 0
      for _, reader in ipairs(readers) do
        if #reader.pending < 4 + 400 * KIB then
          left = left + 1
          reader:is_silent()
        end
      end
      if left == 0 then break end
    end
    for i = 1, 12 do assert.equal(400 * KIB, #readers[i]:answer()) end
    assert.equal("x", other:answer())
    server:wait("waiting", 0)
    server:wait("answer_memory", 0)
    server:stop()
  end)

  it("is not kept by clients that do not read, while others wait", function()
    local server = tcp.serve { workers = 2, max_answer_memory = 1024 * KIB, send_buffer_bytes = 4096, progress_ms = 100,
      min_progress_bytes = 1000 }
    local log = tcp.log_of(function()
      local deaf = fill(server, 30, 400 * KIB)
      tcp.eventually(function() return server:count "waiting" > 0 end)
      local other = server:connect()
      other:ask("e x", "e y")
      assert.equal("x", other:answer())
      assert.equal("y", other:answer())
      for _, client in ipairs(deaf) do client:close() end
    end)
    assert.truthy(log:find("it takes its answers too slowly", 1, true), log)
    server:wait("answer_memory", 0)
    server:stop()
  end)

  it("closes nobody whose answers take less than an equal share", function()
    local server = tcp.serve { max_answer_memory = 1024 * KIB, send_buffer_bytes = 4096, progress_ms = 50, min_progress_bytes = 1000 }
    tcp.log_of(function()
      local modest = server:connect { receive_buffer = 4096 }
      modest:ask("b 60000")
      tcp.eventually(function() return server:count "answer_memory" >= 60000 end)
      local deaf = fill(server, 4, 900 * KIB)
      local other = server:connect()
      for _ = 1, 3 do
        other:ask "e x"
        assert.equal("x", other:answer())
      end
      assert.equal(60000, #modest:answer())
      for _, client in ipairs(deaf) do client:close() end
    end)
    server:stop()
  end)

  it("gives nothing more to a connection that has answers to take, while it is all taken", function()
    local server = tcp.serve { max_answer_memory = 1024 * KIB, send_buffer_bytes = 4096, progress_ms = 60000 }
    local greedy = server:connect { receive_buffer = 4096 }
    greedy:ask("b 900000", "b 1000", "b 1000")
    local holder = server:connect { receive_buffer = 4096 }
    server:wait("offered", 3)
    holder:ask "b 400000"
    server:wait("offered", 4)
    greedy:ask("e 1", "e 2")
    local other = server:connect()
    other:ask "e x" -- stands in line; `greedy` does not
    server:wait("waiting", 1)
    greedy:ask "e 3"
    assert.equal(4, server:count "offered")
    assert.equal(1, server:count "waiting")
    holder:close()
    assert.equal("x", other:answer())
    for _, size in ipairs { 900000, 1000, 1000 } do assert.equal(size, #greedy:answer()) end
    for i = 1, 3 do assert.equal(tostring(i), greedy:answer()) end
    server:wait("answer_memory", 0)
    server:stop()
  end)

  it("is not taken by regions of files", function()
    local path = require("spec.support.unit").temp_dir() .. "/file"
    require("spec.support.unit").write_file(path, ("0123456789"):rep(200000))
    local server = tcp.serve { max_answer_memory = 1024 * KIB, send_buffer_bytes = 4096, file = path }
    local client = server:connect { receive_buffer = 4096 }
    client:ask "f 0 2000000"
    server:wait("offered", 1)
    assert.is_true(server:count "answer_memory" < 64 * KIB)
    assert.equal(2000002, #client:answer())
    server:stop()
  end)

  it("is given back by one that may not be offered its frame when its turn comes", function()
    local path = require("spec.support.unit").temp_dir() .. "/file"
    require("spec.support.unit").write_file(path, ("0123456789"):rep(200000))
    local server = tcp.serve { max_answer_memory = 1024 * KIB, send_buffer_bytes = 4096, file = path, progress_ms = 60000,
      max_unsent_bytes = 512 * KIB }
    local client, holder = server:connect { receive_buffer = 4096 }, server:connect { receive_buffer = 4096 }
    client:ask "t 300 2000000"
    server:wait("offered", 1)
    holder:ask "b 1100000"
    server:wait("offered", 2)
    client:ask "e 1" -- stands in line, and gets more to read than it may have before its turn comes
    server:wait("waiting", 1)
    server:wait("made", 3)
    holder:close()
    server:wait("waiting", 0)
    server:wait("connections", 1)
    tcp.eventually(function() return server:count "answer_memory" < 64 * KIB end, "the return of what cannot be used")
    assert.equal(2000002, #client:answer())
    assert.equal("1", client:answer())
    server:wait("answer_memory", 0)
    server:stop()
  end)
end)
