-- SPDX-License-Identifier: Apache-2.0
-- Runners by themselves: the order of jobs, a reload between two of them, calls that never return.
local ffi = require "ffi"
local client = require "spec.support.client"
local unit = require "spec.support.unit"

local C = unit.load("base/error.h", "policy/runner.h", "policy_driver.h", "policy_probe.h")

describe("runners", function()
  local driver
  local function start(runners)
    driver = C.policy_driver_new(runners or 2)
    C.probe_hold()
  end
  after_each(function()
    C.policy_driver_delete(driver)
    C.probe_release() -- a thread that is lost ends
  end)

  local function submit(topic, partition, records) return C.policy_driver_submit(driver, topic, partition or 0, records or 1) end
  local function job(number) return C.policy_driver_job(driver, number) end
  local function wait_for(count)
    client.wait_until(count .. " jobs are done", function() return C.policy_driver_done(driver) >= count end, 20000)
  end
  local function vms()
    local out = ffi.new "struct probe_vms"
    C.probe_vms_read(out)
    return { made = tonumber(out.made), freed = tonumber(out.freed), misplaced = tonumber(out.misplaced) }
  end

  it("run the jobs of a partition in order, and tell the loop that asked", function()
    start()
    C.policy_driver_reload(driver, C.probe_set_new(1, false))
    for i = 0, 999 do submit("t.upper", i % 7) end
    wait_for(1000)
    local last = {}
    for i = 0, 999 do
      local seen = job(i)
      assert.is_true(seen.had_vm)
      assert.is_false(seen.is_misplaced)
      assert.is_true(seen.began > (last[i % 7] or 0))
      last[i % 7] = seen.began
    end
  end)

  it("go over to another set between two jobs, with a VM that is made and freed on its thread", function()
    start(1)
    local before = vms()
    C.policy_driver_reload(driver, C.probe_set_new(1, false))
    for _ = 1, 50 do submit "t.upper" end
    wait_for(1)
    C.policy_driver_reload(driver, C.probe_set_new(2, false))
    for _ = 1, 50 do submit "t.upper" end
    wait_for(100)
    local last = 0
    for i = 0, 99 do
      local generation = tonumber(job(i).generation)
      assert.is_true(generation >= last)
      last = generation
    end
    for i = 50, 99 do assert.equal(2, tonumber(job(i).generation)) end
    client.wait_until("the old VM is freed", function() return vms().freed - before.freed == 1 end)
    assert.same({ 2, 0 }, { vms().made - before.made, vms().misplaced })
  end)

  it("go over to a set that no VM can be made for, and have none: functions of before are no substitute", function()
    start(1)
    C.policy_driver_reload(driver, C.probe_set_new(1, false))
    submit "t.upper"
    wait_for(1) -- it has that set
    C.policy_driver_reload(driver, C.probe_set_new(2, true))
    submit "t.upper"
    wait_for(2)
    C.policy_driver_reload(driver, C.probe_set_new(3, false))
    submit "t.upper"
    wait_for(3)
    assert.same({ 2, false, C.ERR_SCRIPT }, { tonumber(job(1).generation), job(1).had_vm, job(1).result })
    assert.same({ 3, true, 0 }, { tonumber(job(2).generation), job(2).had_vm, job(2).result })
  end)

  it("answer with the reason when there never was a VM", function()
    start(1)
    C.policy_driver_reload(driver, C.probe_set_new(1, true))
    submit "t.upper"
    wait_for(1)
    assert.equal(C.ERR_SCRIPT, job(0).result)
    assert.equal("policies cannot be run: no VM on purpose", ffi.string(job(0).text))
  end)

  it("know the set for which they have no VM, so that nothing goes past its policies", function()
    start(1)
    C.policy_driver_reload(driver, C.probe_set_new(1, true))
    submit "t.upper"
    wait_for(1)
    C.policy_driver_reload(driver, C.probe_set_new(2, true))
    submit "t.upper"
    wait_for(2)
    assert.same({ 1, false }, { tonumber(job(0).generation), job(0).had_vm })
    assert.same({ 2, false }, { tonumber(job(1).generation), job(1).had_vm })
    assert.equal(C.ERR_SCRIPT, job(1).result)
  end)

  it("count calls by record, and errors", function()
    start(1)
    local set = C.probe_set_new(1, false)
    C.policy_driver_reload(driver, set)
    submit("t.upper", 0, 10)
    submit("t.raise", 0, 3)
    wait_for(2)
    assert.equal(10, tonumber(C.probe_calls(C.probe_policy(set, "t.upper"))))
    assert.equal(3, tonumber(C.probe_calls(C.probe_policy(set, "t.raise"))))
    assert.equal(1, tonumber(C.probe_errors(C.probe_policy(set, "t.raise"))))
    assert.equal("transform of topic t.raise: probe.c:10: failed on purpose", ffi.string(job(1).text))
  end)

  it("give up a thread whose call does not return: what waits behind it goes on", function()
    start(1)
    local set = C.probe_set_new(1, false)
    C.policy_driver_reload(driver, set)
    submit "t.endless"
    submit "t.upper"
    wait_for(2)
    assert.is_true(job(0).is_abandoned)
    assert.equal(C.ERR_SCRIPT, job(0).result)
    assert.truthy(ffi.string(job(0).text):match "^transform of topic t%.endless %(probe%.c:12%) has not returned for %d+ ms$")
    assert.same({ false, 0 }, { job(1).is_abandoned, job(1).result })
    assert.equal(1, C.policy_driver_lost(driver))
    assert.is_false(job(0).has_returned)
    assert.equal(1, tonumber(C.probe_errors(C.probe_policy(set, "t.endless"))))
  end)

  it("get a lost thread's job back when the call returns after all", function()
    start(1)
    C.policy_driver_reload(driver, C.probe_set_new(1, false))
    submit "t.endless"
    wait_for(1)
    C.probe_release()
    client.wait_until("it comes back", function() return C.policy_driver_returned(driver) == 1 end)
    assert.is_true(job(0).has_returned)
    assert.equal(0, C.policy_driver_lost(driver))
  end)

  it("do not give up a call that takes long, but record by record", function()
    start(1)
    C.policy_driver_reload(driver, C.probe_set_new(1, false))
    C.probe_set_slow_ms(100)
    submit("t.slow", 0, 15)
    wait_for(1)
    assert.is_false(job(0).is_abandoned)
    assert.equal(0, C.policy_driver_lost(driver))
  end)

  it("switch a policy off that loses more threads than may be lost, until the next reload", function()
    start(4)
    C.policy_driver_reload(driver, C.probe_set_new(1, false))
    for i = 0, C.POLICY_LOST_MAX - 1 do submit("t.endless", i) end
    wait_for(C.POLICY_LOST_MAX)
    assert.equal(C.POLICY_LOST_MAX, C.policy_driver_lost(driver))
    local off, other = submit "t.endless", submit "t.upper"
    wait_for(C.POLICY_LOST_MAX + 2)
    assert.is_false(job(off).is_abandoned)
    assert.equal("transform of topic t.endless (probe.c:12) is off until the next reload, since too many of its calls did not "
      .. "return", ffi.string(job(off).text))
    assert.equal(0, job(other).result)
    C.probe_release()
    client.wait_until("all come back", function() return C.policy_driver_lost(driver) == 0 end)
    C.policy_driver_reload(driver, C.probe_set_new(2, false))
    local again = submit "t.endless"
    wait_for(C.POLICY_LOST_MAX + 3)
    assert.equal(0, job(again).result)
  end)

  it("are not needed any more once a set without policies came and all is done", function()
    start(1)
    assert.is_false(C.policy_driver_is_needed(driver))
    C.policy_driver_reload(driver, C.probe_set_new(1, false))
    assert.is_true(C.policy_driver_is_needed(driver))
    C.probe_set_slow_ms(200)
    submit("t.slow", 0, 1)
    C.policy_driver_reload(driver, nil)
    local behind = submit "t.upper"
    assert.is_true(C.policy_driver_is_needed(driver))
    wait_for(2)
    assert.equal(0, tonumber(job(behind).generation))
    client.wait_until("nobody needs them", function() return not C.policy_driver_is_needed(driver) end)
  end)

  it("are watched only while they have something to do", function()
    start(1)
    C.policy_driver_reload(driver, C.probe_set_new(1, false))
    submit "t.upper"
    wait_for(1)
    client.wait_until("the watch ends", function() return not C.policy_driver_is_watching(driver) end)
  end)

  it("do what may take minutes on a thread of its own, inside the epoch", function()
    start(1)
    C.policy_driver_reload(driver, C.probe_set_new(1, false))
    submit "t.endless"
    local slow = C.policy_driver_submit_slow(driver)
    client.wait_until("it is done", function() return job(slow).done > 0 end)
    assert.is_false(job(slow).is_misplaced)
  end)

  it("do not wait for calls that progress slowly once they are to hurry", function()
    start(1)
    C.policy_driver_reload(driver, C.probe_set_new(1, false))
    C.probe_set_slow_ms(100)
    submit("t.slow", 0, 40)
    C.policy_driver_hurry(driver)
    wait_for(1)
    assert.is_true(job(0).is_abandoned)
  end)

  it("end with a thread lost", function()
    start(1)
    C.policy_driver_reload(driver, C.probe_set_new(1, false))
    submit "t.endless"
    wait_for(1)
    assert.equal(1, C.policy_driver_lost(driver)) -- after_each stops them while it is
  end)
end)
