-- SPDX-License-Identifier: Apache-2.0
-- The functions of the library `table` that could run long inside C, where no hook looks at the clock, or call Lua back
-- from there, so that it cannot be suspended: bounded ones in their place. Small lists take the library's own. (insert,
-- remove and maxn go through at most what fits the memory cap, a few milliseconds.)
local poll = require("luka.native.text").poll

local M = {}

local concat, insert, maxn, move, remove, sort = table.concat, table.insert, table.maxn, table.move, table.remove, table.sort
local rawget, rawset, select, type = rawget, rawset, select, type

--- Elements that C may handle in one go, well below a millisecond.
local SMALL = 2048

--- table.concat: a long list in pieces.
function M.concat(list, separator, first, last)
  if type(list) ~= "table" then return concat(list, separator, first, last) end
  first, last = first or 1, last or #list
  if type(first) ~= "number" or type(last) ~= "number" or last - first < SMALL then
    return concat(list, separator, first, last)
  end
  local pieces = {}
  for start = first, last, SMALL do
    pieces[#pieces + 1] = concat(list, separator, start, math.min(start + SMALL - 1, last))
  end
  return M.concat(pieces, separator)
end

--- Whether a number is one that C would count to from the end of a list, one by one.
local function is_far(at, first) return type(at) == "number" and not (at >= first and at < 2 ^ 31) end

--- table.insert: a place before the list is refused, as newer versions of Lua do.
function M.insert(...)
  local list, at = ...
  if type(list) == "table" and select("#", ...) > 2 then
    if is_far(at, 1) then error("bad argument #2 to 'insert' (position out of bounds)", 2) end
    if #list > SMALL then poll() end
  end
  return insert(...)
end

--- table.remove: likewise; place 0 is that of nothing in an empty list.
function M.remove(...)
  local list, at = ...
  if type(list) == "table" and at ~= nil then
    if is_far(at, 0) then error("bad argument #2 to 'remove' (position out of bounds)", 2) end
    if #list > SMALL then poll() end
  end
  return remove(...)
end

--- table.maxn.
function M.maxn(...)
  poll()
  return maxn(...)
end

--- table.move: a long stretch element by element.
function M.move(...)
  local from, first, last, at, into = ...
  into = into or from
  if type(from) ~= "table" or type(into) ~= "table" or type(first) ~= "number" or type(last) ~= "number"
    or type(at) ~= "number" or last - first < SMALL then
    return move(...)
  end
  if at > first and at <= last and from == into then
    for i = last - first, 0, -1 do rawset(into, at + i, rawget(from, first + i)) end
  else
    for i = 0, last - first do rawset(into, at + i, rawget(from, first + i)) end
  end
  return into
end

--- Merges two sorted stretches of `from`, [low, middle) and [middle, high), into the same places of `into`.
local function merge(from, into, low, middle, high, is_before)
  local left, right = low, middle
  for i = low, high - 1 do
    local takes_right = left >= middle
    if not takes_right and right < high then
      if is_before then
        takes_right = is_before(from[right], from[left])
      else
        takes_right = from[right] < from[left]
      end
    end
    if takes_right then
      into[i], right = from[right], right + 1
    else
      into[i], left = from[left], left + 1
    end
  end
end

--- table.sort: by merging, so that equal elements keep their order and a comparison that contradicts itself ends too.
function M.sort(list, is_before)
  if type(list) ~= "table" or (is_before ~= nil and type(is_before) ~= "function") then return sort(list, is_before) end
  local size = #list
  if size < 2 then return end
  local from, into = list, {}
  local width = 1
  while width < size do
    for low = 1, size, 2 * width do
      local middle = math.min(low + width, size + 1)
      merge(from, into, low, middle, math.min(low + 2 * width, size + 1), is_before)
    end
    from, into = into, from
    width = 2 * width
  end
  if from ~= list then
    for i = 1, size do list[i] = from[i] end
  end
end

return M
