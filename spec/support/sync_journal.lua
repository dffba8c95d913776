-- SPDX-License-Identifier: Apache-2.0
-- The sync journal of a broker's data directory: made at the first record of a topic with luka.producer.type=sync, which
-- has its segment flushed as long as that takes.
local clients = require "spec.support.client"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unistd = require "posix.unistd"

local M = { NAME = "luka.sync-journal" }

local GROUPS_BYTES = 1024 * 1024 -- where the first groups of a file are

local probes = 0

--- Appends to partition 0 of a topic until what it appends is found in the journal.
---
---@param data string  the directory
---@param client spec.Client
---@param topic table  as requests.create() has it
function M.wait(data, client, topic)
  clients.wait_until("records go into the sync journal", function()
    probes = probes + 1
    local text = ("probe %d of %d"):format(probes, unistd.getpid())
    requests.append(client, topic, records.batch { records = { text } })
    local file = io.open(data .. "/" .. M.NAME, "rb")
    local bytes = file and file:read(GROUPS_BYTES) or ""
    if file then file:close() end
    return bytes:find(text, 1, true)
  end)
end

return M
