-- SPDX-License-Identifier: Apache-2.0
local statistics = require "scripts.bench.statistics"

describe("the statistics of the benchmark", function()
  local ROUNDS = {
    { luka = { cpu = 1 }, kafka = { cpu = 4 } },
    { luka = { cpu = 3 }, kafka = { cpu = 4 } },
    { luka = { cpu = 2 } },
    { luka = { cpu = 2 }, kafka = { cpu = 0 } },
  }

  it("takes a figure of one side by round", function()
    assert.same({ 1, 3, 2, 2 }, statistics.of(ROUNDS, "luka", "cpu"))
    assert.same({ 4, 4, nil, 0 }, statistics.of(ROUNDS, "kafka", "cpu"))
  end)

  it("divides within a round, and leaves out rounds that cannot be divided", function()
    assert.same({ 0.25, 0.75 }, statistics.ratios(ROUNDS, "kafka", "cpu"))
    assert.same({}, statistics.ratios(ROUNDS, "limit", "cpu"))
  end)

  it("gives median, least and most, whatever the order and the holes", function()
    local odd = statistics.summary({ 5, 1, [4] = 3 }, 5)
    assert.same({ 3, 1, 5 }, { odd.median, odd.min, odd.max })
    local even = statistics.summary({ 4, 1, 2, 9 }, 4)
    assert.same({ 3, 1, 9 }, { even.median, even.min, even.max })
    assert.is_nil(statistics.summary({}, 5))
  end)

  it("keeps the three values in the middle of five", function()
    assert.same({ 2, 3, 4 }, statistics.middle({ 5, 1, 4, 2, 3 }, 5))
    assert.same({ 3, 4, 5 }, statistics.middle({ 7, 1, 2, 3, 4, 5, 6 }, 7))
  end)

  it("keeps all of four or fewer", function()
    assert.same({ 1, 2, 3, 4 }, statistics.middle({ 4, 3, 2, 1 }, 4))
    assert.same({ 1, 2, 3 }, statistics.middle({ 3, 1, 2 }, 3))
    assert.same({ 7 }, statistics.middle({ 7 }, 1))
    assert.same({}, statistics.middle({}, 0))
  end)

  it("tells noise by the rounds in the middle, in percent of the median", function()
    assert.equal(20, statistics.noise_percent({ 10, 1, 99, 9, 11 }, 5))
    assert.equal(100, statistics.noise_percent({ 5, [3] = 15 }, 3))
    assert.is_nil(statistics.noise_percent({ 5 }, 1))
    assert.is_nil(statistics.noise_percent({ 0, 0, 0 }, 3))
  end)

  it("adds up the latencies of all rounds, by bucket", function()
    local rounds = { { luka = { histogram = { { 10, 5 }, { 30, 1 } } } }, { luka = { histogram = { { 10, 1 }, { 20, 2 } } } },
      { kafka = {} } }
    assert.same({ { 10, 6 }, { 20, 2 }, { 30, 1 } }, statistics.histogram(rounds, "luka"))
    assert.same({}, statistics.histogram(rounds, "kafka"))
  end)

  it("draws a tail from the share of requests that took at least so long", function()
    assert.same({ { 1, 10 }, { 0.5, 20 }, { 0.1, 90 } }, statistics.tail { { 10, 5 }, { 20, 4 }, { 90, 1 } })
  end)
end)
