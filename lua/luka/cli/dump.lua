-- SPDX-License-Identifier: Apache-2.0
-- `luka dump`: prints or verifies the files that it is given. The work is in lua/luka/dump/.
local dump = require "luka.dump"
local output = require "luka.dump.output"
local report = require "luka.cli.report"

local M = {}

---@param options luka.GivenOptions
---@param arguments string[]
---@return integer status
function M.run(options, arguments)
  if options.verify and (options.records or options.offset or options.count) then
    return report.refuse(options, "--verify looks at whole files: --records, --offset and --count do not go with it")
  end
  local out, failed = output.new(options.json == true), false
  local run = {
    output = out,
    wish = not options.verify and {
      with_records = options.records == true, from = options.offset or 0, count = options.count or math.huge,
    } or nil,
    fail = function(text)
      failed = true
      report.fail(options, text)
    end,
  }
  for _, path in ipairs(arguments) do dump.run(run, path) end
  return (failed or out.problems > 0) and report.FAILED or report.OK
end

return M
