-- SPDX-License-Identifier: Apache-2.0
-- `luka produce`: lines become records.
local client = require "luka.cli.client"
local data = require "luka.cli.data"
local libc = require "luka.ffi.libc"
local lines = require "luka.ffi.lines"
local producers = require "luka.ffi.producer"
local progress = require "luka.cli.progress"
local rdkafka = require "luka.ffi.rdkafka"
local report = require "luka.cli.report"

local M = {}

local LONGEST = 104857600 -- bytes of a line: a request to a broker may have no more
local FAILURES_MAX = 10 -- lines about records that were not delivered
local STEP_MS = 100
local FLUSH_STEP_MS = 5 -- librdkafka does not say when the last record is delivered
local STDIN = 0

---@class (exact) luka.ProduceRun
---@field options luka.GivenOptions
---@field client luka.KafkaClient
---@field producer luka.Producer
---@field progress luka.Progress
---@field sources { name: string, first: integer }[]  where lines come from; number of the line before its first one
---@field line integer  lines so far
---@field longest integer
---@field failed integer  records that were not delivered

--- "line 12", or "FILE, line 12"
local function place(run, line)
  local source
  for _, each in ipairs(run.sources) do
    if line > each.first then source = each end
  end
  local name = source and source.name and data.plain(source.name) .. ", " or ""
  return ("%sline %d"):format(name, line - (source and source.first or 0))
end

local function note_failure(run, line, code)
  run.failed = run.failed + 1
  if run.failed > FAILURES_MAX then return end
  run.progress:clear()
  report.fail(run.options, ("%s: %s"):format(place(run, line), rdkafka.text(code)))
end

local function show(run)
  run.progress:update(run.producer.records - run.producer:pending(), run.producer.bytes)
end

--- Waits for more input; false when a signal came.
local function wait(run, fd)
  while not run.client:interrupted() do
    local input = { fd = fd }
    libc.poll({ input }, STEP_MS)
    if input.is_ready then return true end
    run.client:poll(0)
    show(run)
  end
  return false
end

--- Sends all lines of a descriptor.
---
---@return boolean  false: interrupted
local function send_all(run, fd, name)
  run.sources[#run.sources + 1] = { name = name, first = run.line }
  local input = lines.new(fd, run.longest)
  repeat
    if not wait(run, fd) then return false end
    local ok, err = input:fill()
    if not ok and err == "long" then
      rdkafka.fail("%s is longer than message.max.bytes, %d", place(run, run.line + 1), run.longest)
    elseif not ok then
      rdkafka.fail("cannot read %s: %s", name and data.plain(name) or "standard input", err)
    end
    local is_going
    run.line, is_going = run.producer:send_lines(input, run.line)
    if not is_going then return false end
    run.client:poll(0)
    show(run)
  until input.is_at_end
  return true
end

local function send_file(run, path)
  local fd, err = lines.open(path)
  if not fd then rdkafka.fail("%s: %s", data.plain(path), err) end
  local is_going = send_all(run, fd, path)
  libc.close(fd)
  return is_going
end

--- Waits until all is delivered, or has failed. Another signal gives up.
local function flush(run)
  while run.producer:pending() > 0 do
    run.client:poll(FLUSH_STEP_MS)
    show(run)
    if run.client.signal and run.client:interrupted_again() then run.producer:purge() end
    run.client:interrupted()
  end
  run.client:poll(0)
end

--- What librdkafka is told; later properties win.
local function properties(options)
  local list = {
    { "client.id", "luka-produce" },
    { "bootstrap.servers", client.broker(options) },
    { "delivery.report.only.error", "true" },
    { "partitioner", "murmur2_random" }, -- as Kafka's own clients, so that a key is always in the same partition
    { "message.max.bytes", tostring(LONGEST) },
    { "queue.buffering.max.kbytes", "262144" },
    { "message.timeout.ms", "60000" },
  }
  if options.compression then list[#list + 1] = { "compression.type", options.compression } end
  if options.acks then list[#list + 1] = { "acks", options.acks } end
  return client.add_properties(options, list)
end

local function wish(options, topic)
  local separator = options.key_separator and client.unescape(options.key_separator)
  if separator == "" then client.refuse "--key-separator is empty" end
  return {
    topic = topic, partition = options.partition, separator = separator, is_null_empty = options.null == true,
    headers = options.header or {},
  }
end

local function check_partition(run, topic)
  local count = run.producer:partitions(topic)
  local partition = run.options.partition
  if count and partition and partition >= count then
    rdkafka.fail("topic '%s' has no partition %d: it has %d", topic, partition, count)
  end
  return count ~= nil
end

local function send_sources(run, topic, files)
  if not check_partition(run, topic) then return end
  if #files == 0 then return send_all(run, STDIN) end
  for _, path in ipairs(files) do
    if not (path == "-" and send_all(run, STDIN) or path ~= "-" and send_file(run, path)) then return end
  end
end

--- Refuses files that are not there before anything is sent: the first record would create the topic.
local function check_files(files)
  for _, path in ipairs(files) do
    if path ~= "-" then
      local kind, err = libc.kind(path)
      if not kind then rdkafka.fail("%s: %s", data.plain(path), err) end
      if kind == "folder" then rdkafka.fail("cannot read %s: Is a directory", data.plain(path)) end
    end
  end
end

---@param options luka.GivenOptions
---@param arguments string[]  the topic, then files
---@return integer status
function M.run(options, arguments)
  local topic = arguments[1]
  local list, wanted = properties(options), wish(options, topic)
  local run = {
    options = options, sources = {}, line = 0, failed = 0,
    longest = tonumber(client.property(list, "message.max.bytes")) or LONGEST,
    progress = progress.new(not libc.is_terminal(STDIN) or #arguments > 1),
  }
  local files = { unpack(arguments, 2) }
  check_files(files)
  run.client = rdkafka.client(rdkafka.PRODUCER, list, client.property(list, "bootstrap.servers"))
  run.client.on_failure = function(line, code) note_failure(run, line, code) end
  run.producer = producers.new(run.client, wanted)
  local ok, err = pcall(send_sources, run, topic, files)
  -- What was read before is delivered all the same.
  flush(run)
  run.progress:clear()
  run.producer:close()
  if not ok then error(err, 0) end
  if run.failed > FAILURES_MAX then
    report.fail(options, ("%d records in all were not delivered"):format(run.failed))
  end
  if run.client.signal then return 128 + run.client.signal end
  return run.failed > 0 and report.FAILED or report.OK
end

return M
