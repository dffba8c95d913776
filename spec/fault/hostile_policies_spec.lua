-- SPDX-License-Identifier: Apache-2.0
-- Functions of a configuration that mean no good, in a real broker: each request is answered, with a message that names the
-- function, while others are served. What each took is printed; LUKA_SHOW=1 prints it of all.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local hostile = require "spec.support.hostile_policies"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

local NONE, POLICY_VIOLATION, WORKERS = 0, 44, 2
local IS_CHECKED = (os.getenv "LUKA_SAN" or "") ~= ""
local MEMORY_KB = 400 * 1024
local PATIENCE_MS = IS_CHECKED and 120000 or 30000

--- Starts a broker on a configuration; the module `slow` lies next to it.
local function start(text)
  local folder = brokers.temp_dir(true)
  for name, content in pairs { ["config.lua"] = text, ["slow.lua"] = "return { run = function()\n\nwhile true do end\nend }" } do
    local file = assert(io.open(folder .. "/" .. name, "w"))
    file:write(content)
    file:close()
  end
  return brokers.start { config = folder .. "/config.lua" }
end

--- Largest resident memory of a broker so far, KiB.
local function memory_kb(broker)
  for line in io.lines(("/proc/%d/status"):format(broker.pid)) do
    local kb = line:match "^VmHWM:%s+(%d+)"
    if kb then return tonumber(kb) end
  end
end

--- How many threads for functions on records a broker has, with those that are given up and still run.
local function runners(broker)
  local count = 0
  local pipe = io.popen(("cat /proc/%d/task/*/comm 2>/dev/null"):format(broker.pid))
  for name in pipe:lines() do count = count + (name:match "^luka%-policy" and 1 or 0) end
  pipe:close()
  return count
end

local batch = records.batch { records = { { key = "k", value = "v" }, { key = "l", value = "w" } } }

describe("Hostile functions", function()
  local broker, client, other, plain, slowest_ms, longest_ms

  local function open(text)
    broker = start(text)
    client, other = broker:connect(), broker:connect()
    plain = requests.find(other, "plain")
    requests.append(client, requests.find(client, "source"), batch)
    slowest_ms, longest_ms = 0, { 0, "" }
  end

  --- `count`: runners, before the broker is stopped: what is given up comes back, unless it never returns.
  local function close(count)
    clients.wait_until("nothing runs any more", function() return runners(broker) <= count end, PATIENCE_MS)
    print(("  slowest: %d ms (%s); other connections waited %d ms at most; %d MiB"):format(longest_ms[1], longest_ms[2],
      slowest_ms, memory_kb(broker) / 1024))
    if not IS_CHECKED then assert.is_true(memory_kb(broker) < MEMORY_KB) end
    client:close()
    other:close()
    assert.equal(0, broker:stop())
  end

  --- Sends a request and waits for its answer, while another connection goes on producing.
  local function ask(name, api, version, body)
    local began = clients.now_ms()
    local id = client:request(api, version, body)
    local answer
    repeat
      local sent = clients.now_ms()
      assert.equal(0, requests.append(other, plain, batch) % 2)
      slowest_ms = math.max(slowest_ms, clients.now_ms() - sent)
      local why
      answer, why = client:answer(api, version, id, 20)
      if why == "closed" then error(name .. ": the connection was closed", 2) end
    until answer or clients.now_ms() - began > PATIENCE_MS
    local took = clients.now_ms() - began
    if took > longest_ms[1] then longest_ms = { took, name } end
    if os.getenv "LUKA_SHOW" then print(("  %5d ms  %s"):format(took, name)) end
    return assert(answer, name .. " was not answered")
  end

  --- Error code and message of what meets a function.
  local function attack(case)
    local topic = assert(requests.find(client, case.name))
    if case.kind == "partitioner" or case.kind == "transform" then
      local answer = ask(case.name, "Produce", requests.PRODUCE, requests.produce_body(requests.PRODUCE, { { topic, { { 0, batch } } } }))
      local part = answer.responses[1].partition_responses[1]
      return part.error_code, part.error_message
    end
    if case.kind == "transform_fetch" then requests.append(client, topic, batch) end
    local answer = ask(case.name, "Fetch", requests.FETCH, requests.fetch_body(requests.FETCH, { { topic, { {} } } }))
    return answer.responses[1].partitions[1].error_code
  end

  local function check(case)
    local code, message = attack(case)
    assert.equal(case.wrong and POLICY_VIOLATION or NONE, code, case.name .. ": " .. tostring(message))
    if case.wrong and message then
      assert.truthy(message:find("%.lua:%d+"), message)
      assert.truthy(message:find(case.wrong, 1, true), message)
      assert.is_true(#message <= 1024)
      assert.is_nil(message:find "%c")
    end
  end

  for _, jit in ipairs { false, true } do
    describe(jit and "that are compiled:" or "that are interpreted:", function()
      local cases = {}
      for _, kind in ipairs(hostile.KINDS) do
        for i, body in ipairs(hostile.BODIES) do
          if not (jit and body.is_endless) then
            cases[#cases + 1] = { name = ("%s.%d"):format(kind, i), kind = kind, body = body[2], wrong = body[3], title = body[1] }
          end
        end
      end
      for i, result in ipairs(hostile.PARTITIONS) do
        cases[#cases + 1] = { name = "choice." .. i, kind = "partitioner", body = ("do return %s end"):format(result), wrong = "",
          title = "the result " .. result }
      end
      for i, result in ipairs(hostile.RESULTS) do
        cases[#cases + 1] = { name = "result." .. i, kind = "transform", body = ("do return %s end"):format(result), wrong = "",
          title = "the result " .. result }
      end
      setup(function() open(hostile.config(cases, jit)) end)
      teardown(function() close(WORKERS) end)

      for _, case in ipairs(cases) do
        it(("a %s with %s is answered"):format(case.kind, case.title), function() check(case) end)
      end

      it("are named in the log, and other topics have what was sent", function()
        assert.truthy(broker:log():find "warn  transform of topic %S+: %S+%.lua:%d+: ")
        assert.is_true(requests.is_well(broker))
      end)
    end)
  end

  describe("in a hook", function()
    local cases = {}
    for _, list in ipairs { hostile.BODIES, hostile.HOOKS } do
      for _, body in ipairs(list) do
        if body.in_hook ~= false then
          cases[#cases + 1] = { name = "hook." .. #cases + 1, body = body[2], wrong = body[3], title = body[1] }
        end
      end
    end
    setup(function() open(hostile.hooks(cases)) end)
    teardown(function() close(0) end)

    for _, case in ipairs(cases) do
      it(case.title .. " is answered", function()
        local answer = ask(case.name .. " " .. case.title, "CreateTopics", 7, { timeout_ms = 30000, topics = { { name = case.name,
          num_partitions = 1, replication_factor = 1, configs = {} } } }).topics[1]
        assert.equal(case.wrong and POLICY_VIOLATION or NONE, answer.error_code, tostring(answer.error_message))
        if case.wrong then
          assert.is_true(#answer.error_message > 0 and #answer.error_message <= 1024)
          assert.is_nil(answer.error_message:find "%c", answer.error_message)
        end
        if os.getenv "LUKA_SHOW" then print(answer.error_message) end
      end)
    end

    it("does not keep others from being created", function()
      requests.create(client, "another")
      assert.is_true(requests.is_well(broker))
    end)
  end)

  describe("that are compiled and never return", function()
    local names = { "partitioner", "transform", "transform_fetch", "where" }
    local cases = {}
    for i, kind in ipairs(names) do
      cases[i] = { name = kind .. ".endless", kind = kind, body = hostile.BODIES[i][2], wrong = "" }
    end
    setup(function() open(hostile.config(cases, true)) end)
    teardown(function() close(WORKERS + #cases) end)
    for _, case in ipairs(cases) do
      it("are given up and named: " .. case.kind, function()
        check(case)
        local of = case.kind == "where" and "view" or "topic"
        assert.truthy(broker:log():find(("error %s of %s %s %%([^\n]-config.lua:%%d+%%) has not returned for %%d+ ms: its thread is "
          .. "given up"):format(case.kind, of, case.name)))
      end)
    end
  end)
end)
