-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("network/listener.h", "os/socket.h", "base/error.h")

local function message() return ffi.string(C.error_last().message) end

describe("an address to listen on", function()
  local function parse(text)
    local address = ffi.new "struct listener_address"
    local result = C.listener_parse(text, address)
    if result < 0 then return nil, result end
    return { ffi.string(address.name), ffi.string(address.host), address.port }
  end

  for text, expected in pairs {
    ["127.0.0.1:9092"] = { "PLAINTEXT", "127.0.0.1", 9092 },
    ["localhost:1"] = { "PLAINTEXT", "localhost", 1 },
    ["broker-1.example.com:65535"] = { "PLAINTEXT", "broker-1.example.com", 65535 },
    ["PLAINTEXT://host:9092"] = { "PLAINTEXT", "host", 9092 },
    ["plaintext://host:9092"] = { "PLAINTEXT", "host", 9092 },
    ["PLAINTEXT://:9092"] = { "PLAINTEXT", "", 9092 },
    [":9092"] = { "PLAINTEXT", "", 9092 },
    ["0.0.0.0:0"] = { "PLAINTEXT", "0.0.0.0", 0 },
    ["[::1]:0"] = { "PLAINTEXT", "::1", 0 },
    ["PLAINTEXT://[fe80::1%eth0]:9092"] = { "PLAINTEXT", "fe80::1%eth0", 9092 },
    ["host_with_underscores:09092"] = { "PLAINTEXT", "host_with_underscores", 9092 },
  } do
    it(("may be '%s'"):format(text), function() assert.same(expected, (parse(text))) end)
  end

  for text, reason in pairs {
    [""] = "has no port",
    ["localhost"] = "has no port",
    ["9092"] = "has no port",
    ["[::1]"] = "has no port",
    ["[::1:9092"] = "bracket is not closed",
    ["::1:9092"] = "in brackets",
    ["host:"] = "number from 0 to 65535",
    ["host:x"] = "number from 0 to 65535",
    ["host:-1"] = "number from 0 to 65535",
    ["host:+1"] = "number from 0 to 65535",
    ["host:65536"] = "number from 0 to 65535",
    ["host:18446744073709551616"] = "number from 0 to 65535",
    ["host: 9092"] = "number from 0 to 65535",
    ["ho st:9092"] = "not a host name",
    ["host/path:9092"] = "not a host name",
    ["[host]:9092"] = "not a host name",
    ["http://host:80"] = "unknown protocol",
    ["EXTERNAL://host:9092"] = "unknown protocol",
    ["://host:9092"] = "unknown protocol",
    ["SSL://host:9092"] = "SSL is not supported yet",
    ["SASL_PLAINTEXT://host:9092"] = "SASL_PLAINTEXT is not supported yet",
    ["SASL_SSL://0.0.0.0:9093"] = "SASL_SSL is not supported yet",
    [("h"):rep(256) .. ":9092"] = "longer than 255",
  } do
    it(("may not be '%.40s', and the error says why"):format(text), function()
      local address, result = parse(text)
      assert.is_nil(address)
      assert.equal(C.ERR_CONFIG, result)
      assert.truthy(message():find(reason, 1, true), message())
    end)
  end

  it("leaves the result alone when it is refused", function()
    local address = ffi.new "struct listener_address"
    address.port = 7
    C.listener_parse("nonsense", address)
    assert.equal(7, address.port)
  end)
end)

describe("an advertised address", function()
  for _, text in ipairs { "0.0.0.0:9092", ":9092", "[::]:9092", "PLAINTEXT://0.0.0.0:9092", "0:9092", "[::ffff:0.0.0.0]:1" } do
    it(("is refused when it is '%s', with a hint what to write"):format(text), function()
      local address = ffi.new "struct listener_address"
      assert.equal(C.ERR_CONFIG, C.listener_parse_advertised(text, address))
      assert.truthy(message():find("write the name or address", 1, true), message())
    end)
  end

  local function create(text, advertised)
    local listener = ffi.new "struct listener"
    assert.equal(0, C.listener_create(listener, 0, text, advertised))
    return ffi.string(listener.advertised.host), listener.advertised.port
  end

  it("is the listen address when none is given", function()
    local host, port = create("127.0.0.1:9092", nil)
    assert.equal("127.0.0.1", host)
    assert.equal(9092, port)
  end)

  it("is what was given", function()
    local host, port = create("0.0.0.0:9092", "broker.example.com:19092")
    assert.equal("broker.example.com", host)
    assert.equal(19092, port)
  end)

  for _, text in ipairs { "0.0.0.0:9092", ":9092", "[::]:9092" } do
    it(("is this machine's name when the broker listens on '%s'"):format(text), function()
      local name = ffi.new "char[256]"
      C.socket_host_name(name, 256)
      local host = create(text, nil)
      assert.equal(ffi.string(name), host)
      assert.is_true(#host > 0)
      assert.is_false(C.listener_is_wildcard(host))
    end)
  end

  it("is written with brackets around an IPv6 address", function()
    local address = ffi.new "struct listener_address"
    C.listener_parse("[::1]:9092", address)
    local text = ffi.new "char[300]"
    C.listener_format(address, text)
    assert.equal("PLAINTEXT://[::1]:9092", ffi.string(text))
  end)
end)

describe("a listener", function()
  local function bound(text, advertised)
    local listener = ffi.new "struct listener"
    assert.equal(0, C.listener_create(listener, 0, text, advertised))
    return listener, C.listener_bind(listener)
  end

  it("has the kernel's port, listened on and advertised, when it asks for port 0", function()
    local listener, result = bound("127.0.0.1:0", "broker.example.com:0")
    assert.equal(0, result)
    assert.is_true(listener.address.port > 0)
    assert.equal(listener.address.port, listener.advertised.port)
    C.listener_destroy(listener)
  end)

  it("keeps another advertised port", function()
    local listener = bound("127.0.0.1:0", "broker.example.com:9092")
    assert.equal(9092, listener.advertised.port)
    C.listener_destroy(listener)
  end)

  it("says which port is in use", function()
    local first = bound("127.0.0.1:0", nil)
    assert.equal(0, C.listener_listen(first, 10))
    local port = first.address.port
    local _, result = bound("127.0.0.1:" .. port, nil)
    assert.equal(C.ERR_BUSY, result)
    assert.equal(("port %d of 127.0.0.1 is in use"):format(port), message())
    C.listener_destroy(first)
  end)

  it("says so when the port was taken between bind and listen", function()
    local first = bound("127.0.0.1:0", nil)
    local port = first.address.port
    local second, result = bound("127.0.0.1:" .. port, nil)
    assert.equal(0, result)
    assert.equal(0, C.listener_listen(first, 10))
    assert.equal(C.ERR_BUSY, C.listener_listen(second, 10))
    assert.equal(("port %d of 127.0.0.1 is in use"):format(port), message())
    C.listener_destroy(first)
    C.listener_destroy(second)
  end)

  it("says so when the host is unknown or not of this machine", function()
    local _, result = bound("no-such-host.invalid:0", nil)
    assert.equal(C.ERR_NOT_FOUND, result)
    assert.truthy(message():find("no-such-host.invalid is unknown", 1, true), message())
    _, result = bound("192.0.2.1:0", nil)
    assert.equal(C.ERR_NOT_FOUND, result)
    assert.equal("192.0.2.1 is no address of this machine", message())
  end)
end)
