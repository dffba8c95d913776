-- SPDX-License-Identifier: Apache-2.0
-- Reads the log of a group while schedules run (spec/support/consumer_sim.lua): whatever becomes of the group, and of
-- whatever kind it is, its epoch never falls unless nobody was in it. A classic group's epoch is its generation.
local wire = require "spec.support.wire"

local M = { FIRST_EPOCH = 1 } -- of a group whose members want nothing: nothing was written
local Log = {}
Log.__index = Log

local GROUP, EPOCH, MEMBER, TARGET_EPOCH, CURRENT = 2, 3, 5, 6, 8

function M.new()
  return setmetatable({ at = 0, epoch = 0, assignment = 0, gone = {}, epochs = {}, carried = {} }, Log)
end

local function decode(name, value) return (wire.decode(name, value:byte(2), value:sub(3))) end

--- The member that a key is about, behind the group.
local function member_of(key)
  local size = key:byte(3) * 256 + key:byte(4)
  return key:sub(5 + size + 2)
end

--- A record of a classic group.
function Log:group(value)
  if not value then
    -- What comes then is a consumer group with the same members. But a group that nobody is in ends.
    if not self.has_members then self.epoch = 0 end
    self.has_members = nil
    return
  end
  local group = decode("GroupMetadataValue", value)
  if #group.members > 0 and not group.leader then -- it was a consumer group
    assert(self.ended_at == self.at - 1 and group.generation == math.max(self.ended, M.FIRST_EPOCH),
      "a group that became classic has another epoch")
    for _, member in ipairs(group.members) do
      self.gone[member.member_id], self.carried[member.member_id] = nil, group.generation
    end
  end
  assert(group.generation >= self.epoch, "a generation fell")
  self.epoch, self.has_members = group.generation, #group.members > 0
end

--- A record of a consumer group's epoch.
function Log:group_epoch(value)
  if not value then
    self.ended, self.ended_at, self.epoch, self.assignment = self.epoch, self.at, 0, 0
    return
  end
  local epoch = decode("ConsumerGroupMetadataValue", value).epoch
  assert(epoch >= self.epoch, "an epoch fell")
  self.epoch = epoch
end

function Log:target_epoch(value)
  local epoch = value and decode("ConsumerGroupTargetAssignmentMetadataValue", value).assignment_epoch or 0
  assert(not value or epoch >= self.assignment and epoch <= self.epoch, "an assignment's epoch fell")
  self.assignment = epoch
end

--- Forgets what read() has noted.
function Log:forget() self.gone, self.epochs, self.carried = {}, {}, {} end

--- Reads what has come since the last time. It notes in `gone` ids of members that were thrown out of a consumer group
--- (they may have come back), in `epochs` what epochs members have, and in `carried` those of members whose group became
--- classic.
function Log:read(records)
  while self.at < #records do
    self.at = self.at + 1
    local key, value = records[self.at].key, records[self.at].value
    local kind = key:byte(1) * 256 + key:byte(2)
    if kind == GROUP then
      self:group(value)
    elseif kind == EPOCH then
      self:group_epoch(value)
    elseif kind == TARGET_EPOCH then
      self:target_epoch(value)
    elseif kind == MEMBER and not value then
      self.gone[member_of(key)] = true
    elseif kind == CURRENT and value then
      self.epochs[member_of(key)] = decode("ConsumerGroupCurrentMemberAssignmentValue", value).member_epoch
    end
  end
end

--- A write failed. That nobody is in it any more is true all the same: it ends as one that nobody is in.
function Log:lost(records, log)
  self:read(log)
  for _, record in ipairs(records) do
    local kind = record.key:byte(1) * 256 + record.key:byte(2)
    if kind == GROUP and record.value and #decode("GroupMetadataValue", record.value).members == 0 then
      self.has_members = nil
    end
  end
end

return M
