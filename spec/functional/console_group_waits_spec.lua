-- SPDX-License-Identifier: Apache-2.0
-- What the console itself shows of groups that are there: whom a rebalance waits for, who is silent; metrics, completion.
local brokers = require "spec.support.broker"
local console_of = require "spec.support.console"
local groups = require "spec.support.group"
local requests = require "spec.support.requests"

describe("A group that rebalances", function()
  local broker, client, console

  setup(function()
    broker = brokers.start { set = { "workers=2" } }
    client = broker:connect()
    groups.prepare(client)
    requests.create(client, "clicks", { partitions = 2 })
    console = console_of.connect(broker.data .. "/console.sock")
  end)
  teardown(function()
    client:close()
    console:close()
    assert.equal(0, broker:stop())
  end)

  local function show(group)
    local result = console:eval(("group %q"):format(group))
    assert.is_true(result.ok, result.error)
    return result.values[1].value
  end

  it("is in metrics() with its lag, when that is asked for", function()
    for _ = 1, 5 do console:eval 'produce("clicks", "v", { partition = 1 })' end
    assert.is_true(console:eval('commit("lags", "clicks", 1, 2)').ok)
    local function metrics(line) return console:eval(line).values[1].value end
    assert.same({ ["group.lags.lag"] = 3, ["group.lags.clicks.1.lag"] = 3 }, metrics 'metrics "lags"')
    assert.equal(3, metrics 'metrics("lag")["group.lags.lag"]')
    local all = metrics "metrics()"
    assert.is_nil(all["group.lags.lag"])
    assert.is_true(all["group.count"] >= 1)
  end)

  it("is completed", function()
    console:eval 'commit("orders", "clicks", 0, 0) commit("order-2", "clicks", 0, 0)'
    local function complete(line)
      console:send { op = "complete", id = 5, line = line, cursor = #line }
      return console:receive().words
    end
    for _, before in ipairs { 'group "', 'groups "', 'reset_offsets("', 'commit("', "kick('", 'delete_group "', 'delete_offsets("' } do
      assert.same({ "order-2", "orders" }, complete(before .. "ord"), before)
    end
    assert.same({ "members" }, complete 'group "orders":mem')
    assert.same({ "members" }, complete 'group("orders"):mem')
    console:eval 'g = group "orders"'
    assert.same({ "describe", "members", "offsets" }, complete "g:")
    assert.same({ "topic", "topics" }, complete 'reset_offsets("orders", { top')
    assert.same({ "dry" }, complete 'reset_offsets("orders", { to = "latest", d')
    assert.same({ "delete_group", "delete_offsets" }, complete "delete_")
  end)

  it("shows for whom it waits, and until when", function()
    local first = groups.member(broker, "waits", { topics = { "clicks" }, session_ms = 30000, rebalance_ms = 60000 })
    first:join()
    first:sync({ [first.id] = { clicks = { 0, 1 } } })
    assert.is_nil(show("waits").waits_for)
    local second = groups.member(broker, "waits", { topics = { "clicks" } })
    second:take_join(nil, second:send_join()) -- gives it an id
    local join = second:send_join()
    local value
    requests.wait_until("the group waits for the first member", function()
      value = show "waits"
      return value.state == "PreparingRebalance"
    end)
    assert.matches("^1 of 2 members to join again: .* %(127%.0%.0%.1, [%w ]+, until %d%d:%d%d:%d%dZ%)$", value.waits_for)
    assert.equal(1, value.generation)
    assert.is_true(math.abs(value.rebalance_time - os.time() * 1000) < 60000)
    assert.matches("%w", value.rebalance_reason)
    -- The first one joins: the leader's assignment is awaited.
    local again = first:send_join()
    first:take_join(nil, again)
    second:take_join(nil, join)
    value = show "waits"
    assert.equal("CompletingRebalance", value.state)
    assert.matches("^the assignment by the leader: ", value.waits_for)
    first:close()
    second:close()
  end)

  it("shows how long members have been silent, of either protocol", function()
    local member = groups.member(broker, "silent", { topics = { "clicks" }, session_ms = 30000 })
    member:join()
    member:sync({ [member.id] = { clicks = { 0, 1 } } })
    local other = broker:connect()
    assert.equal(0, other:ask("ConsumerGroupHeartbeat", 1, { group_id = "silent-new", member_id = "m", member_epoch = 0,
      rebalance_timeout_ms = 60000, subscribed_topic_names = { "clicks" }, topic_partitions = {} }).error_code)
    for _, name in ipairs { "silent", "silent-new" } do
      requests.wait_until("it is silent for a while", function()
        local silent_ms = show(name).members[1].silent_ms
        return silent_ms >= 20 and silent_ms < 30000
      end)
    end
    other:close()
    member:close()
  end)
end)
