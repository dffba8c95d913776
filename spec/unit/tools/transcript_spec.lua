-- SPDX-License-Identifier: Apache-2.0
-- What makes two runs of a tool comparable: ids, times and addresses become words, and nothing else does.
local transcript = require "scripts.tools.transcript"
local differences = require "scripts.tools.differences"

local function entry(step, result)
  return transcript.entry({ name = "step", command = step.command or "kafka-x", sorted = step.sorted, shown = step.shown,
    hidden = step.hidden }, { out = result.out or "", err = result.err or "", status = result.status or 0, fault = result.fault },
    step.names or {})
end

describe("a transcript", function()
  local CASES = {
    { "ids of topics", "TopicId: cx4XRxfhxQbCerNIGXTyLA", "TopicId: IIIIIIIIIIIIIIIIIIIIII" },
    { "ids without a digit", "dSDRsguQQCihvvytJKGtMA", "IIIIIIIIIIIIIIIIIIIIII" },
    { "ids of members", "consumer-crew-12-01234567-89ab-cdef-0123-456789abcdef", "consumer-crew-N-" .. ("U"):rep(36) },
    { "addresses", "127.0.0.1:9092 and 127.0.0.1 9092", "127.0.0.1:PORT and 127.0.0.1 PORT" },
    { "times of the run", "1796025600123", "TIME" },
    { "old times, to some minutes", "1600000000123 1700000004567", "1600000NNNNNN 1700000NNNNNN" },
    { "throughput", '"avg_throughput":1234.5678901234567}', '"avg_throughput":N}' },
    { "attempts", "errors.TimeoutException: Call(tries=5) timed out", "errors.TimeoutException: (what it waited for)" },
    { "where an exception was thrown", "Oops\n\tat a.b(C.java:1)\n\t... 5 more\nend", "Oops\nend" },
    { "the list of options", "Bad\nOption   Description\n------   -----------\n--help   Help", "Bad\n(options)" },
    { "lists out of hash tables", "Valid states are: Stable, Dead\n", "Valid states are: Dead, Stable\n" },
    { "warnings that repeat", "WARN x correlation id 1 y\nWARN x correlation id 2 y\nz\n", "WARN x correlation id N y\nz\n" },
  }
  for _, case in ipairs(CASES) do
    it("has a word for " .. case[1], function() assert.equal(case[3], transcript.normal(case[2], {})) end)
  end

  local KEPT = { "apples:0:12", "offset 1234567890", "ConsumerGroupHeartbeats", "retention.ms=3600000", "log.segment.bytes=1073741824" }
  for _, text in ipairs(KEPT) do
    it("keeps " .. text, function() assert.equal(text, transcript.normal(text, {})) end)
  end

  it("names folders, longer ones first", function()
    assert.equal("FILES/a DATA/b", transcript.normal("/tmp/x/files/a /tmp/x/b", { ["/tmp/x"] = "DATA", ["/tmp/x/files"] = "FILES" }))
  end)

  it("has a line for all that a tool was given and has said", function()
    assert.equal("== step\n$ kafka-x\n< in\n> one\n> two\n! oops\n= 3\n? does not end\n",
      entry({ shown = "in\n" }, { out = "one\ntwo\n", err = "oops\n", status = 3, fault = "does not end" }))
  end)

  it("sorts lines that have no order", function()
    assert.equal("== step\n$ kafka-x\n> a\n> b\n", entry({ sorted = true }, { out = "b\na\n" }))
  end)

  it("leaves out lines that are to be hidden", function()
    assert.equal("== step\n$ kafka-x\n> a\n", entry({ hidden = "^b" }, { out = "a\nb\n" }))
  end)

  it("is split into entries again", function()
    local entries, names = transcript.entries "== a\n$ x\n> == no entry\n\n== b\n$ y\n"
    assert.same({ "a", "b" }, names)
    assert.same({ a = "== a\n$ x\n> == no entry", b = "== b\n$ y" }, entries)
  end)

  it("is compared step by step, those of one side alone included", function()
    local found = transcript.differences("== a\n> 1\n\n== b\n> 2\n\n== c\n> 3\n", "== a\n> 1\n\n== b\n> 3\n\n== d\n> 4\n")
    assert.same({
      { name = "b", a = "== b\n> 2", b = "== b\n> 3" }, { name = "c", a = "== c\n> 3", b = "" }, { name = "d", a = "", b = "== d\n> 4" },
    }, found)
  end)
end)

describe("what is expected of Luka", function()
  it("has no min.insync.replicas of the cluster's", function()
    assert.equal("> Topic: a\tConfigs:\n", differences.expected "> Topic: a\tConfigs: min.insync.replicas=1\n")
    assert.equal("> Topic: a\tConfigs: x=1\n", differences.expected "> Topic: a\tConfigs: min.insync.replicas=1,x=1\n")
  end)

  it("gives a reason for each difference", function()
    for _, rule in ipairs(differences.RULES) do assert.is_true(#rule.reason > 0) end
    for _, steps in pairs(differences.STEPS) do
      for step, reason in pairs(steps) do assert.is_true(#reason > 10, step) end
    end
  end)
end)
