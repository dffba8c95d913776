-- SPDX-License-Identifier: Apache-2.0
-- Loads on brokers and on the limit program, put together for the scenarios.
local process = require "scripts.bench.process"
local load = require "scripts.bench.load"
local unit = require "spec.support.unit"
local client = require "spec.support.client"

local M = { LIMIT = nil, PAGES = nil, FOLDER = nil }

--- The batches of big produce and fetch: 1 KiB records in 64 KiB.
M.BIG = { "--record-bytes", 1024, "--batch-bytes", 65536, "--partitions", 4, "--connections", 4 }

--- One list of words of several lists and words.
function M.words(...)
  local out = {}
  for _, part in ipairs { ... } do
    if type(part) == "table" then
      for _, word in ipairs(part) do out[#out + 1] = word end
    else
      out[#out + 1] = part
    end
  end
  return out
end

--- Runs a load on a topic made for it and deleted after it, so that the next one gets the same memory.
---
---@param broker bench.Broker
---@param topic string
---@param options table  of the topic
---@param line (string|number)[]  of load, but for the topic
---@return table<string, number> figures
function M.on_new_topic(broker, topic, options, line)
  broker:create(topic, options)
  local result = load.run(broker, M.words(line, "--topic", topic))
  broker:delete(topic)
  return load.figures(result)
end

--- Runs a load against the limit program.
---
---@param mode string[]  of the limit program: { "receive", path }
---@param line (string|number)[]  of load
---@return table<string, number> figures
function M.limit(mode, line)
  local server = process.start(M.words(M.LIMIT, mode))
  local port
  client.wait_until("the limit program listens", function()
    port = tonumber((unit.read_file(server.folder .. "/out") or ""):match "^(%d+)\n")
    return port
  end)
  local side = { port = port, pid = server.pid, cpu_s = function() return 0 end }
  -- It answers for partition 0, and has no others.
  local result = load.run(side, M.words(line, "--raw", "--partitions", 1))
  local status, out, err = process.wait(server)
  local own = status == 0 and load.decode(out:match "^%d+\n(.*)$")
  if not own then error(("the limit program ended with status %s\n%s%s"):format(tostring(status), out, err), 0) end
  result.cpu_s = own.cpu_s
  if mode[1] == "send" then result.requests, result.bytes = own.requests, own.bytes end
  return load.figures(result)
end

--- Takes as much memory as the rounds will use for files, and gives it back; no more than is free. In a virtual machine
--- the first use of memory costs many times what it costs later.
---
---@param want_bytes number
function M.touch(want_bytes)
  local free_kib = unit.read_file("/proc/meminfo"):match "MemAvailable:%s+(%d+)"
  local bytes = math.min(want_bytes, math.floor(tonumber(free_kib) * 1024 * 0.6))
  process.run { M.PAGES, "touch", ("%d"):format(bytes) }
end

--- Drops files from the page cache; percent of them that is not in it afterwards, by mincore(2).
---
---@param paths string[]
---@return number
function M.drop(paths)
  local found = load.decode(process.run(M.words(M.PAGES, "drop", paths)))
  return 100 * (1 - found.resident_bytes / found.total_bytes)
end

--- Folder of a partition's files.
function M.partition_folder(broker, topic, partition)
  return ("%s/%s-%d"):format(broker.side == "kafka" and broker.data .. "/logs" or broker.data, topic, partition)
end

--- All files of records of a topic.
---
---@return string[]
function M.segments(broker, topic, partitions)
  local out = {}
  for partition = 0, partitions - 1 do
    local folder = M.partition_folder(broker, topic, partition)
    -- One that retention deletes while ls looks at it is no news.
    for path in io.popen(("ls %s/*.log 2>/dev/null"):format(folder)):lines() do out[#out + 1] = path end
  end
  return out
end

return M
