-- SPDX-License-Identifier: Apache-2.0
-- Bytes, numbers and times of records as the command line shows and reads them.
require "spec.support.wire"
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path

local cjson = require "cjson"
local client = require "luka.cli.client"
local data = require "luka.cli.data"
local files = require "luka.dump.file"
local date = require "luka.date"

describe("bytes on a terminal", function()
  for bytes, want in pairs {
    ["plain"] = '"plain"', [""] = '""', ['a"b\\c'] = [["a\"b\\c"]], ["\n\r\t\0\27\127"] = [["\n\r\t\x00\x1b\x7f"]],
    ["gr\195\188n"] = '"gr\195\188n"', ["\255\254"] = [["\xff\xfe"]], ["\195"] = [["\xc3"]], ["\192\128"] = [["\xc0\x80"]],
    ["\194\155"] = [["\xc2\x9b"]], ["\237\160\128"] = [["\xed\xa0\x80"]], ["\240\159\152\128"] = '"\240\159\152\128"',
    ["\244\144\128\128"] = [["\xf4\x90\x80\x80"]],
  } do
    it("are shown as " .. want, function() assert.equal(want, data.quote(bytes)) end)
  end

  it("are null for nil", function() assert.equal("null", data.quote(nil)) end)
end)

describe("bytes in JSON", function()
  it("are text where they are UTF-8", function()
    for _, text in ipairs { "", "abc", 'q"\\\n\0\127', "gr\195\188n \240\159\152\128" } do
      assert.same({ k = text }, cjson.decode("{" .. data.json_bytes("k", text) .. "}"))
    end
    assert.equal('"k":null', data.json_bytes("k", nil))
    assert.equal('"k":"\\u009B\\u001B\195\188"', data.json_bytes("k", "\194\155\27\195\188"))
  end)

  for bytes, want in pairs { ["\255"] = "/w==", ["\255\254"] = "//4=", ["\255\254\253"] = "//79", ["\195("] = "wyg=",
    ["\0\255"] = "AP8=" } do
    it("are base64 where they are not: " .. want, function()
      assert.equal('"k_base64":"' .. want .. '"', data.json_bytes("k", bytes))
    end)
  end
end)

describe("numbers", function()
  for text, value in pairs {
    ["0"] = 0, ["9007199254740992"] = 2 ^ 53, ["9007199254740993"] = 9007199254740993LL,
    ["9223372036854775807"] = 9223372036854775807LL, ["-5"] = -5,
  } do
    it("are read from digits, and written: " .. text, function()
      assert.is_true(files.number(text) == value)
      assert.equal(text, data.digits(files.number(text)))
    end)
  end

  it("are read with zeros before them", function() assert.equal(1920, files.number "00000000000000001920") end)

  it("are none when there are no digits or too many", function()
    for _, text in ipairs { "", "x", "1x", "9223372036854775808", "99999999999999999999", "-" } do assert.is_nil(files.number(text)) end
  end)

  it("are read from bytes", function()
    assert.same({ -1, 4294967295, -2 }, { files.i32("\255\255\255\255", 1), files.u32("\255\255\255\255", 1), files.i16("x\255\254", 2) })
    assert.equal(-1, files.i64(("\255"):rep(8), 1))
    assert.is_true(files.i64("\127" .. ("\255"):rep(7), 1) == 9223372036854775807LL)
    assert.is_true(files.i64("\128" .. ("\0"):rep(7), 1) == -9223372036854775807LL - 1)
    assert.equal("number", type(files.i64("\0\31" .. ("\255"):rep(6), 1)))
  end)
end)

describe("times", function()
  for text, ms in pairs {
    ["1970-01-01"] = 0, ["2000-02-29"] = 951782400000, ["2023-11-14T22:13:20Z"] = 1700000000000, ["2023-11-14 22:13"] = 1699999980000,
    ["2023-11-14T22:13:20.123"] = 1700000000123, ["2023-11-15T00:13:20+02:00"] = 1700000000000,
    ["2023-11-14T16:43:20-0530"] = 1700000000000, ["2100-03-01"] = 4107542400000,
  } do
    it("are read: " .. text, function() assert.equal(ms, date.parse(text)) end)
  end

  for _, text in ipairs { "", "2023", "2023-13-01", "2023-02-29", "1900-01-01", "2023-11-14T24:00", "2023-11-14T22:60", "2023-11-14T22",
    "2023-11-14T22:13:20.", "2023-11-14T22:13:20X", "2023-11-14x", "2023-00-10", "2023-01-00", "2023-01-01T00:00:0012" } do
    it(("are none: %q"):format(text), function() assert.is_nil(date.parse(text)) end)
  end

  it("are written", function()
    assert.equal("2023-11-14T22:13:20.007Z", data.time(1700000000007))
    assert.equal("1969-12-31T23:59:59.999Z", data.time(-1))
    assert.equal("9223372036854775807", data.time(9223372036854775807LL))
    assert.equal("-", data.time(nil))
  end)
end)

describe("escapes in options", function()
  for text, want in pairs { ["a\\tb"] = "a\tb", ["\\n\\r\\0\\\\"] = "\n\r\0\\", ["\\x41\\x7e"] = "A~", ["\\q"] = "\\q", ["\\x4"] = "\\x4",
    ["\\nab"] = "\nab", ["\\\\n"] = "\\n" } do
    it(("are understood: %s"):format(text), function() assert.equal(want, client.unescape(text)) end)
  end
end)
