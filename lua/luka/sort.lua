-- SPDX-License-Identifier: Apache-2.0
-- Sorts long lists in a task: table.sort() cannot be suspended while it calls a function that compares, and is ended when
-- it takes longer than lua_budget_ms, which a list of ten thousand is enough for. This is Lua, and can.

--- Merges two sorted parts that lie side by side, from[lo .. mid] and from[mid + 1 .. hi].
local function merge(from, to, lo, mid, hi, less)
  local left, right = lo, mid + 1
  for i = lo, hi do
    if right > hi or left <= mid and not less(from[right], from[left]) then
      to[i], left = from[left], left + 1
    else
      to[i], right = from[right], right + 1
    end
  end
end

--- Sorts a list in place; equal items stay in their order.
---
---@generic T
---@param list T[]
---@param less fun(a: T, b: T): boolean
---@return T[] list  the same
return function(list, less)
  local count, width = #list, 1
  local from, to = list, {}
  while width < count do
    for lo = 1, count, 2 * width do
      merge(from, to, lo, math.min(lo + width - 1, count), math.min(lo + 2 * width - 1, count), less)
    end
    from, to, width = to, from, 2 * width
  end
  if from ~= list then
    for i = 1, count do list[i] = from[i] end
  end
  return list
end
