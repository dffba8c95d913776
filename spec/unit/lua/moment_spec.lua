-- SPDX-License-Identifier: Apache-2.0
-- Times as people write them.
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
local NOW = 1800000000000
package.preload["luka.native.clock"] = function() return { now = function() return NOW end } end
local moment = require "luka.admin.moment"

describe("luka.admin.moment", function()
  it("reads times ago", function()
    for text, ms in pairs {
      ["90s"] = 90000, ["15m"] = 900000, ["1h"] = 3600000, ["7d"] = 604800000, ["1.5 hours"] = 5400000, ["250ms"] = 250,
      ["1 day"] = 86400000, ["0s"] = 0,
    } do assert.equal(NOW - ms, moment.ago(text), text) end
  end)

  it("knows what is no time ago", function()
    for _, text in ipairs { "", "1", "h", "1 fortnight", "-1h", "1h ago", "1,5h", "earliest" } do
      assert.is_nil(moment.ago(text), text)
    end
  end)

  it("reads dates, in UTC unless they say otherwise", function()
    for text, seconds in pairs {
      ["1970-01-01"] = 0, ["2000-02-29"] = 951782400, ["2024-02-29T12:30"] = 1709209800, ["2026-11-30"] = 1795996800,
      ["2026-11-30T14:00:05Z"] = 1796047205, ["2026-11-30 14:00:05"] = 1796047205,
      ["2026-11-30T14:00:05.250Z"] = 1796047205.25, ["2026-11-30T14:00:00+01:00"] = 1796043600,
      ["2026-11-30T14:00-0530"] = 1796067000, ["1970-01-01T00:00:00+00:00"] = 0, ["9999-12-31"] = 253402214400,
    } do assert.equal(seconds * 1000, moment.date(text), text) end
  end)

  it("agrees with the system's calendar, day by day", function()
    for day = 0, 40000, 17 do
      assert.equal(day * 86400000, moment.date(os.date("!%Y-%m-%d", day * 86400)))
    end
  end)

  it("knows what is no date", function()
    for _, text in ipairs {
      "", "2026", "2026-1-1", "2026-13-01", "2026-00-01", "2026-02-30", "2025-02-29", "1900-02-29", "2026-11-31", "2026-11-00",
      "2026-11-30T", "2026-11-30T24:00", "2026-11-30T12:60", "2026-11-30T12:00:60", "2026-11-30T12:00:5", "2026-11-30T12:00 Z",
      "2026-11-30T12:00:00.5.5", "2026-11-30T12:00+1", "2026-11-30x", "1969-12-31", "1970-01-01T00:00+01:00", "20261130",
    } do assert.is_nil(moment.date(text), text) end
  end)
end)
