-- SPDX-License-Identifier: Apache-2.0
-- One bit of a broker's files is another one at its start, after a clean stop and after kill -9: it starts, or says in one
-- line which file is wrong; what it serves is right; it stops. (spec/unit/log has the same file by file, and much more of
-- it.) BITFLIPS=1000 does 100 of them; a failure prints what to pass as BITFLIP_SEED.
local brokers = require "spec.support.broker"
local disk_run = require "spec.support.disk_run"
local unit = require "spec.support.unit"

local COUNT = math.floor((tonumber(os.getenv "BITFLIPS") or 120) / 10)
local SEED = tonumber(os.getenv "BITFLIP_SEED") or os.time() % 1000000

--- The files of a data folder that Kafka has as well, by name.
local function files_of(data)
  local find = "cd '%s' && find . -type f -size +0 ! -name 'luka.mdb*' ! -name .lock ! -name '.kafka_*' | LC_ALL=C sort"
  local pipe = io.popen(find:format(data))
  local files = {}
  for path in pipe:lines() do files[#files + 1] = path:sub(3) end
  pipe:close()
  return files
end

local function flip(path, random)
  local bytes = unit.read_file(path)
  local at = math.floor(random() * #bytes) + 1
  local number = math.floor(random() * 8)
  unit.write_file(path, bytes:sub(1, at - 1) .. string.char(bit.bxor(bytes:byte(at), bit.lshift(1, number))) .. bytes:sub(at + 1))
  return ("bit %d of byte %d"):format(number, at - 1), bytes
end

--- A life, the damage, and what the broker makes of it.
local function try(seed, is_clean)
  math.randomseed(seed)
  for _ = 1, 5 do math.random() end
  local data = brokers.temp_dir(true) .. "/data"
  local run = disk_run.new(data)
  assert(run:start())
  run:make_topics()
  run:fill(1, 4)
  run:delete()
  if is_clean then run:stop() else run.broker:kill() end
  local files = files_of(data)
  local file = files[math.floor(math.random() * #files) + 1]
  local where, right = flip(data .. "/" .. file, math.random)
  run.damaged = file:match "^(.+%-%d+)/%d+%.log$"
  local ok, err = pcall(function()
    if not run:start() then
      assert(file == "meta.properties", run.broker:log())
      assert(run:stop() > 0)
      unit.write_file(data .. "/" .. file, right)
      assert(run:start(), run.broker:log())
    end
    local client = run.broker:connect()
    run:compare(client, file ~= "log-start-offset-checkpoint")
    client:close()
    run:fill(5, 6)
    run:stop()
    run:verify()
  end)
  os.execute(("rm -rf '%s'"):format(data))
  if not ok then
    error(("BITFLIP_SEED=%d, %s of %s: %s"):format(seed, where, file, tostring(type(err) == "table" and err.message or err)), 0)
  end
end

describe("A broker that starts with one bit that is another one", function()
  for _, is_clean in ipairs { true, false } do
    it(("serves what is right, after %s (%d flips of seed %d)"):format(is_clean and "a clean stop" or "kill -9", COUNT / 2, SEED),
      function()
        for i = 1, COUNT / 2 do try(SEED + i - 1, is_clean) end
      end)
  end
end)
