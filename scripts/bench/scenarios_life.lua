-- SPDX-License-Identifier: Apache-2.0
-- What a broker costs that does nothing: its start, its memory, its wake-ups. Measured once, on brokers of their own with
-- nothing configured, as those of the rounds look for what retention deletes twice a second.
local disk = require "scripts.bench.scenarios_disk"
local brokers = require "scripts.bench.brokers"
local workload = require "scripts.bench.workload"

local M = {}

local IDLE_SECONDS = 4

M.life = {
  name = "life",
  title = "start and idleness: an empty broker with its defaults; memory also of those that went through the rounds",
  figures = { "first_answer_ms", "resident_mb", "wake_ups_per_s", "idle_cpu_percent", "resident_after_load_mb" },
  checks = {
    { figure = "wake_ups_per_s", at_most = 1 },
    { figure = "resident_mb", below = 20 },
  },
}

--- Once, after the rounds.
---
---@param sides bench.Broker[]  those of the rounds
---@return table<string, table<string, number>>[] rounds
function M.life.once(sides)
  local figures = {}
  for _, loaded in ipairs(sides) do
    local broker = brokers[loaded.side](("%s/life-%s"):format(workload.FOLDER, loaded.side))
    -- What a start leaves to be done in the background is not idleness.
    local idle
    for _ = 1, 2 do idle = disk.idle(broker, IDLE_SECONDS / 2) end
    figures[loaded.side] = {
      first_answer_ms = broker.first_answer_s * 1000,
      resident_mb = broker:resident_bytes() / 1e6,
      wake_ups_per_s = idle.wake_ups_per_s,
      idle_cpu_percent = idle.idle_cpu_percent,
      resident_after_load_mb = loaded:resident_bytes() / 1e6,
    }
    broker:stop()
  end
  return { figures }
end

return M
