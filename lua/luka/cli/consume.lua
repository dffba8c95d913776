-- SPDX-License-Identifier: Apache-2.0
-- `luka consume`: prints the records of a topic.
local client = require "luka.cli.client"
local consumers = require "luka.ffi.consumer"
local format = require "luka.cli.format"
local group_consumers = require "luka.ffi.group_consumer"
local libc = require "luka.ffi.libc"
local progress = require "luka.cli.progress"
local rdkafka = require "luka.ffi.rdkafka"
local report = require "luka.cli.report"
local starts = require "luka.cli.start"
local writers = require "luka.ffi.writer"

local M = {}

local STEP_MS = 100
local STDOUT = 1
local NEWLINE = 10

---@class (exact) luka.ConsumeRun
---@field options luka.GivenOptions
---@field topic string
---@field client luka.KafkaClient
---@field consumer luka.Consumer
---@field writer luka.Writer
---@field progress luka.Progress
---@field printer luka.Printer?  nil: the value and a newline
---@field left number  records still wanted
---@field printed integer  records of the batch that were given to the writer
---@field records integer
---@field bytes integer

--- What librdkafka is told; later properties win.
local function properties(options, start)
  local list = {
    { "client.id", "luka-consume" },
    { "bootstrap.servers", client.broker(options) },
    { "enable.partition.eof", "true" },
    { "auto.offset.reset", "earliest" }, -- when what is to be read is deleted meanwhile
    { "fetch.wait.max.ms", "100" },
    { "queued.min.messages", "300000" }, -- above it librdkafka pauses for a second
    { "queued.max.messages.kbytes", "131072" },
  }
  if options.group then
    list[#list + 1] = { "group.id", options.group }
    list[#list + 1] = { "auto.offset.reset", start.kind }
    list[#list + 1] = { "enable.auto.offset.store", "false" }
    if options.exit then list[#list + 1] = { "statistics.interval.ms", "1000" } end -- see GroupConsumer:take_statistics()
  end
  return client.add_properties(options, list)
end

--- What goes with a group, and what does not.
local function check_group(options, start)
  if not options.group then return end
  if options.group == "" then client.refuse "-g: got '', expected the name of a group" end
  if options.partition then client.refuse "--group and --partition exclude each other: a group shares the partitions out" end
  if start.kind ~= "earliest" and start.kind ~= "latest" then
    client.refuse "--from: a group goes on where it was; expected earliest or latest, for partitions that it has not read yet"
  end
end

--- Writes one record; false when it is time to end.
local function write_record(run, message)
  local writer = run.writer
  if run.printer then
    local text = run.printer(run.consumer, message)
    return writer:add(text, #text)
  end
  local size = tonumber(message.len)
  if size > 0 and not writer:add(message.payload, size) then return false end
  return writer:add_byte(NEWLINE)
end

--- Writes the records of a batch; false when it is time to end.
local function write_batch(run)
  local consumer = run.consumer
  local messages, count = consumer.messages, math.min(consumer.count, run.left)
  for i = 0, count - 1 do
    local message = messages[i]
    if not write_record(run, message) then return false end
    run.bytes = run.bytes + tonumber(message.len + message.key_len)
  end
  run.printed = count
  run.records, run.left = run.records + count, run.left - count
  return run.left > 0
end

--- Has all that was printed reach the reader, then counts it as read; false when it does not. What did not is never
--- counted, though this is called again.
local function settle(run)
  local printed = run.printed
  run.printed = 0
  if not run.writer:flush() then return false end
  run.consumer:store(printed)
  return true
end

local function read_all(run)
  local consumer = run.consumer
  local is_ending = run.options.exit == true
  while not run.client:interrupted() do
    consumer:next(STEP_MS)
    run.client:poll(0)
    if not write_batch(run) then return end
    if consumer.failure then error(consumer.failure, 0) end
    if is_ending and consumer:is_finished() then return end
    if is_ending and consumer.is_left_out then
      rdkafka.fail("group '%s': its other members have all partitions of topic '%s'", run.options.group, run.topic)
    end
    if not settle(run) then return end
    run.progress:update(run.records, run.bytes)
  end
end

--- The partitions to read; nil: interrupted.
local function choose(run, topic)
  local count = run.consumer:partition_count()
  if not count then return nil end
  local wanted = run.options.partition
  if wanted then
    if wanted >= count then rdkafka.fail("topic '%s' has no partition %d: it has %d", topic, wanted, count) end
    return { wanted }
  end
  local list = {}
  for i = 1, count do list[i] = i - 1 end
  return list
end

local function read(run, topic, start)
  if run.options.group then
    if not run.consumer:partition_count() then return end
    run.consumer:subscribe()
    return read_all(run)
  end
  local partitions = choose(run, topic)
  if partitions and run.consumer:start(partitions, start) then read_all(run) end
end

local function printer_of(options, topic, is_terminal)
  if options.json and options.format then client.refuse "--json and --format exclude each other" end
  if options.json then return format.json(topic) end
  local wanted = options.format or is_terminal and "%s\\n"
  return wanted and format.parse(wanted, topic, is_terminal) or nil
end

---@param options luka.GivenOptions
---@param arguments string[]  the topic
---@return integer status
function M.run(options, arguments)
  local topic = arguments[1]
  local start = starts.parse(options.from or "earliest")
  check_group(options, start)
  local list = properties(options, start)
  local is_terminal = libc.is_terminal(STDOUT)
  local run = {
    options = options, topic = topic, printer = printer_of(options, topic, is_terminal), left = options.count or math.huge, records = 0,
    bytes = 0, printed = 0, progress = progress.new(not is_terminal),
  }
  run.writer = writers.new(STDOUT, function() return run.client:interrupted() end)
  run.client = rdkafka.client(rdkafka.CONSUMER, list, client.property(list, "bootstrap.servers"))
  run.consumer = options.group and group_consumers.new(run.client, topic, options.group) or consumers.new(run.client, topic)
  local ok, err = pcall(read, run, topic, start)
  -- What was read before is printed all the same.
  local is_written, why = pcall(settle, run)
  run.progress:clear()
  run.consumer:close()
  if not ok then error(err, 0) end
  if not is_written then error(why, 0) end
  if run.client.signal then return 128 + run.client.signal end
  return run.writer.is_closed and report.FAILED or report.OK
end

return M
