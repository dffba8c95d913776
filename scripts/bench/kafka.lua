-- SPDX-License-Identifier: Apache-2.0
-- Apache Kafka from Maven: its jars, kept for the next time, and the command lines of a single broker with its defaults
-- and of its tools.
local process = require "scripts.bench.process"
local unit = require "spec.support.unit"

local M = { VERSION = "4.4.0" }

local JAVA = 17 -- the oldest that it runs on

local HERE = "scripts/bench/kafka"

local LOG = "-Dlog4j2.configurationFile=" .. HERE .. "/log4j2.properties"

--- What is not its default: one broker that is its own controller. Its own topics need one replica then.
local PROPERTIES = [[
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:%d
listeners=PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d
advertised.listeners=PLAINTEXT://127.0.0.1:%d
controller.listener.names=CONTROLLER
log.dirs=%s
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
]]

local function has(program) return os.execute(("command -v %s >/dev/null 2>&1"):format(program)) == 0 end

--- The major version of java; 0 when it does not say one.
function M.java_version()
  local pipe = io.popen "java -version 2>&1"
  local said = pipe:read "*a"
  pipe:close()
  local major, minor = said:match 'version "(%d+)%.?(%d*)'
  return tonumber(major == "1" and minor or major) or 0 -- what is 8 today was called 1.8
end

--- Whether jars() has found or fetched them.
function M.has_jars() return M._jars ~= nil end

local function cache_folder()
  local cache = os.getenv "XDG_CACHE_HOME" or (os.getenv "HOME" or ".") .. "/.cache"
  return ("%s/luka-bench/kafka-%s"):format(cache, M.VERSION)
end

--- Whether jars() would find them, with a java to run them, and fetch nothing.
function M.has_cached_jars()
  return has "java" and M.java_version() >= JAVA and unit.read_file(cache_folder() .. "/complete") ~= nil
end

--- The folder of its jars; fetched when it is not there yet. Nil and a sentence when that cannot be.
---
---@return string? folder
---@return string? why
function M.jars()
  if not has "java" then return nil, "there is no java (apt-get install default-jdk-headless)" end
  local version = M.java_version()
  if version < JAVA then return nil, ("java is version %d, and Kafka %s needs %d"):format(version, M.VERSION, JAVA) end
  local folder = cache_folder()
  if M._jars or unit.read_file(folder .. "/complete") then
    M._jars = folder
    return folder
  end
  if not has "mvn" then return nil, "there is no Maven to fetch it with (apt-get install maven)" end
  io.stderr:write(("fetching Apache Kafka %s into %s\n"):format(M.VERSION, folder))
  assert(os.execute(("rm -rf '%s' && mkdir -p '%s'"):format(folder, folder)) == 0)
  local status, out, err = process.wait(process.start { "mvn", "-q", "-B", "-f", HERE .. "/pom.xml",
    "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies", "-DoutputDirectory=" .. folder }, 300)
  if status ~= 0 then return nil, "Maven cannot fetch it: " .. (out .. err):sub(-500) end
  unit.write_file(folder .. "/complete", "")
  M._jars = folder
  return folder
end

--- The command line of a class of its jars.
---
---@param class string
---@param words string[]
---@param memory string[]?  options of the JVM for its heap
---@return string[]
function M.command(class, words, memory)
  local line = { "java" }
  for _, word in ipairs(memory or { "-Xmx512M" }) do line[#line + 1] = word end
  for _, word in ipairs { "-XX:+UseG1GC", LOG, "-cp", M._jars .. "/*", class } do line[#line + 1] = word end
  for _, word in ipairs(words) do line[#line + 1] = word end
  return line
end

--- Makes the data folder of a broker; the command line that starts it, with the heap of Kafka's own start script.
---
---@param data string
---@param port integer
---@param settings string[]  key=value
---@return string[]
function M.prepare(data, port, settings)
  assert(os.execute(("mkdir -p '%s'"):format(data)) == 0)
  local controller = process.free_port()
  local path = data .. "/server.properties"
  unit.write_file(path, PROPERTIES:format(controller, port, controller, port, data .. "/logs")
    .. table.concat(settings, "\n") .. "\n")
  if not unit.read_file(data .. "/logs/meta.properties") then
    process.run(M.command("kafka.tools.StorageTool", { "format", "-t", "bHVrYS1iZW5jaC1rYWZrYQ", "-c", path }))
  end
  return M.command("kafka.Kafka", { path }, { "-Xms1G", "-Xmx1G" })
end

--- What a process of it has said so far.
function M.said(inner)
  return (unit.read_file(inner.folder .. "/out") or "") .. (unit.read_file(inner.folder .. "/err") or "")
end

return M
