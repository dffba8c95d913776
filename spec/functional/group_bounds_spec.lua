-- SPDX-License-Identifier: Apache-2.0
-- Requests that name many groups: what is answered at once is bounded, and the rest is told to ask again.
local brokers = require "spec.support.broker"
local group = require "spec.support.group"
local requests = require "spec.support.requests"

-- Each answer takes a block of 4 KiB at least, and 128 MiB are the most.
local MANY = 40000
local LEAST = 128 * 1024 * 1024 / 4096

describe("A request that names very many groups", function()
  local broker, client

  setup(function()
    broker = brokers.start { set = { "workers=2", "offsets_topic_num_partitions=4" } }
    client = broker:connect()
    requests.create(client, "t")
    group.prepare(client)
    assert.equal(0, group.commit(client, "g", { t = { [0] = { 7, ("x"):rep(64) } } }).t[0])
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  --- How many answers there are of each error, and whether those that were not asked are the last ones.
  local function count(groups)
    local counts, is_last = {}, true
    for _, one in ipairs(groups) do
      counts[one.error_code] = (counts[one.error_code] or 0) + 1
      if one.error_code ~= group.CODE.NOT_COORDINATOR and counts[group.CODE.NOT_COORDINATOR] then is_last = false end
    end
    return counts, is_last
  end

  it("describes as many as fit, and has the client ask again for the others", function()
    local names = {}
    for i = 1, MANY do names[i] = "no such group " .. i end
    local counts = count(client:ask("DescribeGroups", 6, { groups = names }).groups)
    assert.equal(MANY, counts[group.CODE.GROUP_ID_NOT_FOUND] + counts[group.CODE.NOT_COORDINATOR])
    assert.is_true(counts[group.CODE.GROUP_ID_NOT_FOUND] >= LEAST)
    assert.is_true(counts[group.CODE.GROUP_ID_NOT_FOUND] < LEAST + 100)
  end)

  it("fetches the offsets of as many as fit, though it is one and the same", function()
    local groups = {}
    for i = 1, MANY do groups[i] = { group_id = "g", topics = requests.NULL } end
    local answer = client:ask("OffsetFetch", 9, { groups = groups, require_stable = false })
    local counts, is_last = count(answer.groups)
    assert.equal(MANY, counts[0] + counts[group.CODE.NOT_COORDINATOR])
    assert.is_true(counts[0] >= LEAST and counts[0] < LEAST + 100)
    assert.is_true(is_last)
    assert.equal(7, answer.groups[1].topics[1].partitions[1].committed_offset)
  end)

  it("deletes all, as that takes no memory", function()
    local names = {}
    for i = 1, MANY do names[i] = "gone " .. i end
    local counts = count(client:ask("DeleteGroups", 2, { groups_names = names }).results)
    assert.same({ [group.CODE.GROUP_ID_NOT_FOUND] = MANY }, counts)
  end)
end)
