-- SPDX-License-Identifier: Apache-2.0
-- What a broker costs that does nothing: its start, its memory, its wake-ups. Measured once, on brokers of their own with
-- nothing configured, as those of the rounds look for what retention deletes twice a second.
local disk = require "scripts.bench.scenarios_disk"
local brokers = require "scripts.bench.brokers"
local workload = require "scripts.bench.workload"

local M = {}

local IDLE_SECONDS = 4

local STARTS = 3

M.life = {
  name = "life",
  title = "start and idleness: an empty broker with its defaults, started three times; memory also of those of the rounds",
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
  local rounds = {}
  for round = 1, STARTS do
    rounds[round] = {}
    for _, loaded in ipairs(sides) do
      local data = ("%s/life-%s-%d"):format(workload.FOLDER, loaded.side, round)
      local broker = brokers[loaded.side](data)
      local figures = { first_answer_ms = broker.first_answer_s * 1000 }
      if round == 1 then
        -- What a start leaves to be done in the background is not idleness.
        local idle
        for _ = 1, 2 do idle = disk.idle(broker, IDLE_SECONDS / 2) end
        figures.wake_ups_per_s, figures.idle_cpu_percent = idle.wake_ups_per_s, idle.idle_cpu_percent
        figures.resident_after_load_mb = loaded:resident_bytes() / 1e6
      end
      figures.resident_mb = broker:resident_bytes() / 1e6
      rounds[round][loaded.side] = figures
      broker:stop()
      os.execute(("rm -rf '%s'"):format(data))
    end
  end
  return rounds
end

return M
