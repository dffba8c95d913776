-- SPDX-License-Identifier: Apache-2.0
-- Hooks by themselves: the way of an ask to the script thread and back, its deadline, and the line of what is told. This
-- file is the script thread; the loop that asks is in spec/support/c/hooks_driver.c.
local ffi = require "ffi"
local client = require "spec.support.client"
local fcntl = require "posix.fcntl"
local unistd = require "posix.unistd"
local unit = require "spec.support.unit"

local C = unit.load("base/error.h", "policy/hooks.h", "hooks_driver.h")

--- Runs a function; what the process said of it.
local function logged(fn)
  local path = unit.temp_dir() .. "/log"
  local before, file = unistd.dup(2), fcntl.open(path, fcntl.O_WRONLY + fcntl.O_CREAT + fcntl.O_APPEND, 384)
  unistd.dup2(file, 2)
  unistd.close(file)
  local ok, err = pcall(fn, function() return unit.read_file(path) end)
  unistd.dup2(before, 2)
  unistd.close(before)
  if not ok then error(err, 0) end
  return unit.read_file(path)
end

describe("hooks", function()
  local driver, hooks

  before_each(function()
    driver = C.hooks_driver_new()
    hooks = C.hooks_driver_hooks(driver)
  end)
  after_each(function()
    C.hooks_close(hooks)
    C.hooks_driver_delete(driver)
  end)

  local function ask(count) C.hooks_driver_ask(driver, C.HOOK_TOPIC_CREATE, count or 1) end

  --- The next question; nil: none waits.
  local function taken()
    local one = C.hooks_next_ask(hooks)
    return one ~= nil and one or nil
  end

  --- What became of questions, from number `from` on: "result times text" of each.
  local function outcome(from, count)
    C.hooks_driver_settle(driver)
    local out = {}
    for i = from, from + (count or 1) - 1 do
      local seen = C.hooks_driver_asked(driver, i)
      assert.is_false(seen.is_misplaced)
      out[#out + 1] = { seen.result, seen.done, ffi.string(seen.text) }
    end
    return count and out or out[1]
  end

  it("have names, by which they are found", function()
    for i = 0, C.HOOKS - 1 do assert.equal(i, tonumber(C.hook_find(C.hook_name(i)))) end
    assert.equal("topic.create", ffi.string(C.hook_name(C.HOOK_TOPIC_CREATE)))
    assert.equal(C.HOOKS, tonumber(C.hook_find "topic.creat"))
  end)

  it("have functions when the script thread says so", function()
    assert.is_false(C.hooks_has(nil, C.HOOK_RELOAD))
    assert.is_false(C.hooks_has(hooks, C.HOOK_RELOAD))
    C.hooks_publish(hooks, 2 ^ C.HOOK_RELOAD + 2 ^ C.HOOK_PLACEMENT)
    assert.same({ true, true, false }, { C.hooks_has(hooks, C.HOOK_RELOAD), C.hooks_has(hooks, C.HOOK_PLACEMENT),
      C.hooks_has(hooks, C.HOOK_TOPIC_CREATE) })
    C.hooks_publish(hooks, 0)
    assert.is_false(C.hooks_has(hooks, C.HOOK_RELOAD))
  end)

  describe("that are asked", function()
    it("wake the script thread, which gets the questions in their order", function()
      ask(3)
      assert.equal(3, C.hooks_driver_wakes(driver))
      for i = 1, 3 do
        local one = taken()
        assert.equal("n" .. i, ffi.string(C.hook_field(one.event, "name").text))
        assert.equal(i, tonumber(C.hook_field(one.event, "count").number))
        C.hooks_answer(one, 0, nil)
      end
      assert.is_nil(taken())
    end)

    it("are answered on the loop, once", function()
      ask()
      local one = taken()
      assert.same({ 0, 0, "" }, outcome(0))
      C.hooks_answer(one, 0, nil)
      assert.same({ 0, 1, "" }, outcome(0))
    end)

    it("are answered in any order", function()
      ask(2)
      local first, second = taken(), taken()
      C.hooks_answer(second, C.ERR_POLICY_VIOLATION, "not this")
      assert.same({ { 0, 0, "" }, { C.ERR_POLICY_VIOLATION, 1, "not this" } }, outcome(0, 2))
      C.hooks_answer(first, 0, nil)
      assert.same({ 0, 1, "" }, outcome(0))
    end)

    it("are refused with the reason, cut where it is too long", function()
      ask(2)
      C.hooks_answer(taken(), C.ERR_POLICY_VIOLATION, "names are lower case")
      C.hooks_answer(taken(), C.ERR_SCRIPT, ("x"):rep(10000))
      assert.same({ { C.ERR_POLICY_VIOLATION, 1, "names are lower case" },
        { C.ERR_SCRIPT, 1, ("x"):rep(C.POLICY_TEXT_SIZE - 1) } }, outcome(0, 2))
    end)

    it("show what functions have changed", function()
      ask()
      local one = taken()
      one.event.fields[0].text = C.arena_strndup(one.event.arena, "changed", 7)
      C.hooks_answer(one, 0, nil)
      C.hooks_driver_settle(driver)
      assert.equal("changed", ffi.string(C.hooks_driver_asked(driver, 0).name))
    end)

    it("are refused after a second without an answer, whether or not somebody has taken them, and a late one is dropped",
      function()
        ask(2)
        local late = taken()
        C.hooks_driver_pass(driver, C.HOOKS_DEADLINE_MS - 1)
        assert.same({ { 0, 0, "" }, { 0, 0, "" } }, outcome(0, 2))
        local log = logged(function() C.hooks_driver_pass(driver, C.HOOKS_DEADLINE_MS) end)
        local refused = { C.ERR_TIMEOUT, 1, "topic.create: no answer within 1000 ms" }
        assert.same({ refused, refused }, outcome(0, 2))
        assert.equal(1, select(2, log:gsub("topic%.create: no answer within 1000 ms; the script thread is busy", "")))
        C.hooks_answer(late, 0, nil)
        C.hooks_answer(taken(), C.ERR_POLICY_VIOLATION, "late, too")
        assert.same({ refused, refused }, outcome(0, 2))
      end)

    it("have no deadline any more once they are answered", function()
      ask()
      C.hooks_answer(taken(), 0, nil)
      assert.same({ 0, 1, "" }, outcome(0))
      C.hooks_driver_pass(driver, 10 * C.HOOKS_DEADLINE_MS)
      assert.same({ 0, 1, "" }, outcome(0))
    end)

    it("are refused beyond a number of questions under way, of which those that were taken are some", function()
      local most = C.HOOKS_ASKS_MAX
      ask(most - 1)
      local one = taken()
      ask(3)
      local refused = { C.ERR_LIMIT, 1, "too many questions wait" }
      assert.same({ { 0, 0, "" }, refused, refused }, outcome(most - 1, 3))
      assert.equal(most, C.hooks_driver_wakes(driver))
      C.hooks_answer(one, 0, nil)
      ask(2)
      assert.same({ { 0, 0, "" }, refused }, outcome(most + 2, 2))
      local count = 0
      for waiting in taken do
        C.hooks_answer(waiting, 0, nil)
        count = count + 1
      end
      assert.equal(most, count)
    end)

    it("count as under way after their deadline, until the script thread has done with them", function()
      ask(C.HOOKS_ASKS_MAX)
      logged(function() C.hooks_driver_pass(driver, 2 * C.HOOKS_DEADLINE_MS) end)
      ask()
      assert.equal(C.ERR_LIMIT, outcome(C.HOOKS_ASKS_MAX)[1])
      for waiting in taken do C.hooks_answer(waiting, 0, nil) end
      ask()
      assert.same({ 0, 0, "" }, outcome(C.HOOKS_ASKS_MAX + 1))
    end)

    it("are refused when the broker stops, but for those that were taken, which are answered yet", function()
      ask(3)
      local one = taken()
      C.hooks_close(hooks)
      local refused = { C.ERR_CLOSED, 1, "the broker is stopping" }
      assert.same({ { 0, 0, "" }, refused, refused }, outcome(0, 3))
      assert.is_nil(taken())
      ask()
      assert.same(refused, outcome(3))
      C.hooks_answer(one, C.ERR_POLICY_VIOLATION, "no")
      assert.same({ C.ERR_POLICY_VIOLATION, 1, "no" }, outcome(0))
    end)
  end)

  describe("that are told", function()
    local function tell(number)
      local told = C.hook_told_new(C.HOOK_LOG_ROLL)
      C.hook_add_number(told.event, "number", number)
      C.hooks_tell(hooks, told)
    end

    --- The number of the next; nil: none waits.
    local function heard()
      local told = C.hooks_next_told(hooks)
      if told == nil then return nil end
      assert.equal(C.HOOK_LOG_ROLL, tonumber(told.event.hook))
      local number = tonumber(C.hook_field(told.event, "number").number)
      C.hook_told_delete(told)
      return number
    end

    it("wake the script thread, which hears of all in their order", function()
      for i = 1, 3 do tell(i) end
      assert.equal(3, C.hooks_driver_wakes(driver))
      assert.same({ 1, 2, 3 }, { heard(), heard(), heard() })
      assert.is_nil(heard())
    end)

    it("wait in a line of bounded length, beyond which the newest are dropped, counted and logged now and then", function()
      local dropped, lines = 0, 0
      local log = logged(function(so_far)
        for i = 1, C.HOOKS_TOLD_MAX do tell(i) end
        assert.is_nil((so_far() or ""):find "not told")
        client.wait_until("it is logged a second time", function()
          tell(0)
          dropped = dropped + 1
          lines = select(2, so_far():gsub("not told", ""))
          return lines == 2
        end)
      end)
      local counted = 0
      for count in log:gmatch "hooks: (%d+) events were not told to their functions, as 1024 others wait\n" do
        counted = counted + count
      end
      assert.equal(dropped, counted)
      assert.equal(C.HOOKS_TOLD_MAX, C.hooks_driver_wakes(driver))
      for i = 1, C.HOOKS_TOLD_MAX do assert.equal(i, heard()) end
      assert.is_nil(heard())
    end)

    it("have room again for each one that is taken", function()
      for i = 1, C.HOOKS_TOLD_MAX do tell(i) end
      assert.equal(1, heard())
      tell(C.HOOKS_TOLD_MAX + 1)
      for i = 2, C.HOOKS_TOLD_MAX + 1 do assert.equal(i, heard()) end
    end)

    it("are not told when the broker stops, but for those that wait", function()
      tell(1)
      C.hooks_close(hooks)
      local log = logged(function() tell(2) end)
      assert.equal("", log)
      assert.equal(1, heard())
      assert.is_nil(heard())
    end)

    it("let a stop wait until the last has been dealt with", function()
      tell(1)
      tell(2)
      C.hooks_driver_wait(driver, 60000)
      assert.same({ 1, 2 }, { heard(), heard() })
      assert.is_false(C.hooks_driver_has_waited(driver)) -- the last is being dealt with
      assert.is_nil(heard())
      C.hooks_driver_waited(driver)
      assert.is_true(C.hooks_driver_has_waited(driver))
    end)

    it("do not let a stop wait for longer than it may", function()
      tell(1)
      C.hooks_driver_wait(driver, 1)
      C.hooks_driver_waited(driver)
      assert.equal(1, heard())
      C.hooks_driver_wait(driver, 1)
      C.hooks_driver_waited(driver)
    end)
  end)

  it("give functions copies of what they are told about", function()
    local told = C.hook_told_new(C.HOOK_TOPIC_CONFIG)
    local event, text = told.event, unit.buffer "clicks"
    local pairs_of = ffi.new("struct hook_pair[2]")
    pairs_of[0].name, pairs_of[0].value = text, text
    pairs_of[1].name = text
    local numbers = ffi.new("int32_t[2]", 4, 5)
    C.hook_add_text(event, "text", text)
    C.hook_add_bytes(event, "bytes", text, 3)
    C.hook_add_bytes(event, "null", text, -1)
    C.hook_add_text(event, "nil", nil)
    C.hook_add_flag(event, "flag", true)
    C.hook_add_map(event, "map", pairs_of, 2)
    C.hook_add_numbers(event, "numbers", numbers, 2)
    C.hook_add_numbers(event, "none", nil, 0)
    ffi.fill(text, 6, 0x78)
    numbers[0] = 9
    local function field(name) return C.hook_field(event, name) end
    assert.same({ "clicks", "cli" }, { ffi.string(field "text".text), ffi.string(field "bytes".text) })
    assert.is_true(field "null".text == nil and field "nil".text == nil and field "flag".flag)
    local map = field "map"
    assert.same({ 2, "clicks", "clicks", "clicks" }, { map.count, ffi.string(map.pairs[0].name),
      ffi.string(map.pairs[0].value), ffi.string(map.pairs[1].name) })
    assert.is_true(map.pairs[1].value == nil)
    assert.same({ 2, 4, 5, 0 }, { field "numbers".count, field "numbers".numbers[0], field "numbers".numbers[1],
      field "none".count })
    assert.equal(8, event.field_count)
    C.hook_told_delete(told)
    C.hook_told_delete(nil)
  end)
end)
