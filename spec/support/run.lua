-- SPDX-License-Identifier: Apache-2.0
-- Runs the spec file arg[1] with busted and returns how many tests did not pass. Called by spec/runner.c.
local file = arg[1]
if os.getenv "LUKA_JIT" == "off" then jit.off() end -- scripts/arm64 says when
local busted = require "busted.core"()
require "busted"(busted)

local counts = { passed = 0, failed = 0, pending = 0 }

local function full_name(element)
  local names = {}
  while element and element.descriptor ~= "file" and element.name do
    table.insert(names, 1, element.name)
    element = busted.context.parent(element)
  end
  return table.concat(names, " ")
end

local function report(element, message, trace)
  counts.failed = counts.failed + 1
  print(("FAILED %s: %s"):format(file, full_name(element)))
  local text = type(message) == "table" and (message.message or require "pl.pretty".write(message)) or message
  print("  " .. tostring(text):gsub("\n", "\n  "))
  if trace and trace.short_src then print(("  at %s:%s"):format(trace.short_src, trace.currentline or "?")) end
  if trace and trace.traceback and os.getenv "TRACE" then print(trace.traceback) end
  io.stdout:flush()
end

busted.subscribe({ "test", "end" }, function(_, _, status)
  if status == "success" then counts.passed = counts.passed + 1 end
  if status == "pending" then counts.pending = counts.pending + 1 end
  return nil, true
end)
busted.subscribe({ "failure" }, function(element, _, message, trace) report(element, message, trace) return nil, true end)
busted.subscribe({ "error" }, function(element, _, message, trace) report(element, message, trace) return nil, true end)

local files = require "busted.modules.test_file_loader"(busted, { "lua" })
local execute = require "busted.execute"(busted)
files({ file }, { "_spec" }, { excludes = {}, recursive = true, verbose = true })
execute(1, { seed = 1, shuffle = false, sort = false })

if counts.pending > 0 then print(("PENDING %s: %d"):format(file, counts.pending)) end
print(("RESULT %d %d"):format(counts.passed, counts.failed + counts.pending))
io.stdout:flush()
return counts.failed + counts.pending
