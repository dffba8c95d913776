-- SPDX-License-Identifier: Apache-2.0
-- Consumer groups under random schedules (spec/support/consumer_sim.lua). Each run has seeds of its own, which are printed:
-- SIM_SEED=n runs one schedule again, SIM_RUNS=n that many of them, from SIM_SEED if it is given.
local sim = require "spec.support.consumer_sim"

local asked = tonumber(os.getenv "SIM_SEED")
local runs = tonumber(os.getenv "SIM_RUNS") or asked and 1 or 60
local fresh = os.time() % 1000000 * 1000

local function each_seed(options)
  local first = asked or fresh
  print(("SIM_SEED=%d SIM_RUNS=%d"):format(first, runs))
  for seed = first, first + runs - 1 do sim.run(seed, options) end
end

describe("a consumer group", function()
  it("gives no partition to two members, and comes to rest, whoever comes, goes, dies or fails", function()
    each_seed { steps = 300 }
  end)

  it("does so with members that are subscribed to different topics", function()
    each_seed { steps = 300, mixed = true }
  end)

  it("does so while it becomes a classic group and a consumer group again and again", function()
    each_seed { steps = 300, classic = true }
    each_seed { steps = 300, classic = true, mixed = true }
  end)

  it("does so without losses", function()
    each_seed { steps = 200, faults = false, mixed = true }
  end)
end)
