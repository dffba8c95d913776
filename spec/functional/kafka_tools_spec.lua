-- SPDX-License-Identifier: Apache-2.0
-- Apache Kafka's command-line tools on Luka. What they say is kept in spec/data/kafka-tools, as it was on Apache Kafka
-- and on Luka (scripts/conformance tools): the two are compared here. Where there is a JDK, and Kafka's jars have been
-- fetched before, the tools run again, and say on this Luka what is kept.
local kafka = require "scripts.bench.kafka"
local differences = require "scripts.tools.differences"
local tools = require "scripts.tools.main"
local transcript = require "scripts.tools.transcript"
local unit = require "spec.support.unit"

local function kept(side, name) return assert(unit.read_file(tools.path(side, name)), "no transcript " .. tools.path(side, name)) end

--- Fails with what differs, but for the steps that may.
local function assert_same(expected, actual, allowed)
  local texts = {}
  for _, one in ipairs(transcript.differences(expected, actual)) do
    if not allowed[one.name] then texts[#texts + 1] = ("%s\n---- but:\n%s"):format(one.a, one.b) end
  end
  if #texts > 0 then error(table.concat(texts, "\n\n"), 2) end
end

describe("Apache Kafka's tools", function()
  for _, name in ipairs(tools.FILES) do
    it("say on Luka what they say on Apache Kafka, but for the differences that are listed: " .. name, function()
      assert_same(differences.expected(kept("kafka", name)), kept("luka", name), differences.STEPS[name])
    end)

    it("differ wherever a difference is listed: " .. name, function()
      local found = {}
      for _, one in ipairs(transcript.differences(differences.expected(kept("kafka", name)), kept("luka", name))) do
        found[one.name] = true
      end
      for step in pairs(differences.STEPS[name]) do assert.is_true(found[step], step) end
    end)

    it("have run every step: " .. name, function()
      local steps = {}
      for _, step in ipairs(require("scripts.tools.steps." .. name)) do
        if not step.wait then steps[#steps + 1] = step[1] end
      end
      for _, side in ipairs { "kafka", "luka" } do
        assert.same(steps, select(2, transcript.entries(kept(side, name))))
      end
    end)
  end

  if not kafka.has_cached_jars() then
    print "kafka_tools_spec: no JDK, or Apache Kafka's jars are not here; the tools did not run (scripts/conformance tools luka)"
    return
  end
  for _, name in ipairs(tools.FILES) do
    it("say on this Luka what is kept: " .. name, function() assert_same(kept("luka", name), tools.on_luka(name), {}) end)
  end
end)
