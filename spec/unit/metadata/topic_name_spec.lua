-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("metadata/topic_name.h", "base/error.h")

describe("topic name", function()
  local function validate(name)
    local message = ffi.new("char[?]", C.TOPIC_NAME_MESSAGE_SIZE)
    local result = C.topic_name_validate(name, #name, message)
    return result, result < 0 and ffi.string(message) or nil
  end

  it("may have 249 letters, digits, dots, underscores and dashes", function()
    for _, name in ipairs { "a", "a.b_c-D9", "...", "__consumer_offsets", ("y"):rep(249) } do
      assert.equal(0, (validate(name)), name)
    end
  end)

  local illegal = "contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
  for name, message in pairs {
    [""] = "Topic name is invalid: the empty string is not allowed",
    ["."] = "Topic name is invalid: '.' is not allowed",
    [".."] = "Topic name is invalid: '..' is not allowed",
    ["a b"] = "Topic name is invalid: 'a b' " .. illegal,
    ["a/b"] = "Topic name is invalid: 'a/b' " .. illegal,
    ["caf\195\169"] = "Topic name is invalid: 'caf\195\169' " .. illegal,
    [("y"):rep(250)] = "Topic name is invalid: the length of '" .. ("y"):rep(250) .. "' is longer than the max allowed length 249",
  } do
    it(("refuses %q with Kafka's message"):format(name:sub(1, 20)), function()
      local result, text = validate(name)
      assert.equal(C.ERR_INVALID, result)
      assert.equal(message, text)
    end)
  end

  it("refuses a NUL inside", function()
    assert.equal(C.ERR_INVALID, (validate "a\0b"))
  end)

  it("cuts a very long name in the message at a whole character", function()
    local _, text = validate(("\195\169"):rep(16000))
    assert.equal("Topic name is invalid: the length of '" .. ("\195\169"):rep(400) .. "' is longer than the max allowed length 249", text)
  end)

  it("collides with another that differs in dots and underscores only", function()
    assert.is_true(C.topic_name_collides("a.b_c", "a_b.c"))
    assert.is_true(C.topic_name_collides("a.b", "a.b"))
    assert.is_false(C.topic_name_collides("a.b_c", "a-b.c"))
    assert.is_false(C.topic_name_collides("a.b", "a_b_"))
    assert.is_false(C.topic_name_may_collide "a-b")
    assert.is_true(C.topic_name_may_collide "a.b")
  end)

  it("is internal for the broker's own topics only", function()
    assert.is_true(C.topic_name_is_internal "__consumer_offsets")
    assert.is_true(C.topic_name_is_internal "__transaction_state")
    assert.is_false(C.topic_name_is_internal "__mine")
    assert.is_true(C.topic_name_is_cluster_metadata "__cluster_metadata")
  end)
end)
