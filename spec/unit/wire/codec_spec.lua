-- SPDX-License-Identifier: Apache-2.0
-- The tables: requests by key, header versions, error codes.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local walk = require "spec.unit.wire.walk"
unit.load "wire/error_codes.h"
local C = walk.C

describe("the table of requests", function()
  it("has 95 requests with keys 0 to 94", function()
    assert.equal(94, C.WIRE_API_KEY_MAX)
    for key = 0, 94 do
      local api = C.wire_api_find(key)
      assert.is_true(api ~= nil, "key " .. key)
      assert.equal(key, api.key)
      assert.equal(ffi.string(api.name) .. "Request", ffi.string(api.request.name))
      assert.equal(ffi.string(api.name) .. "Response", ffi.string(api.response.name))
      assert.equal(api.min_version, api.request.min_version)
      assert.equal(api.max_version, api.response.max_version)
    end
  end)

  it("finds nothing for other keys", function()
    for _, key in ipairs { -1, 95, 32767, -32768 } do
      assert.is_true(C.wire_api_find(key) == nil)
    end
  end)

  it("has the versions of 3.9.1 and 4.4.0 together", function()
    local produce, leader_and_isr = C.wire_api_find(C.WIRE_API_PRODUCE), C.wire_api_find(C.WIRE_API_LEADER_AND_ISR)
    assert.same({ 0, 13, 9 }, { produce.min_version, produce.max_version, produce.flexible_version })
    assert.same({ 0, 7, 4 }, { leader_and_isr.min_version, leader_and_isr.max_version,
      leader_and_isr.flexible_version })
    assert.equal(32767, C.wire_api_find(C.WIRE_API_SASL_HANDSHAKE).flexible_version)
  end)
end)

describe("the header", function()
  it("of a request is version 1, or 2 in flexible versions", function()
    assert.equal(1, C.wire_request_header_version(C.WIRE_API_PRODUCE, 8))
    assert.equal(2, C.wire_request_header_version(C.WIRE_API_PRODUCE, 9))
    assert.equal(2, C.wire_request_header_version(C.WIRE_API_API_VERSIONS, 3))
    assert.equal(1, C.wire_request_header_version(C.WIRE_API_SASL_HANDSHAKE, 1))
  end)

  it("of ControlledShutdown 0 is version 0", function()
    assert.equal(0, C.wire_request_header_version(C.WIRE_API_CONTROLLED_SHUTDOWN, 0))
    assert.equal(1, C.wire_request_header_version(C.WIRE_API_CONTROLLED_SHUTDOWN, 1))
  end)

  it("of an unknown request is version 1", function()
    assert.equal(1, C.wire_request_header_version(1234, 7))
  end)

  it("of a response is version 0, or 1 in flexible versions", function()
    assert.equal(0, C.wire_response_header_version(C.WIRE_API_FETCH, 11))
    assert.equal(1, C.wire_response_header_version(C.WIRE_API_FETCH, 12))
  end)

  it("of an ApiVersions response is always version 0", function()
    for version = 0, 5 do
      assert.equal(0, C.wire_response_header_version(C.WIRE_API_API_VERSIONS, version))
    end
  end)
end)

describe("error codes", function()
  it("have Kafka's numbers and names", function()
    assert.equal(-1, C.WIRE_UNKNOWN_SERVER_ERROR)
    assert.equal(0, C.WIRE_NONE)
    assert.equal(6, C.WIRE_NOT_LEADER_OR_FOLLOWER)
    assert.equal("NOT_LEADER_OR_FOLLOWER", ffi.string(C.wire_error_name(6)))
    assert.equal("NONE", ffi.string(C.wire_error_name(0)))
    assert.equal("UNKNOWN_SERVER_ERROR", ffi.string(C.wire_error_name(9999)))
  end)

  it("say whether a client may try again", function()
    assert.is_true(C.wire_error_is_retriable(C.WIRE_NOT_LEADER_OR_FOLLOWER))
    assert.is_false(C.wire_error_is_retriable(C.WIRE_TOPIC_ALREADY_EXISTS))
  end)
end)

describe("a wire string", function()
  it("is null from NULL, and equal by its bytes", function()
    assert.equal(-1, C.wire_string_from(nil).length)
    assert.equal(2, C.wire_string_from("ab").length)
    assert.is_true(C.wire_string_is(C.wire_string_from "ab", "ab"))
    assert.is_false(C.wire_string_is(C.wire_string_from "ab", "abc"))
    assert.is_false(C.wire_string_is(C.wire_string_from(nil), ""))
    assert.is_true(C.wire_string_equal(C.wire_string_from(nil), C.wire_string_from(nil)))
    assert.is_false(C.wire_string_equal(C.wire_string_from(nil), C.wire_string_from ""))
    assert.is_true(C.wire_string_equal(C.wire_string_from "x", C.wire_string_from "x"))
  end)
end)
