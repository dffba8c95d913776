-- SPDX-License-Identifier: Apache-2.0
-- What a placement function gives: for each partition a list of brokers, the preferred leader first.
local M = {}

--- A copy of a list.
---
---@param list integer[]
---@return integer[]
function M.copy(list)
  local out = {}
  for i = 1, #list do out[i] = list[i] end
  return out
end

--- What is wrong with the brokers of one partition, or nil; adds them to `out`.
local function take_partition(number, brokers, replicas, known, out)
  if type(brokers) ~= "table" then
    return ("partition %d has a %s, expected a list of %d brokers"):format(number, type(brokers), replicas)
  end
  local seen, count = {}, 0
  for _ in next, brokers do count = count + 1 end
  if count ~= replicas then
    return ("partition %d has %d brokers, expected %d"):format(number, count, replicas)
  end
  for i = 1, replicas do
    local broker = rawget(brokers, i)
    if type(broker) ~= "number" or not known[broker] then
      return ("partition %d: %s is no broker"):format(number, type(broker) == "number" and ("%.14g"):format(broker)
        or "a " .. type(broker))
    end
    if seen[broker] then return ("partition %d has broker %d twice"):format(number, broker) end
    seen[broker] = true
    out[#out + 1] = broker
  end
  return nil
end

--- Puts a result into the event, as one list of all partitions.
---
---@param event table  partitions, replicas, brokers, assignment
---@param result any
---@return string? wrong  a sentence
function M.take(event, result)
  if type(result) ~= "table" then
    return ("placement gave a %s, expected a list with the brokers of each partition"):format(type(result))
  end
  local known, out, count = {}, {}, 0
  for _, broker in ipairs(event.brokers) do known[broker] = true end
  for _ in next, result do count = count + 1 end
  if count ~= event.partitions then
    return ("placement gave %d partitions, expected %d"):format(count, event.partitions)
  end
  for number = 0, event.partitions - 1 do
    local wrong = take_partition(number, rawget(result, number + 1), event.replicas, known, out)
    if wrong then return "placement: " .. wrong end
  end
  event.assignment = out
  return nil
end

return M
