-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load "controller/election.h"

describe("election", function()
  local function ids(list) return ffi.new("int32_t[?]", #list + 1, list), #list end

  local function run(fn, case)
    local election, state = ffi.new "struct election", ffi.new "struct election_state"
    local live, replicas = ids(case.live), ids(case.replicas)
    local isr = ffi.new("int32_t[8]", case.isr or {})
    election.live, election.live_count = live, #case.live
    election.replicas, election.replica_count = replicas, #case.replicas
    election.restarted = case.restarted or -1
    election.is_unclean_allowed = case.unclean or false
    state.leader, state.leader_epoch = case.leader or -1, case.epoch or 4
    state.isr, state.isr_count = isr, #(case.isr or {})
    local changed = fn(election, state)
    local out = {}
    for i = 0, state.isr_count - 1 do out[#out + 1] = isr[i] end
    return { state.leader, state.leader_epoch, table.concat(out, ",") }, changed
  end

  it("makes the first live replica the first leader, with all live ones in sync", function()
    assert.same({ 2, 0, "2,3" }, (run(C.election_new, { live = { 2, 3 }, replicas = { 1, 2, 3 } })))
    assert.same({ -1, 0, "1,2" }, (run(C.election_new, { live = { 9 }, replicas = { 1, 2 } })))
  end)

  for _, case in ipairs {
    { "leaves a live leader alone", { live = { 1, 2 }, replicas = { 1, 2 }, isr = { 2, 1 }, leader = 2 }, { 2, 4, "2,1" }, false },
    { "gives a leader that lost its memory a new epoch", { live = { 1 }, replicas = { 1 }, isr = { 1 }, leader = 1, restarted = 1 }, { 1,
      5, "1" }, true },
    { "elects the first live replica of the ISR", { live = { 2, 3 }, replicas = { 1, 2, 3 }, isr = { 1, 3 }, leader = 1 }, { 3, 5, "3" },
      true },
    { "elects again when nobody led and an ISR member is back", { live = { 2 }, replicas = { 1, 2 }, isr = { 2 } }, { 2, 5, "2" }, true },
    { "leaves nobody to lead when no ISR member lives", { live = { 2 }, replicas = { 1, 2 }, isr = { 1 }, leader = 1 }, { -1, 5, "1" },
      true },
    { "changes nothing while nobody can lead", { live = { 2 }, replicas = { 1, 2 }, isr = { 1 } }, { -1, 4, "1" }, false },
    { "takes a replica outside the ISR where that is allowed", { live = { 2 }, replicas = { 1, 2 }, isr = { 1 }, leader = 1,
      unclean = true }, { 2, 5, "2" }, true },
    { "prefers the ISR though unclean election is allowed", { live = { 2, 3 }, replicas = { 2, 3 }, isr = { 3 }, leader = 1,
      unclean = true }, { 3, 5, "3" }, true },
  } do
    it(case[1], function()
      local state, changed = run(C.election_renew, case[2])
      assert.same(case[3], state)
      assert.equal(case[4], changed)
    end)
  end
end)
