-- SPDX-License-Identifier: Apache-2.0
-- LPeg for user code. It matches inside C, where no hook looks at the clock, and some patterns take a time that doubles
-- with each character. So each turn of a repetition, and each call of a rule, gets a pattern behind or before it that
-- matches nothing and looks at the clock; repetitions of a set of characters go without, as one is through in linear time.
-- Patterns are not nested deeper than LPeg, which walks through them by recursion, has C stack for.
local poll = require("luka.native.clock").poll

local M = {}

--- Longest text that is matched, bytes; deepest pattern; most repetitions that are counted; largest stack for rules.
M.SUBJECT_MAX, M.DEPTH_MAX, M.COUNT_MAX, M.STACK_MAX = 1024 * 1024, 200, 1000, 1000

--- Makes of LPeg what user code gets.
---
---@param lpeg table  as its author made it, in this state alone; its metatable is changed
---@param is_deep fun(): boolean
---@return table
function M.wrap(lpeg, is_deep)
  local meta = debug.getmetatable(lpeg.P(1))
  local raw_P, raw_type = lpeg.P, lpeg.type
  -- How deep patterns are, and which match a set of characters and nothing else.
  local depths, sets = setmetatable({}, { __mode = "k" }), setmetatable({}, { __mode = "k" })
  local look = lpeg.Cmt(true, function()
    poll()
    return true
  end)
  local raw = {}
  for name, fn in pairs(meta) do raw[name] = fn end

  --- Notes a new pattern that has others in it.
  local function nested(pattern, a, b)
    local depth = math.max(depths[a] or 0, b and depths[b] or 0) + 1
    if depth > M.DEPTH_MAX then error(("pattern is nested too deep: at most %d levels"):format(M.DEPTH_MAX), 4) end
    depths[pattern] = depth
    return pattern
  end

  local to_pattern

  --- A grammar, each of whose rules looks at the clock.
  local function grammar(rules)
    local copy, depth = {}, 0
    for name, rule in next, rules do
      if name == 1 and type(rule) == "string" then
        copy[name] = rule
      else
        rule = to_pattern(rule)
        depth = math.max(depth, depths[rule] or 0)
        copy[name] = raw.__mul(look, rule)
      end
    end
    local pattern = raw_P(copy)
    depths[pattern] = depth
    return nested(pattern, pattern)
  end

  function to_pattern(value)
    if raw_type(value) == "pattern" then return value end
    if type(value) == "table" then return grammar(value) end
    local pattern = raw_P(value)
    sets[pattern] = (value == 1 or type(value) == "string" and #value == 1) or nil
    return pattern
  end

  local function set_of(pattern)
    sets[pattern] = true
    return pattern
  end

  --- + and - of two sets are sets.
  local function of_sets(combine)
    return function(a, b)
      a, b = to_pattern(a), to_pattern(b)
      local pattern = nested(combine(a, b), a, b)
      sets[pattern] = sets[a] and sets[b]
      return pattern
    end
  end

  meta.__add, meta.__sub = of_sets(raw.__add), of_sets(raw.__sub)
  function meta.__mul(a, b)
    a, b = to_pattern(a), to_pattern(b)
    return nested(raw.__mul(a, b), a, b)
  end
  function meta.__pow(a, count)
    a = to_pattern(a)
    if type(count) == "number" and math.abs(count) > M.COUNT_MAX then
      error(("a pattern is repeated at most %d times, or ^0"):format(M.COUNT_MAX), 2)
    end
    local depth = type(count) == "number" and count < 0 and -count or 0
    local pattern = raw.__pow(sets[a] and a or raw.__mul(a, look), count)
    depths[a] = depths[a] or 0
    depths[pattern] = depths[a] + depth
    return nested(pattern, pattern)
  end
  function meta.__len(a) return nested(raw.__len(a), a) end
  function meta.__unm(a) return nested(raw.__unm(a), a) end
  function meta.__div(a, b)
    a = to_pattern(a)
    return nested(raw.__div(a, b), a)
  end

  local out = { type = raw_type, version = lpeg.version, P = to_pattern }
  for _, name in ipairs { "V", "Cc", "Cp", "Cb", "Carg" } do out[name] = lpeg[name] end
  for _, name in ipairs { "S", "R" } do
    local fn = lpeg[name]
    out[name] = function(...) return set_of(fn(...)) end
  end
  for _, name in ipairs { "B", "C", "Ct", "Cg", "Cs", "Cf", "Cmt" } do
    local fn = lpeg[name]
    out[name] = function(a, ...)
      a = to_pattern(a)
      return nested(fn(a, ...), a)
    end
  end
  function out.locale(into)
    local classes = lpeg.locale(into)
    for _, pattern in pairs(classes) do
      if raw_type(pattern) == "pattern" then set_of(pattern) end
    end
    return classes
  end
  function out.setmaxstack(size)
    if type(size) ~= "number" or not (size >= 1 and size <= M.STACK_MAX) then
      error(("bad argument #1 to 'setmaxstack' (expected a number from 1 to %d)"):format(M.STACK_MAX), 2)
    end
    return lpeg.setmaxstack(size)
  end
  local match = lpeg.match
  function out.match(pattern, subject, ...)
    if is_deep() then error("C stack overflow", 2) end
    if type(subject) == "string" and #subject > M.SUBJECT_MAX then
      error(("the text is too long: at most %d bytes are matched"):format(M.SUBJECT_MAX), 2)
    end
    poll()
    return match(to_pattern(pattern), subject, ...)
  end
  meta.__index, meta.__metatable = out, false
  return out
end

return M
