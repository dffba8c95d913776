-- SPDX-License-Identifier: Apache-2.0
--
-- A log directory that Apache Kafka 4.4.0 wrote and did not close, as spec/data/kafka-4.4.0-log-dir.tar.gz has it: what
-- is in it, and copies for brokers to adopt.
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"
local assert = require "luassert"
local dirent = require "posix.dirent"
local stat = require "posix.sys.stat"

local batch = records.batch

local M = {}

M.CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"

--- Topic ids, as text.
M.IDS = {
  ["golden-plain"] = "Y13OqAbeTyqNGJjNXsO5hg", ["golden-txn"] = "8xXHRH9BSbmHyMhRyCeozQ",
  ["golden-compact"] = "CL4CDMdrTDabADjjYs1VCg", ["__consumer_offsets"] = "9ldPNFEDSVSEH01imXCk2w",
  ["__transaction_state"] = "bJG9Ls2xTjmfVVPaEpexpg",
}

--- Fields of the records of golden-plain, by offset: 3,000 that are not compressed, then 30 of each codec.
function M.plain(offset)
  if offset < 3000 then
    return { offset = offset, timestamp = 1700000000000 + 10 * offset, key = "k" .. offset,
      value = ("value-%06d-"):format(offset):rep(40), headers = { { "n", tostring(offset) } } }
  end
  local codec = ({ "gzip", "snappy", "lz4", "zstd" })[math.floor((offset - 3000) / 30) + 1]
  local n = (offset - 3000) % 30
  return { offset = offset, timestamp = 1700000100000 + n, key = codec, value = ("%s-%d "):format(codec, n):rep(10), headers = {} }
end

M.PLAIN_COUNT = 3120

--- Runs a command of the shell.
function M.sh(command, ...)
  local line = command:format(...)
  if os.execute(line) ~= 0 then error("failed: " .. line, 2) end
end

--- A fresh copy; its path.
function M.copy()
  local data = brokers.temp_dir() .. "/data"
  M.sh("mkdir '%s' && tar -xzSf spec/data/kafka-4.4.0-log-dir.tar.gz -C '%s'", data, data)
  return data
end

--- 16 bytes of an id's text.
function M.id(text)
  local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
  local bits, count, out = 0, 0, {}
  for char in text:gmatch "." do
    bits, count = bits * 64 + alphabet:find(char, 1, true) - 1, count + 6
    if count >= 8 then
      count = count - 8
      out[#out + 1] = string.char(math.floor(bits / 2 ^ count))
      bits = bits % 2 ^ count
    end
  end
  return table.concat(out)
end

--- What a partition's folder says its topic id is, as text.
function M.folder_id(folder) return (unit.read_file(folder .. "/partition.metadata") or ""):match "topic_id: (%S+)" end

--- All files below a folder with their contents, but for the lock and the metastore.
function M.contents(folder, into, prefix)
  into, prefix = into or {}, prefix or ""
  for name in dirent.files(folder) do
    local path = folder .. "/" .. name
    if name ~= "." and name ~= ".." and name ~= ".lock" and not name:match "%.mdb" then
      local status = stat.stat(path)
      if status and stat.S_ISDIR(status.st_mode) ~= 0 then
        M.contents(path, into, prefix .. name .. "/")
      else
        -- Kafka's indexes are mostly zeros.
        into[prefix .. name] = status and ((unit.read_file(path):gsub("%z+$", "")) .. "#" .. status.st_size) or "link"
      end
    end
  end
  return into
end

--- Starts a broker on a directory; options as those of brokers.start().
function M.start(data, options)
  options = options or {}
  options.data = data
  return brokers.start(options)
end

--- Starts a broker that does not come up; its exit status, and the one line that is no line of the log.
function M.refused(data, options)
  options = options or {}
  options.data, options.wait = data, false
  local broker = brokers.start(options)
  local status = broker:wait_exit()
  local said = {}
  for line in broker:log():gmatch "[^\n]+" do
    if not line:match "^%d+%-%d+%-%d+T[%d:.]+Z %l+ " then said[#said + 1] = line end
  end
  assert.equal(1, #said, broker:log())
  return status, said[1]
end

--- Topics by name: id and number of partitions.
function M.topics(client)
  local all = {}
  for _, topic in ipairs(client:ask("Metadata", 12, { topics = requests.NULL }).topics) do
    all[topic.name] = { id = topic.topic_id, partitions = #topic.partitions }
  end
  return all
end

--- All records of golden-plain.
function M.read_plain(client)
  return records.read(requests.fetch_to_end(client, requests.find(client, "golden-plain"), 0))
end

--- All that Kafka wrote to golden-plain is there, and what was appended since.
function M.assert_plain(client, appended)
  local all = M.read_plain(client)
  assert.equal(M.PLAIN_COUNT + #(appended or {}), #all)
  for i = 1, M.PLAIN_COUNT do
    local expected, record = M.plain(i - 1), all[i]
    for _, field in ipairs { "offset", "timestamp", "key", "value" } do
      if record[field] ~= expected[field] then
        error(("offset %d: %s is %s"):format(i - 1, field, tostring(record[field])))
      end
    end
    assert.same(expected.headers, record.headers)
  end
  for i, value in ipairs(appended or {}) do
    assert.equal(M.PLAIN_COUNT + i - 1, all[M.PLAIN_COUNT + i].offset)
    assert.equal(value, all[M.PLAIN_COUNT + i].value)
  end
end

--- Adopts a copy, cleanly stopped afterwards; its folder.
function M.adopted()
  local data = M.copy()
  assert.equal(0, M.start(data):stop())
  return data
end

--- A folder of a partition with one record.
function M.add_partition(data, name, id)
  local folder = data .. "/" .. name
  assert(stat.mkdir(folder))
  unit.write_file(folder .. "/00000000000000000000.log", records.stored(batch { records = { name } }, 0))
  if id then unit.write_file(folder .. "/partition.metadata", "version: 0\ntopic_id: " .. id) end
  return folder
end

--- A directory with meta.properties of Kafka and no partition.
function M.empty_dir(properties)
  local data = brokers.temp_dir() .. "/data"
  assert(stat.mkdir(data))
  unit.write_file(data .. "/meta.properties", properties or "version=1\nnode.id=1\ncluster.id=" .. M.CLUSTER_ID .. "\n")
  return data
end

return M
