-- SPDX-License-Identifier: Apache-2.0
-- The small modules of lua/luka/config/ that need no C.
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
local amount = require "luka.config.amount"
local failure = require "luka.config.failure"
local suggest = require "luka.config.suggest"
local units = require "luka.units"
local value = require "luka.config.value"

describe("luka.config.suggest", function()
  it("counts insertions, deletions, replacements and swaps of neighbours", function()
    assert.equal(0, suggest.distance("workers", "workers", 3))
    assert.equal(1, suggest.distance("workrs", "workers", 3))
    assert.equal(1, suggest.distance("workerss", "workers", 3))
    assert.equal(1, suggest.distance("wprkers", "workers", 3))
    assert.equal(1, suggest.distance("wrokers", "workers", 3))
    assert.equal(3, suggest.distance("abc", "xyz", 3))
  end)

  it("stops counting beyond its limit", function()
    assert.equal(3, suggest.distance("kitten", "something else", 2))
    assert.equal(3, suggest.distance("aaaaaa", "bbbbbb", 2))
  end)

  it("gives the nearest word, the first in the alphabet of equals", function()
    assert.equal("listen", suggest.nearest("lisen", { "id", "listen", "data" }))
    assert.equal("bat", suggest.nearest("xat", { "cat", "bat" }))
  end)

  it("gives nothing when nothing is near", function()
    assert.is_nil(suggest.nearest("flux", { "listen", "data" }))
    assert.is_nil(suggest.nearest("", { "id" }))
  end)
end)

describe("luka.config.value", function()
  it("writes integers with all their digits", function()
    assert.equal("9007199254740991", value.text(9007199254740991))
    assert.equal("-9007199254740991", value.text(-9007199254740991))
    assert.equal("1000000000000000", value.text(1e15))
    assert.equal("0", value.text(-0))
    assert.equal("9223372036854775807", value.text(9223372036854775807LL))
    assert.equal("-1", value.text(-1LL))
    assert.equal("18446744073709551615", value.text(18446744073709551615ULL))
  end)

  it("writes fractions so that they read back the same", function()
    assert.equal("0.1", value.text(0.1))
    assert.equal(1 / 3, tonumber((value.text(1 / 3))))
  end)

  it("refuses what is not exact or not a number", function()
    for _, number in ipairs { 2 ^ 53, -2 ^ 53, 1e300, math.huge, -math.huge, 0 / 0 } do
      assert.is_nil((value.text(number)))
    end
  end)

  it("joins lists with commas", function()
    assert.equal("a,1,true", value.text { "a", 1, true })
    assert.equal("", value.text {})
  end)

  it("refuses lists in lists, functions and other C data", function()
    assert.is_nil((value.text { {} }))
    assert.is_nil((value.text(print)))
    assert.is_nil((value.text(1i)))
  end)

  it("reads integers of every kind", function()
    assert.equal(5, value.integer(5))
    assert.equal(5, value.integer(5LL))
    assert.is_nil(value.integer "5")
    assert.equal(5, value.integer("5", true))
    assert.equal(-5, value.integer("-5", true))
    for _, text in ipairs { "", "5x", " 5", "0x5", "5.0", "1e3", "99999999999999999999" } do
      assert.is_nil(value.integer(text, true))
    end
    assert.is_nil(value.integer(5.5))
  end)
end)

describe("luka.config.failure", function()
  it("makes any text one printable line", function()
    assert.equal("a | b", failure.one_line "a\nb\n\n")
    assert.equal("\\x00\\x1b\\x7f", failure.one_line "\0\27\127")
    assert.equal("gr\195\188n \226\130\172", failure.one_line "gr\195\188n \226\130\172")
    assert.equal("\\xff\\xc3", failure.one_line "\255\195")
  end)

  it("names file, line, key and what is wrong", function()
    assert.equal("config.lua:12: broker.id: wrong", tostring(failure.new({ source = "config.lua", line = 12 }, "broker.id", "wrong")))
    assert.equal("config.lua: wrong", tostring(failure.new({ source = "config.lua" }, nil, "wrong")))
    assert.equal("--set id: wrong", tostring(failure.new({ source = "--set" }, "id", "wrong")))
  end)
end)

describe("luka.config.amount", function()
  it("says what to write for a text with a unit", function()
    for _, case in ipairs {
      { "7d", "ms", "days(7)", 604800000 }, { " 7 days ", "ms", "days(7)", 604800000 }, { "1.5h", "ms", "hours(1.5)", 5400000 },
      { "2w", "ms", "days(14)", 1209600000 }, { "90min", "ms", "minutes(90)", 5400000 }, { "5S", "ms", "seconds(5)", 5000 },
      { "250ms", "ms", "250", 250 }, { "days(7)", "ms", "days(7)", 604800000 }, { "7d", "hours", "168", 168 },
      { "2h", "minutes", "120", 120 }, { "10MB", "bytes", "10 * MiB", 10485760 }, { "64 * MiB", "bytes", "64 * MiB", 67108864 },
      { "1.5g", "bytes", "1.5 * GiB", 1610612736 }, { "2TiB", "bytes", "2048 * GiB", 2199023255552 },
      { "512b", "bytes", "512", 512 },
    } do
      assert.same({ case[3], case[4] }, { amount.rewrite(case[1], case[2]) }, case[1])
    end
  end)

  it("says nothing for a text that is none, has another unit, or no whole number of them", function()
    for _, case in ipairs {
      { "", "ms" }, { "7", "ms" }, { "d", "ms" }, { "7 moons", "ms" }, { "7d", "bytes" }, { "10MB", "ms" },
      { "90min", "hours" }, { "0.3b", "bytes" }, { "99999999999d", "ms" }, { "-7d", "ms" }, { "os.exit(1)", "ms" },
    } do
      assert.is_nil((amount.rewrite(case[1], case[2])), case[1])
    end
  end)

  it("writes numbers with the largest unit that says all", function()
    assert.equal("days(7)", amount.format(604800000, "ms"))
    assert.equal("hours(25)", amount.format("90000000", "ms"))
    assert.equal("1500", amount.format(1500, "ms"))
    assert.equal("512 * MiB", amount.format(536870912, "bytes"))
    assert.equal("1048588", amount.format("1048588", "bytes"))
    for _, text in ipairs { "-1", "0", "9223372036854775807", "7" } do
      assert.equal(text, amount.format(text, "ms"))
      assert.equal(text, amount.format(text, nil))
    end
  end)

  it("knows what a key counts in", function()
    for key, unit in pairs { retention_ms = "ms", ["log.retention.hours"] = "hours", segment_bytes = "bytes" } do
      assert.equal(unit, amount.unit(key))
    end
    assert.is_nil(amount.unit "num_partitions")
    assert.is_nil(amount.unit "bytes")
  end)
end)

describe("luka.units", function()
  it("counts milliseconds and bytes", function()
    assert.equal(1500, units.seconds(1.5))
    assert.equal(300000, units.minutes(5))
    assert.equal(3600000, units.hours(1))
    assert.equal(604800000, units.days(7))
    assert.equal(1024, units.KiB)
    assert.equal(1048576, units.MiB)
    assert.equal(1073741824, units.GiB)
  end)

  it("refuses what is no number", function()
    assert.has_error(function() units.days "7" end, 'days: got "7", expected a number: days(7)')
  end)
end)
