-- SPDX-License-Identifier: Apache-2.0
-- Answers out: order, file regions, limits.
local ffi = require "ffi"
local tcp = require "spec.unit.network.tcp"
local unit = require "spec.support.unit"

local KIB, MIB = 1024, 1024 * 1024

describe("answers", function()
  local server
  before_each(function() server = tcp.serve() end)
  after_each(function() server:stop() end)

  it("come in the order of the requests, though later ones are ready first", function()
    local client, other = server:connect(), server:connect()
    client:ask("h a", "e b", "h c", "e d")
    server:wait("offered", 4)
    assert.is_true(client:is_silent())
    other:ask "r c"
    other:answer()
    assert.is_true(client:is_silent())
    other:ask "r a"
    for _, expected in ipairs { "h a", "b", "h c", "d" } do assert.equal(expected, client:answer()) end
  end)

  it("of other threads' work come in order too", function()
    local client = server:connect()
    local frames = {}
    for i = 1, 200 do frames[i] = (i % 3 == 0 and "e " or "p ") .. i end
    client:ask(unpack(frames))
    for i = 1, 200 do
      assert.equal(i % 3 == 0 and tostring(i) or tostring(i):reverse(), client:answer())
    end
  end)

  it("may be none", function()
    local client = server:connect()
    client:ask("n", "e a", "n", "n", "e b")
    assert.equal("a", client:answer())
    assert.equal("b", client:answer())
    server:wait("responses", 2)
  end)

  it("may be the last: the connection ends after it, and nothing behind it is taken up", function()
    local client = server:connect()
    client:ask("h a", "c b", "e c", "h d")
    server:wait("offered", 2)
    local other = server:connect()
    other:ask "r a"
    assert.equal("h a", client:answer())
    assert.equal("b", client:answer())
    local ended, bytes = client:ending()
    assert.equal("eof", ended)
    assert.equal("", bytes)
    assert.equal(3, server:count "offered")
  end)

  it("may be the last: a frame behind it that was taken up before is not answered", function()
    local client, other = server:connect(), server:connect()
    client:ask("C a", "h b")
    server:wait("offered", 2)
    other:ask "r a"
    assert.equal("C a", client:answer())
    local ended, bytes = client:ending()
    assert.equal("eof", ended)
    assert.equal("", bytes)
  end)

  it("end after those of earlier requests when a frame is refused", function()
    local client = server:connect()
    client:ask("e a", "x", "e b")
    assert.equal("a", client:answer())
    local ended, bytes = client:ending()
    assert.equal("eof", ended)
    assert.equal("", bytes)
    assert.equal(2, server:count "offered")
  end)

  it("are dropped when the connection was closed meanwhile", function()
    local client = server:connect()
    client:ask("h a", "q")
    local ended, bytes = client:ending()
    assert.equal("eof", ended)
    assert.equal("", bytes)
    server:wait("closed", 1)
  end)

  it("that are still being made when the client resets are dropped", function()
    local client = server:connect()
    local frames = {}
    for i = 1, 50 do frames[i] = "p " .. ("x"):rep(10000) end
    client:ask(unpack(frames))
    client:reset()
    server:wait("closed", 1)
  end)

  it("that wait are cancelled when the client resets", function()
    local client = server:connect()
    client:ask("h a", "h b")
    server:wait("offered", 2)
    client:reset()
    server:wait("closed", 1)
    local other = server:connect()
    other:ask "r a"
    assert.equal("r", other:answer())
  end)

  it("still reach a client that has ended its own side", function()
    local client, other = server:connect(), server:connect()
    client:ask("h a", "e b")
    client:shutdown()
    server:wait("offered", 2)
    other:ask "r a"
    assert.equal("h a", client:answer())
    assert.equal("b", client:answer())
    assert.equal("eof", (client:ending()))
  end)

  it("still reach a client that has ended its own side while a frame was deferred", function()
    local client, other = server:connect(), server:connect()
    client:ask("h a", "d b", "e c")
    server:wait("offered", 2)
    client:shutdown()
    assert.is_true(client:is_silent())
    other:ask "r a"
    for _, expected in ipairs { "h a", "b", "c" } do assert.equal(expected, client:answer()) end
    assert.equal("eof", (client:ending()))
  end)

  it("are not needed to end a connection whose client has ended its side", function()
    local client = server:connect()
    client:shutdown()
    assert.equal("eof", (client:ending()))
    server:wait("closed", 1)
  end)
end)

describe("a deferred frame", function()
  local server
  before_each(function() server = tcp.serve() end)
  after_each(function() server:stop() end)

  it("is offered again when an earlier one is answered, before any later one", function()
    local client, other = server:connect(), server:connect()
    client:ask("h a", "d b", "e c")
    server:wait("offered", 2)
    other:ask "r a"
    for _, expected in ipairs { "h a", "b", "c" } do assert.equal(expected, client:answer()) end
    assert.equal(5, server:count "offered")
  end)

  it("stays deferred when the answer is not the one it waits for", function()
    local client, other = server:connect(), server:connect()
    client:ask("h a", "h b", "d c")
    server:wait("offered", 3)
    other:ask "r a"
    assert.equal("h a", client:answer())
    server:wait("offered", 5)
    other:ask "r b"
    assert.equal("h b", client:answer())
    assert.equal("c", client:answer())
  end)

  it("is offered again when it is resumed", function()
    local client = server:connect()
    client:ask("D a", "e b")
    assert.equal("a", client:answer())
    assert.equal("b", client:answer())
    assert.equal(3, server:count "offered")
  end)

  it("is given up with its connection", function()
    local client = server:connect()
    client:ask("h a", "d b")
    server:wait("offered", 2)
    client:reset()
    server:wait("closed", 1)
    server:wait("buffer_bytes", 0)
  end)
end)

describe("a file region", function()
  local server, path, content
  before_each(function()
    path = unit.temp_dir() .. "/segment"
    content = ("0123456789abcdefghijklmnopqrstuvwxyz"):rep(150000)
    unit.write_file(path, content)
    server = tcp.serve { file = path }
  end)
  after_each(function() server:stop() end)

  it("is sent between the memory around it", function()
    local client = server:connect()
    client:ask("f 10 26", "e x", "f 0 1")
    assert.equal("<abcdefghijklmnopqrstuvwxyz>", client:answer())
    assert.equal("x", client:answer())
    assert.equal("<0>", client:answer())
    server:wait("sent_file", 0) -- copied: few bytes are cheaper so
  end)

  it("is sent between the memory around it by the kernel when it is large", function()
    local client = server:connect()
    client:ask("f 10 100000", "e x", "f 0 70000", "f 5 10")
    assert.is_true("<" .. content:sub(11, 100010) .. ">" == client:answer())
    assert.equal("x", client:answer())
    assert.is_true("<" .. content:sub(1, 70000) .. ">" == client:answer())
    assert.equal("<" .. content:sub(6, 15) .. ">", client:answer())
    server:wait("sent_file", 170000)
  end)

  it("is released once it is sent", function()
    local client = server:connect()
    client:ask "f 0 1000"
    client:answer()
    server:wait("released", 2)
  end)

  it("of no bytes is nothing", function()
    local client = server:connect()
    client:ask "f 0 0"
    assert.equal("<>", client:answer())
  end)

  it("comes whole when it is larger than the socket takes at once", function()
    local client = server:connect { receive_buffer = 8 * KIB }
    client:ask("f 7 5000000", "e x")
    assert.is_true("<" .. content:sub(8, 5000007) .. ">" == client:answer())
    assert.equal("x", client:answer())
    server:wait("sent_file", 5000000)
  end)

  it("spliced into what a writer wrote comes at its place", function()
    local client = server:connect()
    client:ask("w 10 3", "W")
    assert.equal("\0\0\0\3abc>", client:answer())
    assert.equal("\0\0\0\0100123456789\0\0\0\010klmnopqrst", client:answer())
  end)

  it("cut short by a file that shrank ends the connection with a line, instead of sending something else", function()
    local log = tcp.log_of(function()
      local client = server:connect()
      client:ask(("f %d 100"):format(#content - 50), "e x")
      local ended, bytes = client:ending()
      assert.equal("eof", ended)
      assert.equal(tcp.int32(102) .. "<" .. content:sub(-50), bytes)
      server:wait("closed", 1)
    end)
    assert.truthy(log:find("ends 50 bytes early", 1, true), log)
  end)
end)

describe("a client that does not read", function()
  it("holds no more than the limit and one answer: the rest of its requests is not taken up", function()
    local server = tcp.serve { max_unsent_bytes = 256 * KIB, send_buffer_bytes = 16 * KIB }
    local client = server:connect { receive_buffer = 8 * KIB }
    local frames = {}
    for i = 1, 300 do frames[i] = "b 100000" end
    client:ask(unpack(frames))
    server:wait("received", 300 * 12)
    -- What was offered is what the kernel took, the limit, and the answer that went over it.
    local offered = server:count "offered"
    assert.is_true(offered >= 3 and offered < 30, tostring(offered))
    local expected = ("abcdefghijklmnopqrstuvwxyz"):rep(3847):sub(1, 100000)
    for _ = 1, 300 do assert.is_true(expected == client:answer()) end
    assert.equal(300, server:count "offered")
    server:stop()
  end)

  it("is not read from either, once what it sent does not fit", function()
    local server = tcp.serve { max_unsent_bytes = 64 * KIB, send_buffer_bytes = 16 * KIB }
    local client = server:connect { receive_buffer = 8 * KIB }
    client:ask "b 1000000"
    server:wait("offered", 1)
    local chunk = tcp.frame("e " .. ("x"):rep(60000))
    local total, since = 0, tcp.now_ms()
    while tcp.now_ms() - since < 300 and total < 64 * MIB do
      local sent = client:try_send(chunk)
      if sent > 0 then since = tcp.now_ms() end
      total = total + sent
      chunk = chunk:sub(sent + 1)
      if #chunk == 0 then chunk = tcp.frame("e " .. ("x"):rep(60000)) end
    end
    assert.is_true(total < 64 * MIB, "everything was taken")
    assert.is_true(server:count "received" < MIB, tostring(server:count "received"))
    client:reset()
    server:stop()
  end)

  it("may leave so many requests unanswered and no more", function()
    local server = tcp.serve { max_inflight = 5 }
    local client, other = server:connect(), server:connect()
    client:ask("h 1", "h 2", "h 3", "h 4", "h 5", "h 6", "h 7")
    server:wait("offered", 5)
    other:ask("r 1", "e done")
    other:read(4 + 1 + 4 + 4)
    server:wait("offered", 8)
    other:ask("r 2", "r 3", "r 4", "r 5", "r 6")
    for i = 1, 5 do assert.equal("h " .. i, client:answer()) end
    server:wait("offered", 14)
    other:ask("r 6", "r 7")
    assert.equal("h 6", client:answer())
    assert.equal("h 7", client:answer())
    server:stop()
  end)

  it("is closed when it takes nothing for the idle time", function()
    local server = tcp.serve { max_idle_ms = 50, send_buffer_bytes = 16 * KIB }
    local client = server:connect { receive_buffer = 8 * KIB }
    client:ask "b 3000000"
    server:wait("idle_closed", 1)
    server:wait("closed", 1)
    server:stop()
  end)
end)

describe("a response", function()
  local C = unit.load("network/response.h", "base/error.h", "base/mem.h")

  it("has its length in the first four bytes", function()
    local resp = C.response_new()
    local bytes = unit.buffer "....abc"
    C.response_add_memory(resp, bytes, 7, nil, nil)
    C.response_add_memory(resp, unit.buffer "defg", 4, nil, nil)
    assert.equal(0, C.response_finish(resp))
    assert.equal("00000007616263", unit.hex(bytes, 7))
    assert.equal(11, tonumber(C.response_size(resp)))
    C.response_delete(resp)
  end)

  it("counts regions of memory as memory, and those of files not", function()
    local P = unit.load("network/response_private.h")
    local resp = C.response_new()
    C.response_add_memory(resp, unit.buffer "....", 4, nil, nil)
    local before = tonumber(P.response_memory(resp))
    local bytes = unit.buffer "abc"
    C.response_add_region(resp, ffi.new("struct response_region", { fd = 0, length = 1000 }))
    assert.equal(before, tonumber(P.response_memory(resp)))
    C.response_add_region(resp, ffi.new("struct response_region", { bytes = bytes, length = 3 }))
    assert.equal(before + 3, tonumber(P.response_memory(resp)))
    assert.equal(1007, tonumber(C.response_size(resp)))
    C.response_delete(resp)
  end)

  it("of more than 2 GiB is refused", function()
    local resp = C.response_new()
    C.response_add_memory(resp, unit.buffer "....", 4, nil, nil)
    local region = ffi.new("struct response_region", { fd = 0, length = 1073741824 })
    C.response_add_region(resp, region)
    C.response_add_region(resp, region)
    assert.equal(C.ERR_LIMIT, C.response_finish(resp))
    C.response_delete(resp)
  end)

  it("may have many parts", function()
    local resp = C.response_new()
    C.response_add_memory(resp, unit.buffer "....", 4, nil, nil)
    for _ = 1, 1000 do C.response_add_memory(resp, unit.buffer "xy", 2, nil, nil) end
    assert.equal(0, C.response_finish(resp))
    assert.equal(2004, tonumber(C.response_size(resp)))
    C.response_delete(resp)
  end)
end)
