-- SPDX-License-Identifier: Apache-2.0
-- ApiVersions and what is said about requests that are not served.
local brokers = require "spec.support.broker"
local malformed = require "spec.support.malformed"
local unit = require "spec.support.unit"
local wire = require "spec.support.wire"

--- What is served, by api key: { oldest version named, newest }.
local SERVED = { [0] = { 0, 13 }, [1] = { 0, 18 }, [2] = { 0, 11 }, [3] = { 0, 13 }, [8] = { 0, 10 }, [9] = { 0, 10 },
  [10] = { 0, 6 }, [11] = { 0, 9 }, [12] = { 0, 4 }, [13] = { 0, 5 }, [14] = { 0, 5 }, [15] = { 0, 6 }, [16] = { 0, 5 }, [18] = { 0, 5 },
  [19] = { 0, 7 }, [20] = { 0, 6 }, [21] = { 0, 2 }, [22] = { 0, 6 }, [23] = { 0, 4 }, [32] = { 0, 4 },
  [33] = { 0, 2 }, [34] = { 0, 2 }, [35] = { 0, 5 }, [37] = { 0, 3 }, [42] = { 0, 3 },
  [43] = { 0, 2 }, [44] = { 0, 1 }, [45] = { 0, 1 },
  [46] = { 0, 0 }, [47] = { 0, 0 }, [48] = { 0, 1 }, [50] = { 0, 0 }, [51] = { 0, 0 }, [55] = { 0, 2 },
  [57] = { 0, 2 }, [60] = { 0, 2 }, [61] = { 0, 0 }, [64] = { 0, 0 }, [68] = { 0, 1 }, [69] = { 0, 1 }, [74] = { 0, 1 }, [75] = { 0, 0 } }

local CONSUMER_GROUP_HEARTBEAT = 68

local function ask(client, version, body)
  body = body or {}
  if version >= 3 and not body.client_software_name then
    body.client_software_name, body.client_software_version = "spec", "1.0"
  end
  return client:ask("ApiVersions", version, body)
end

describe("ApiVersions", function()
  local broker, client

  setup(function() broker = brokers.start() end)
  teardown(function() assert.equal(0, broker:stop()) end)
  before_each(function() client = broker:connect() end)
  after_each(function() client:close() end)

  it("answers an unknown version in version 0 with error 35 and its own range, and stays open", function()
    client:send(unit.bytes "00000011 0012 0063 00000007 0001 78 00 0261 0231 00")
    assert.equal(unit.hex(unit.bytes "00000007 0023 00000001 0012 0000 0005"), unit.hex(client:receive_frame()))
    assert.equal(0, ask(client, 3).error_code)
  end)

  for version = 0, 5 do
    it(("names what is served, by rising key, in version %d"):format(version), function()
      local answer = ask(client, version)
      assert.equal(0, answer.error_code)
      local before = -1
      local ranges = {}
      for _, api in ipairs(answer.api_keys) do
        assert.is_true(api.api_key > before)
        before = api.api_key
        ranges[api.api_key] = { api.min_version, api.max_version }
      end
      for key, range in pairs(SERVED) do assert.same(range, ranges[key]) end
    end)
  end

  for version = 3, 5 do
    it(("names the features whose requests are served, at an epoch of 0, in version %d"):format(version), function()
      local answer = ask(client, version)
      local supported, finalized = {}, {}
      for _, api in ipairs(answer.api_keys) do
        if api.api_key == CONSUMER_GROUP_HEARTBEAT then
          supported[1] = { name = "group.version", min_version = 1, max_version = 1 }
          finalized[1] = { name = "group.version", min_version_level = 1, max_version_level = 1 }
        end
      end
      assert.same(supported, answer.supported_features)
      assert.same(finalized, answer.finalized_features)
      assert.equal(0, answer.finalized_features_epoch)
      assert.is_false(answer.zk_migration_ready)
    end)

    for _, case in ipairs { { "", "1" }, { "a b", "1" }, { "a", "" }, { "a", "-1-" }, { "-", "1" }, { "a.", "1" },
      { "caf\195\169", "1" }, { "a\0b", "1" } } do
      it(("answers 42 to client %q of version %q in version %d"):format(case[1], case[2], version), function()
        local answer = ask(client, version, { client_software_name = case[1], client_software_version = case[2] })
        assert.equal(42, answer.error_code)
        assert.same({}, answer.api_keys)
        assert.equal(-1, answer.finalized_features_epoch)
      end)
    end

    it(("accepts a client name of 300 letters in version %d"):format(version), function()
      local answer = ask(client, version, { client_software_name = ("a"):rep(300), client_software_version = "1.0-rc1" })
      assert.equal(0, answer.error_code)
    end)
  end

  describe("version 5", function()
    local cluster_id, node_id

    before_each(function()
      local metadata = client:ask("Metadata", 12, { topics = {} })
      cluster_id, node_id = metadata.cluster_id, metadata.brokers[1].node_id
    end)

    it("accepts a client that means this broker of this cluster", function()
      assert.equal(0, ask(client, 5, { cluster_id = cluster_id, node_id = node_id }).error_code)
    end)

    it("answers 129 to a client that means another cluster", function()
      assert.equal(129, ask(client, 5, { cluster_id = "other", node_id = node_id }).error_code)
    end)

    it("answers 129 to a client that means another broker of this cluster", function()
      assert.equal(129, ask(client, 5, { cluster_id = cluster_id, node_id = node_id + 77 }).error_code)
    end)

    it("answers 42 to a client that gives only one of the two", function()
      assert.equal(42, ask(client, 5, { node_id = node_id }).error_code)
      assert.equal(42, ask(client, 5, { node_id = node_id + 77 }).error_code)
      assert.equal(42, ask(client, 5, { cluster_id = cluster_id }).error_code)
    end)
  end)

  it("accepts a null client id, and bytes behind the body", function()
    assert.equal(0, client:ask("ApiVersions", 0, {}, { client_id = wire.NULL }).error_code)
    client:send_frame(malformed.with_trailing_bytes("ApiVersions", 0, {}))
    assert.equal(0, client:answer("ApiVersions", 0).error_code)
  end)

  it("closes the connection on a request that ends early, at every length", function()
    local body = { client_software_name = "spec", client_software_version = "1", cluster_id = "c", node_id = 1 }
    assert.is_nil(malformed.first_accepted_prefix(broker, "ApiVersions", 5, body))
    assert.equal(0, ask(client, 5).error_code)
  end)
end)

describe("a request that is not served", function()
  local broker

  setup(function() broker = brokers.start() end)
  teardown(function() assert.equal(0, broker:stop()) end)

  it("of an unknown key closes its connection without an answer", function()
    assert.equal("", malformed.send(broker, unit.bytes "03e7 0000 00000001 0001 78"))
    assert.equal("", malformed.send(broker, unit.bytes "ffff 0000 00000001 0001 78"))
  end)

  it("of a version that is too high or negative closes its connection without an answer", function()
    for key, range in pairs(SERVED) do
      if key ~= 18 then
        for _, version in ipairs { range[2] + 1, 0x7fff, 0xffff } do
          assert.equal("", malformed.send(broker, unit.bytes(("%04x %04x 00000001 0001 78 00"):format(key, version))))
        end
      end
    end
  end)

  it("is named in the log, with the client's address", function()
    local client = broker:connect()
    client:send_frame(unit.bytes "0003 0063 00000001 0001 78 00")
    assert.equal("", client:receive_end())
    client:close()
    assert.truthy(broker:log():match "127%.0%.0%.1:%d+")
  end)
end)
