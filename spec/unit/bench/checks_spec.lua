-- SPDX-License-Identifier: Apache-2.0
local checks = require "scripts.bench.checks"

--- Rounds with these figures of Luka, and others on the other sides.
local function rounds(luka, kafka, limit)
  local out = {}
  for at, value in ipairs(luka) do
    out[at] = { luka = { cpu = value }, kafka = kafka and { cpu = kafka[at] }, limit = limit and { cpu = limit[at] } }
  end
  return out
end

describe("the checks of the benchmark", function()
  it("hold on the worst of the three rounds in the middle", function()
    local check = { figure = "cpu", over = "kafka", at_most = 0.45 }
    local kafka = { 8, 8, 8, 8, 8 }
    local good = checks.judge(check, rounds({ 1, 3, 2, 9, 2.5 }, kafka))
    assert.same({ "held", 0.375 }, { good.state, good.worst })
    local bad = checks.judge(check, rounds({ 1, 4, 2, 9, 2.5 }, kafka))
    assert.same({ "failed", 0.5 }, { bad.state, bad.worst })
  end)

  it("take the lowest of the middle where more is better", function()
    local check = { figure = "cpu", over = "kafka", at_least = 1.3 }
    local kafka = { 1, 1, 1, 1, 1 }
    local verdict = checks.judge(check, rounds({ 0.5, 1.3, 1.4, 1.5, 9 }, kafka))
    assert.same({ "held", 1.3 }, { verdict.state, verdict.worst })
    assert.equal("failed", checks.judge(check, rounds({ 0.5, 1.2, 1.4, 1.5, 9 }, kafka)).state)
  end)

  it("do not take equal for below", function()
    local check = { figure = "cpu", over = "kafka", below = 1 }
    assert.equal("failed", checks.judge(check, rounds({ 2 }, { 2 })).state)
    assert.equal("held", checks.judge(check, rounds({ 1.9 }, { 2 })).state)
  end)

  it("may be about Luka's figure alone", function()
    assert.equal("held", checks.judge({ figure = "cpu", at_least = 25 }, rounds { 25, 30, 26 }).state)
    assert.equal("failed", checks.judge({ figure = "cpu", at_least = 25 }, rounds { 24, 30, 26 }).state)
  end)

  it("are skipped, and say why, where a side has no figure", function()
    local verdict = checks.judge({ figure = "cpu", over = "kafka", at_most = 1 }, rounds { 1, 2 })
    assert.same({ "skipped", "no figure of Kafka" }, { verdict.state, verdict.why })
    verdict = checks.judge({ figure = "other", over = "kafka", at_most = 1 }, rounds({ 1 }, { 1 }))
    assert.same({ "skipped", "no figure of Luka" }, { verdict.state, verdict.why })
  end)

  it("say in words what is asked", function()
    assert.equal("at most 0.45 x Kafka", checks.asked { figure = "cpu", over = "kafka", at_most = 0.45 })
    assert.equal("at least 1.3 x limit", checks.asked { figure = "cpu", over = "limit", at_least = 1.3 })
    assert.equal("below Kafka's", checks.asked { figure = "cpu", over = "kafka", below = 1 })
    assert.equal("at least 25", checks.asked { figure = "cpu", at_least = 25 })
  end)
end)
