-- SPDX-License-Identifier: Apache-2.0
-- The known word nearest to a misspelt one.
local M = {}

--- Longest word that a suggestion is looked for, bytes: comparing two long ones takes time, and nobody misspells those.
M.WORD_MAX = 100

--- Edits (insert, delete, replace, swap of neighbours) between two words; stops counting beyond `limit`.
---
---@param a string
---@param b string
---@param limit integer
---@return integer
function M.distance(a, b, limit)
  if math.abs(#a - #b) > limit then return limit + 1 end
  local before, previous, current = {}, {}, {}
  for j = 0, #b do previous[j] = j end
  for i = 1, #a do
    current[0] = i
    local least = i
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      local cost = math.min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (same and 0 or 1))
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        cost = math.min(cost, before[j - 2] + 1)
      end
      current[j] = cost
      least = math.min(least, cost)
    end
    if least > limit then return limit + 1 end
    before, previous, current = previous, current, before
  end
  return previous[#b]
end

--- Whether a word is better than another that is as near: letters are mistaken more often than they are left out.
local function is_better(word, candidate, best)
  local other, length = #best == #word, #candidate == #word
  if other ~= length then return length end
  return candidate < best
end

--- The nearest of the candidates, or nil when none is near. Of equally near ones one that is as long as the word, and the
--- first in the alphabet.
---
---@param word string
---@param candidates string[]
---@return string? nearest
---@return integer? distance
function M.nearest(word, candidates)
  if #word > M.WORD_MAX then return nil end
  local limit = math.max(1, math.min(3, math.floor(#word / 3)))
  local best, best_distance
  for _, candidate in ipairs(candidates) do
    local distance = M.distance(word, candidate, limit)
    local is_nearer = not best or distance < best_distance or distance == best_distance and is_better(word, candidate, best)
    if distance <= limit and is_nearer then best, best_distance = candidate, distance end
  end
  return best, best_distance
end

return M
