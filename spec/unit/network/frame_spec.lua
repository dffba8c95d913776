-- SPDX-License-Identifier: Apache-2.0
-- Frames in: how bytes of a socket become requests.
local tcp = require "spec.unit.network.tcp"

local KIB, MIB = 1024, 1024 * 1024

--- Text of a size in which every position differs from its neighbours'.
local function text_of(size)
  local parts, have, number = {}, 0, 0
  while have < size do
    number = number + 1
    parts[number] = ("%08d"):format(number)
    have = have + 8
  end
  return table.concat(parts):sub(1, size)
end

describe("a frame", function()
  local server
  before_each(function() server = tcp.serve() end)
  after_each(function() server:stop() end)

  it("is taken up when its last byte arrives, however few come at a time", function()
    local client = server:connect()
    local bytes = tcp.frame "e one" .. tcp.frame "e two"
    for i = 1, #bytes do
      client:send(bytes:sub(i, i))
      server:wait("received", i)
      assert.equal(i < 9 and 0 or i < 18 and 1 or 2, server:count "offered")
    end
    assert.equal("one", client:answer())
    assert.equal("two", client:answer())
  end)

  it("may come with many others in one segment", function()
    local client = server:connect()
    local frames, expected = {}, {}
    for i = 1, 500 do
      frames[i] = "e " .. text_of(i % 90)
      expected[i] = text_of(i % 90)
    end
    client:ask(unpack(frames))
    for i = 1, 500 do assert.equal(expected[i], client:answer()) end
  end)

  for _, size in ipairs { 1, 16379, 16380, 16381, 16384, 65532, 65533, 256 * KIB, MIB + 1, 5 * MIB, 9 * MIB } do
    it(("of %d bytes comes whole, between small ones"):format(size + 2), function()
      local client = server:connect()
      local text = text_of(size)
      client:ask("e before", "e " .. text, "e after")
      assert.equal("before", client:answer())
      assert.is_true(text == client:answer())
      assert.equal("after", client:answer())
    end)
  end

  it("keeps its bytes while later ones come in", function()
    local client = server:connect()
    for i = 1, 40 do client:ask("h " .. i, "e " .. text_of(3000)) end
    server:wait("offered", 80)
    client:ask("n")
    for i = 1, 40 do client:ask("r " .. i) end
    for i = 1, 40 do
      assert.equal("h " .. i, client:answer())
      assert.is_true(text_of(3000) == client:answer())
    end
    for _ = 1, 40 do assert.equal("r", client:answer()) end
  end)

  it("may be patched in place by another thread before it is answered", function()
    local client = server:connect()
    client:ask("p " .. text_of(40000), "p abc", "e x")
    assert.is_true(text_of(40000):reverse() == client:answer())
    assert.equal("cba", client:answer())
    assert.equal("x", client:answer())
  end)

  it("costs no buffer once it is answered: an idle connection holds none", function()
    local client = server:connect()
    client:ask "e x"
    client:answer()
    server:wait("buffer_bytes", 0)
  end)

  it("costs no buffer once its bytes were given back, though it waits", function()
    local client = server:connect()
    client:ask "k x"
    server:wait("offered", 1)
    server:wait("buffer_bytes", 0)
    client:ask "r x"
    assert.equal("h x", client:answer())
    assert.equal("r", client:answer())
  end)

  it("holds one small buffer while a part of it is missing", function()
    local client = server:connect()
    client:send(tcp.int32(1000) .. "e ")
    server:wait("received", 6)
    assert.equal(16 * KIB, server:count "buffer_bytes")
  end)
end)

describe("a length that cannot be a request's", function()
  local server
  before_each(function() server = tcp.serve() end)
  after_each(function() server:stop() end)

  local function hex(text) return (text:gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end)) end

  for what, case in pairs {
    ["an HTTP request"] = { "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "it looks like HTTP" },
    ["an HTTP POST"] = { "POST /topics/a HTTP/1.1\r\n\r\n", "it looks like HTTP" },
    ["the preface of HTTP/2"] = { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "it looks like HTTP" },
    ["a TLS 1.0 record"] = { hex "16030100a5010000a10303", "it looks like TLS" },
    ["a TLS 1.3 hello"] = { hex "1603030200010001fc0303", "it looks like TLS" },
    ["an SSH greeting"] = { "SSH-2.0-OpenSSH_9.6\r\n", "it looks like SSH" },
    ["-1"] = { hex "ffffffff", "its length is -1" },
    ["0"] = { hex "00000000", "its length is 0" },
    ["the lowest number"] = { hex "80000000", "its length is -2147483648" },
    ["one byte over the limit"] = { tcp.int32(100 * MIB + 1), "one of 104857601 bytes, more than the limit of 104857600" },
  } do
    it(("(%s) ends the connection with one line that says so, and no byte is sent"):format(what), function()
      local log = tcp.log_of(function()
        local client = server:connect()
        client:send(case[1])
        local ended, bytes = client:ending()
        assert.equal("eof", ended)
        assert.equal("", bytes)
        server:wait("closed", 1)
        assert.equal(0, server:count "offered")
        assert.equal(1, server:count "refused")
        assert.equal(0, server:count "buffer_bytes")
      end)
      local _, lines = log:gsub("\n", "")
      assert.equal(1, lines)
      assert.truthy(log:find(case[2], 1, true), log)
      assert.truthy(log:find "connection from 127%.0%.0%.1:%d+ closed: not a Kafka request", log)
    end)
  end

  it("lets earlier requests be answered first", function()
    tcp.log_of(function()
      local client = server:connect()
      client:send(tcp.frame "h x" .. tcp.frame "e two" .. hex "ffffffff" .. tcp.frame "e never")
      server:wait("refused", 1)
      local other = server:connect()
      other:ask "r x"
      assert.equal("h x", client:answer())
      assert.equal("two", client:answer())
      assert.equal("eof", (client:ending()))
      assert.equal("", client.pending)
    end)
  end)

  it("does not disturb other connections", function()
    tcp.log_of(function()
      local good, bad = server:connect(), server:connect()
      good:send(tcp.frame("e good"):sub(1, 5))
      bad:send "GET / HTTP/1.1\r\n\r\n"
      bad:ending()
      good:send(tcp.frame("e good"):sub(6))
      assert.equal("good", good:answer())
    end)
  end)

  it("is logged at most twenty times a second", function()
    local log = tcp.log_of(function()
      local clients = {}
      for i = 1, 100 do
        clients[i] = server:connect()
        clients[i]:send(hex "ffffffff")
      end
      server:wait("refused", 100)
    end)
    local _, lines = log:gsub("\n", "")
    assert.is_true(lines >= 20 and lines < 100, lines)
  end)

  it("costs no memory: 100 MiB announced and little sent changes nothing that can be measured", function()
    local function resident()
      local pages = io.open("/proc/self/statm"):read("*a"):match "^%d+ (%d+)"
      return tonumber(pages) * 4096
    end
    local before = resident()
    local clients = {}
    for i = 1, 20 do
      clients[i] = server:connect()
      clients[i]:send(tcp.int32(100 * MIB) .. ("e"):rep(20000))
    end
    server:wait("received", 20 * 20004)
    assert.is_true(server:count "buffer_bytes" >= 20 * 100 * MIB)
    if os.getenv "LUKA_SAN" == nil or os.getenv "LUKA_SAN" == "" then
      assert.is_true(resident() - before < 4 * MIB, resident() - before)
    end
  end)
end)

describe("the largest request allowed", function()
  it("is taken", function()
    local server = tcp.serve { max_request_bytes = 1000 }
    local client = server:connect()
    client:ask("e " .. text_of(998))
    assert.equal(text_of(998), client:answer())
    server:stop()
  end)
end)
