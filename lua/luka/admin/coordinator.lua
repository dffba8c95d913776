-- SPDX-License-Identifier: Apache-2.0
-- Requests about groups go to the broker that coordinates them. It may not be there yet (the topic of offsets is made
-- when somebody first asks who coordinates a group) or still be reading the offsets: then it is asked again for a while,
-- as clients of Kafka do.
local calls = require "luka.admin.call"
local errors = require "luka.errors"

local M = {}

--- The topic that groups and their offsets are kept in.
M.TOPIC = "__consumer_offsets"

--- How long it is asked again, and how often, ms.
local PATIENCE_MS, PAUSE_MS = 15000, 100

local LOAD_IN_PROGRESS, NOT_AVAILABLE, NOT_COORDINATOR = 14, 15, 16

--- The first error code of an answer that asks for patience; 0: none.
local function worst_of(codes)
  for _, code in ipairs(codes) do
    if code == LOAD_IN_PROGRESS or code == NOT_AVAILABLE or code == NOT_COORDINATOR then return code end
  end
  return 0
end

---@alias luka.Coordinator.Ask fun(group: string, api: string, body: table, codes_of: fun(answer: table): integer[],
---   is_look: boolean?, is_each: boolean?): table?

--- Makes the function that asks: `ask(group, api, body, codes_of, is_look, is_each)` gives the answer. `codes_of` takes all
--- error codes out of an answer. With `is_look` nothing is made in order to look at it: where no broker has ever
--- coordinated a group the answer is nil. With `is_each` the answer is given with the errors in it once patience ends. The
--- group is "" for what concerns all of them.
---
---@param admin luka.Admin
---@param call fun(api: string, body: table): table
---@param transport luka.Transport
---@return luka.Coordinator.Ask
function M.new(admin, call, transport)
  local function exists()
    for _, topic in ipairs(admin.topics()) do
      if topic.name == M.TOPIC then return true end
    end
    return false
  end

  return function(group, api, body, codes_of, is_look, is_each)
    local waited = 0
    while true do
      local answer = call(api, body)
      local code = worst_of(codes_of(answer))
      if code == 0 then return answer end
      if code ~= LOAD_IN_PROGRESS then
        if is_look and not exists() then return nil end
        call("FindCoordinator", { key_type = 0, coordinator_keys = { group } })
      end
      if waited >= PATIENCE_MS and is_each then return answer end
      if waited >= PATIENCE_MS then
        local whose = group == "" and "the groups" or ('group "%s"'):format(group)
        errors.raise(calls.error_name(code), "%s: %s", whose, calls.sentence(code))
      end
      transport:wait(PAUSE_MS)
      waited = waited + PAUSE_MS
    end
  end
end

return M
