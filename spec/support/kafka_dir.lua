-- SPDX-License-Identifier: Apache-2.0
--
-- A log directory that Apache Kafka 4.4.0 wrote and did not close, as spec/data/kafka-4.4.0-log-dir.tar.gz has it: what
-- is in it, and copies for brokers to adopt.
local brokers = require "spec.support.broker"
local unit = require "spec.support.unit"

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

return M
