-- SPDX-License-Identifier: Apache-2.0
-- AlterUserScramCredentials and DescribeUserScramCredentials. Errors and sentences are those of Apache Kafka 4.4.0.
local brokers = require "spec.support.broker"
local malformed = require "spec.support.malformed"
local wire = require "spec.support.wire"

local SHA_256, SHA_512 = 1, 2

describe("SCRAM credentials", function()
  local here = brokers.around(before_each, after_each)

  local function credential(name, mechanism, more)
    local one = { name = name, mechanism = mechanism or SHA_256, iterations = 4096, salt = ("s"):rep(16),
      salted_password = ("p"):rep(32) }
    for key, value in pairs(more or {}) do one[key] = value end
    return one
  end

  --- Sets and deletes ({ user, mechanism } each); { user, code, message } of the answer.
  local function alter(set, deleted)
    local deletions = {}
    for i, entry in ipairs(deleted or {}) do deletions[i] = { name = entry[1], mechanism = entry[2] } end
    local results = here.client:ask("AlterUserScramCredentials", 0, { upsertions = set, deletions = deletions }).results
    local found = {}
    for i, result in ipairs(results) do found[i] = { result.user, result.error_code, result.error_message } end
    return found
  end

  --- Describes users: "user code message mechanism:iterations ..." each.
  local function describe_users(names)
    local users = names and {} or wire.NULL
    for i, name in ipairs(names or {}) do users[i] = { name = name } end
    local answer = here.client:ask("DescribeUserScramCredentials", 0, { users = users })
    assert.same({ 0, "" }, { answer.error_code, answer.error_message })
    local found = {}
    for i, result in ipairs(answer.results) do
      found[i] = ("%s %d %s"):format(result.user, result.error_code, result.error_message)
      for _, info in ipairs(result.credential_infos) do found[i] = found[i] .. (" %d:%d"):format(info.mechanism, info.iterations) end
    end
    return found
  end

  it("are set, described, changed and deleted, one mechanism at a time", function()
    assert.same({ { "u", 0 } }, alter { credential("u") })
    assert.same({ { "u", 0 } }, alter { credential("u", SHA_512, { iterations = 8192, salted_password = ("p"):rep(64) }) })
    assert.same({ "u 0  1:4096 2:8192" }, describe_users { "u" })
    assert.same({ { "u", 0 } }, alter { credential("u", SHA_256, { iterations = 16384 }) })
    assert.same({ "u 0  1:16384 2:8192" }, describe_users(nil))
    assert.same({ { "u", 0 } }, alter({}, { { "u", SHA_256 } }))
    assert.same({ "u 0  2:8192" }, describe_users {})
    assert.same({ { "u", 0 } }, alter({}, { { "u", SHA_512 } }))
    assert.same({}, describe_users {})
  end)

  it("are told of all users, or of those that are named, who must exist and be named once", function()
    alter { credential("a"), credential("b") }
    assert.same({ "a 0  1:4096", "b 0  1:4096" }, describe_users(nil))
    assert.same({ "b 0  1:4096", "no 91 Attempt to describe a user credential that does not exist: no",
      " 91 Attempt to describe a user credential that does not exist: " }, describe_users { "b", "no", "" })
    local twice = "92 Cannot describe SCRAM credentials for the same user twice in a single request: "
    assert.same({ "a " .. twice .. "a", "b 0  1:4096", "no " .. twice .. "no" }, describe_users { "a", "b", "no", "a", "no", "a" })
  end)

  local wrong = {
    { "fewer than 4096 iterations", credential("u", 1, { iterations = 4095 }), 93, "Too few iterations" },
    { "a negative number of iterations", credential("u", 1, { iterations = -1 }), 93, "Too few iterations" },
    { "more than 16384 iterations", credential("u", 1, { iterations = 16385 }), 93, "Too many iterations" },
    { "mechanism 0", credential("u", 0), 33, "Unknown SCRAM mechanism" },
    { "mechanism 3", credential("u", 3), 33, "Unknown SCRAM mechanism" },
    { "an empty name", credential("", 9), 93, "Username must not be empty" },
    { "an empty password", credential("u", 1, { salted_password = "" }), 93, "The salted password is empty" },
    { "a salt of more than 1024 bytes", credential("u", 1, { salt = ("s"):rep(1025) }), 93, "The salt is longer than 1024 bytes" },
  }
  for _, case in ipairs(wrong) do
    it("are refused with " .. case[1], function()
      assert.same({ { case[2].name, case[3], case[4] } }, alter { case[2] })
      assert.same({}, describe_users {})
    end)
  end

  it("may have no salt, and passwords and names of any length and bytes", function()
    local name = "a/b ü%\1"
    assert.same({ { "u", 0 }, { name, 0 }, { ("x"):rep(400), 0 }, { ".", 0 } }, alter { credential("u", 1, { salt = "" }),
      credential(name, 2, { salted_password = "p" }), credential(("x"):rep(400), 1, { salted_password = ("p"):rep(5000) }),
      credential "." })
    assert.same({ name .. " 0  2:4096" }, describe_users { name })
    assert.same({ { ("x"):rep(600), 42, "The name is too long to be kept: its configs are kept in a node whose path has 480 bytes." } },
      alter { credential(("x"):rep(600)) })
  end)

  it("of a user change once in a request: deletions come first, and the first fault counts", function()
    local twice = "A user credential cannot be altered twice in the same request"
    local missing = "Attempt to delete a user credential that does not exist"
    assert.same({ { "u", 92, twice } }, alter { credential("u", 1), credential("u", 2) })
    assert.same({ { "u", 91, missing } }, alter({ credential("u", 1), credential("u", 2) }, { { "u", 1 } }))
    assert.same({ { "u", 33, "Unknown SCRAM mechanism" } }, alter { credential("u", 9), credential("u", 1) })
    assert.same({}, describe_users {})
    alter { credential("u", 1) }
    assert.same({ { "u", 92, twice } }, alter({ credential("u", 1) }, { { "u", 1 } }))
    assert.same({ { "u", 92, twice } }, alter({}, { { "u", 1 }, { "u", 1 } }))
    assert.same({ { "u", 91, missing } }, alter({}, { { "u", 2 } }))
    assert.same({ { "u", 33, "Unknown SCRAM mechanism" } }, alter({}, { { "u", 0 } }))
    assert.same({ { "", 93, "Username must not be empty" } }, alter({}, { { "", 9 } }))
    assert.same({ "u 0  1:4096" }, describe_users {})
  end)

  it("of each user are answered for themselves", function()
    assert.same({ { "no", 91, "Attempt to delete a user credential that does not exist" }, { "a", 0 },
      { "b", 93, "Too few iterations" }, { "c", 0 } },
      alter({ credential("a"), credential("b", 1, { iterations = 5 }), credential("c") }, { { "no", 1 } }))
    assert.same({ "a 0  1:4096", "c 0  1:4096" }, describe_users {})
    assert.same({}, alter {})
  end)

  it("of thousands of users are set in one request, and deleted", function()
    local COUNT = 5000
    local set, deleted = {}, {}
    for i = 1, COUNT do
      set[i] = credential(("u%05d"):format(i * 7919 % 10007))
      deleted[i] = { set[i].name, SHA_256 }
    end
    set[COUNT + 1] = credential("few", SHA_256, { iterations = 1 })
    local results = alter(set)
    for i = 1, COUNT do assert.same({ set[i].name, 0 }, results[i]) end
    assert.same({ "few", 93, "Too few iterations" }, results[COUNT + 1])
    local names = {}
    for i = 1, COUNT do names[i] = set[i].name .. " 0  1:4096" end
    table.sort(names)
    assert.same(names, describe_users(nil))
    for _, result in ipairs(alter({}, deleted)) do assert.equal(0, result[2]) end
    assert.same({}, describe_users(nil))
  end)

  it("stay over a crash, and are not in the log", function()
    alter { credential("u") }
    here.client:close()
    here.broker:kill()
    here.broker = here.broker:restart()
    here.client = here.broker:connect()
    assert.same({ "u 0  1:4096" }, describe_users {})
    assert.is_nil(here.broker:log():find("salt=", 1, true))
  end)

  it("close the connection on a request that ends early", function()
    assert.is_nil(malformed.first_accepted_prefix(here.broker, "AlterUserScramCredentials", 0,
      { upsertions = { credential("u") }, deletions = { { name = "u", mechanism = 1 } } }))
    assert.is_nil(malformed.first_accepted_prefix(here.broker, "DescribeUserScramCredentials", 0, { users = { { name = "u" } } }))
  end)
end)
