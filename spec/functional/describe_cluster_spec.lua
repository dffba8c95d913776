-- SPDX-License-Identifier: Apache-2.0
-- DescribeCluster, in all versions.
local brokers = require "spec.support.broker"
local malformed = require "spec.support.malformed"

local NONE = -2147483648

describe("DescribeCluster", function()
  local broker, client, metadata

  setup(function()
    broker = brokers.start { listen = { "127.0.0.1:0", "127.0.0.2:0" } }
    client = broker:connect()
    metadata = client:ask("Metadata", 12, { topics = {} })
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  for version = 0, 2 do
    it(("names the cluster, its controller and its brokers in version %d"):format(version), function()
      local answer = client:ask("DescribeCluster", version, {})
      assert.equal(0, answer.error_code)
      assert.is_nil(answer.error_message)
      assert.equal(version >= 1 and 1 or nil, answer.endpoint_type)
      assert.equal(metadata.cluster_id, answer.cluster_id)
      assert.equal(metadata.brokers[1].node_id, answer.controller_id)
      assert.equal(NONE, answer.cluster_authorized_operations)
      assert.equal(1, #answer.brokers)
      local known = answer.brokers[1]
      assert.same({ metadata.brokers[1].node_id, "127.0.0.1", broker.port }, { known.broker_id, known.host, known.port })
      assert.is_nil(known.rack)
      if version >= 2 then assert.is_false(known.is_fenced) end
    end)

    it(("gives the cluster's authorized operations when asked, in version %d"):format(version), function()
      local answer = client:ask("DescribeCluster", version, { include_cluster_authorized_operations = true })
      assert.equal(8096, answer.cluster_authorized_operations)
    end)

    it(("closes the connection on a request that ends early, in version %d"):format(version), function()
      assert.is_nil(malformed.first_accepted_prefix(broker, "DescribeCluster", version, {}))
    end)
  end

  it("gives the address of the listener that the client came through", function()
    local other = broker:connect(2)
    local known = other:ask("DescribeCluster", 2, {}).brokers[1]
    assert.same({ "127.0.0.2", broker.ports[2] }, { known.host, known.port })
    other:close()
  end)

  for version = 1, 2 do
    local wrong = { { 2, 114, "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER" },
      { 0, 115, "Unsupported endpoint type 0" }, { 9, 115, "Unsupported endpoint type 9" }, { -1, 115, "Unsupported endpoint type -1" } }
    for _, case in ipairs(wrong) do
      it(("answers %d, and nothing else, to endpoint type %d in version %d"):format(case[2], case[1], version), function()
        local answer = client:ask("DescribeCluster", version, { endpoint_type = case[1], include_cluster_authorized_operations = true })
        assert.same({ case[2], case[3], 1, "", -1, {}, NONE }, { answer.error_code, answer.error_message, answer.endpoint_type,
          answer.cluster_id, answer.controller_id, answer.brokers, answer.cluster_authorized_operations })
      end)
    end
  end

  it("has no fenced brokers to add", function()
    assert.equal(1, #client:ask("DescribeCluster", 2, { include_fenced_brokers = true }).brokers)
  end)
end)
