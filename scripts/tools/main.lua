-- SPDX-License-Identifier: Apache-2.0
-- Runs the steps of scripts/tools/steps with Apache Kafka's command-line tools, all in one JVM (Tools.java), on a broker
-- that is started for them, and keeps what the tools say in spec/data/kafka-tools: one file for Luka, one for Apache
-- Kafka, of each file of steps. `scripts/conformance tools` calls it, and so does spec/functional/kafka_tools_spec.lua.
local json = require "luka.native.json"
local signal = require "posix.signal"
local luka_broker = require "spec.support.broker"
local client = require "spec.support.client"
local kafka = require "scripts.bench.kafka"
local differences = require "scripts.tools.differences"
local process = require "scripts.bench.process"
local transcript = require "scripts.tools.transcript"
local unit = require "spec.support.unit"

local M = { FILES = { "topics", "configs", "cluster", "records", "groups", "members" }, FOLDER = "spec/data/kafka-tools" }

local PACKAGE = "org.apache.kafka.tools."

--- Kafka's own names of its tools, less the `kafka-` in front.
local TOOLS = {
  topics = "TopicCommand", configs = "ConfigCommand", ["consumer-groups"] = "consumer.group.ConsumerGroupCommand",
  ["get-offsets"] = "GetOffsetShell", ["delete-records"] = "DeleteRecordsCommand", ["log-dirs"] = "LogDirsCommand",
  ["console-producer"] = "ConsoleProducer", ["console-consumer"] = "consumer.ConsoleConsumer",
  ["verifiable-producer"] = "VerifiableProducer", ["verifiable-consumer"] = "VerifiableConsumer",
  ["leader-election"] = "LeaderElectionCommand", ["reassign-partitions"] = "reassign.ReassignPartitionsCommand",
  features = "FeatureCommand", ["metadata-quorum"] = "MetadataQuorumCommand", cluster = "ClusterTool",
  ["client-metrics"] = "ClientMetricsCommand", groups = "GroupsCommand",
}

--- What is Luka's default, and not Kafka's.
local KAFKA_SETTINGS = { "group.initial.rebalance.delay.ms=0" }

--- A whole file of steps may take so long, and each of its steps 30 s.
local JVM_SECONDS = 280

local function words_of(text)
  local words = {}
  for word in text:gmatch "%S+" do words[#words + 1] = word end
  return words
end

--- Words as a shell would want them.
local function shown_words(words)
  local shown = {}
  for at, word in ipairs(words) do
    shown[at] = (word == "" or word:find "[%s|;*()<>$]") and ("'%s'"):format(word:gsub("\n", "\\n")) or word
  end
  return table.concat(shown, " ")
end

--- A step as it is written, made complete. Its command line is a list of words, its files are there, and it knows what is
--- to be shown of both.
---
--- What is written: [1] its name, [2] the tool, [3] its arguments, a list or a text that is split at blanks; `input`: what
--- it reads, `files`: texts that `@name` stands for; `wait`: it goes on in the background when it has said this, until a
--- step has `stop` with its name; `until_said`: it is run until it says this; `find`: names for what is found in what it
--- says, {NAME} in later arguments; `sorted`: lines have no order; `hidden`: lines to leave out;
--- `bare`: the tool wants no broker, `server_first`: it wants it in front.
local function step_of(written, address, folder)
  local step = { name = written[1], stop = written.stop, wait = written.wait, input = written.input, sorted = written.sorted,
    find = written.find, hidden = written.hidden, until_said = written.until_said }
  if step.stop then return step end
  local args = type(written[3]) == "table" and { unpack(written[3]) } or words_of(written[3])
  step.command = ("kafka-%s %s"):format(written[2], shown_words(args))
  local shown = { written.input_shown or written.input }
  for at, word in ipairs(args) do
    local file = word:match "^@(.+)$"
    if file then
      args[at] = ("%s/%s"):format(folder, file)
      unit.write_file(args[at], written.files[file])
      shown[#shown + 1] = ("@%s:\n%s"):format(file, written.files[file])
    end
  end
  step.shown = table.concat(shown, "\n")
  if not written.bare then
    local at = written.server_first and 1 or #args + 1
    table.insert(args, at, address)
    table.insert(args, at, "--bootstrap-server")
  end
  step.args, step.class = args, PACKAGE .. assert(TOOLS[written[2]], written[2])
  return step
end

--- The steps of a file.
local function steps_of(name, address, folder)
  local steps = {}
  for index, written in ipairs(require("scripts.tools.steps." .. name)) do
    local own = ("%s/%s.%d"):format(folder, name, index)
    if written.files then assert(os.execute(("mkdir '%s'"):format(own)) == 0) end
    steps[index] = step_of(written, address, own)
  end
  return steps
end

--- Runs a file of steps on a broker.
---
---@param name string
---@param port integer  of the broker
---@param names table<string, string>  what is to be replaced in what the tools say
---@return string transcript
local function run(name, port, names)
  local folder = unit.temp_dir()
  local address = "127.0.0.1:" .. port
  names[folder] = "FILES"
  local steps, flat = steps_of(name, address, folder), {}
  for at, step in ipairs(steps) do
    flat[at] = { name = step.name, class = step.class, args = step.args and json.array(step.args), input = step.input,
      stop = step.stop, wait = step.wait, find = step.find, ["until"] = step.until_said }
  end
  unit.write_file(folder .. "/steps.json", json.encode(json.array(flat)))
  local status, out, err = process.wait(process.start { "java", "-Xmx512M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
    "--add-opens=java.base/java.lang=ALL-UNNAMED", "-Dlog4j2.configurationFile=scripts/tools/log4j2.properties",
    "-cp", assert(kafka.jars()) .. "/*", "scripts/tools/Tools.java", folder .. "/steps.json", folder .. "/results.json" }, JVM_SECONDS)
  if status ~= 0 then error(("the tools' JVM ended with status %s\n%s%s"):format(tostring(status), out, err), 0) end
  if os.getenv "TOOLS_TIMES" then io.stderr:write(err) end
  local results = json.decode(unit.read_file(folder .. "/results.json"))
  local entries, at = {}, 1
  for _, step in ipairs(steps) do
    if results[at] and results[at].name == step.name then -- one that goes on in the background has its entry when it is stopped
      entries[#entries + 1] = transcript.entry(step, results[at], names)
      at = at + 1
    end
  end
  return table.concat(entries, "\n")
end

--- Runs a file of steps on a Luka that is started for it.
---
---@param name string
---@return string transcript
function M.on_luka(name)
  local broker = luka_broker.start()
  local text = run(name, broker.port, { [broker.data] = "DATA" })
  local status = broker:stop()
  if status ~= 0 then error("Luka ended with status " .. tostring(status), 0) end
  return text
end

--- Runs a file of steps on an Apache Kafka that is started for it.
---
---@param name string
---@return string transcript
function M.on_kafka(name)
  local data, port = unit.temp_dir() .. "/data", process.free_port()
  local broker = process.start(kafka.prepare(data, port, KAFKA_SETTINGS))
  client.wait_until("Apache Kafka answers", function()
    local ok, connection = pcall(client.connect, port)
    if ok then connection:close() end
    return ok
  end, 60000)
  local text = run(name, port, { [data .. "/logs"] = "DATA" })
  broker:kill(signal.SIGTERM)
  process.wait(broker, 60)
  return text
end

function M.path(side, name) return ("%s/%s-%s.txt"):format(M.FOLDER, name, side) end

local RUN = { luka = M.on_luka, kafka = M.on_kafka }

--- The command: runs, keeps what the tools say, and shows where the two differ.
---
---@param words string[]  side, files of steps
---@return integer  how many steps differ
function M.main(words)
  local sides = words[1] == "both" and { "kafka", "luka" } or { words[1] }
  local files = { unpack(words, 2) }
  if #files == 0 then files = M.FILES end
  local folder, why = kafka.jars()
  if not folder then error(why, 0) end
  local failed = 0
  for _, name in ipairs(files) do
    for _, side in ipairs(sides) do
      local on_side = RUN[side] or error("usage: scripts/conformance tools luka|kafka|both [STEPS...]", 0)
      unit.write_file(M.path(side, name), on_side(name))
    end
    local kafkas, lukas = unit.read_file(M.path("kafka", name)) or "", unit.read_file(M.path("luka", name)) or ""
    local found = transcript.differences(differences.expected(kafkas), lukas)
    local unexpected = 0
    for _, one in ipairs(found) do
      if not differences.STEPS[name][one.name] then
        print(("\n#### %s, Apache Kafka:\n%s\n#### Luka:\n%s"):format(name, one.a, one.b))
        unexpected = unexpected + 1
      end
    end
    print(("\n%s: %d steps, %d differ as expected, %d otherwise"):format(name, #select(2, transcript.entries(kafkas)),
      #found - unexpected, unexpected))
    failed = failed + unexpected
  end
  return failed
end

return M
