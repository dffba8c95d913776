-- SPDX-License-Identifier: Apache-2.0
-- `luka reload`: has a running broker read its configuration again, by its console, and prints what came of it.
local broker_of = require "luka.cli.broker"
local report = require "luka.cli.report"

local M = {}

---@param options luka.GivenOptions
---@param arguments string[]
---@return integer status
function M.run(options, arguments)
  local broker, status = broker_of.connect(options, arguments[1], false)
  if not broker then return status --[[@as integer]] end
  local outcome, done = broker.session:eval("reload()", "reload", broker.output)
  if outcome ~= "done" then
    status = broker:status(outcome)
  elseif done.ok then
    status = report.OK
  else
    local refuse = done.code == "config" and report.configuration or report.fail
    status = refuse(options, tostring(done.error))
  end
  broker:close()
  return status
end

return M
