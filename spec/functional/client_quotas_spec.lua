-- SPDX-License-Identifier: Apache-2.0
-- DescribeClientQuotas: no quota can be set, so none is found; errors and sentences are those of Apache Kafka 4.4.0.
local brokers = require "spec.support.broker"
local wire = require "spec.support.wire"

local EXACT, DEFAULT, SPECIFIED = 0, 1, 2
local UNSUPPORTED_VERSION, INVALID_REQUEST = 35, 42

describe("Quotas of clients", function()
  local broker, client

  setup(function()
    broker = brokers.start()
    client = broker:connect()
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  --- Asks for them by components { type, match, name }: error code, message, number of quotas or "null".
  local function described(version, components)
    local list = {}
    for i, part in ipairs(components) do
      list[i] = { entity_type = part[1], match_type = part[2], match = part[3] or wire.NULL }
    end
    local answer = client:ask("DescribeClientQuotas", version, { components = list, strict = false })
    local entries = answer.entries
    return { answer.error_code, answer.error_message, type(entries) == "table" and #entries or "null" }
  end

  for version = 0, 1 do
    it("are none, whatever is asked for, in version " .. version, function()
      for _, components in ipairs {
        {}, { { "user", EXACT, "u" } }, { { "user", EXACT, "" } }, { { "ip", EXACT, "not an ip" } }, { { "ip", DEFAULT } },
        { { "user", SPECIFIED }, { "client-id", DEFAULT } },
      } do
        assert.same({ 0, "", 0 }, described(version, components))
      end
    end)

    it("are refused to a request that makes no sense, in version " .. version, function()
      local twice = "Entity type user cannot appear more than once in the filter."
      local no_name = "Request specified MATCH_TYPE_%s, but also specified a match string."
      local mixed = "Invalid entity filter component combination. IP filter component should not be used with user or "
        .. "clientId filter component."
      for _, case in ipairs {
        { { { "", 9 } }, INVALID_REQUEST, "Invalid empty entity type." },
        { { { "nobody", 9 } }, UNSUPPORTED_VERSION, "Unsupported entity type nobody" },
        { { { "User", SPECIFIED } }, UNSUPPORTED_VERSION, "Unsupported entity type User" },
        { { { "user", EXACT, "u" }, { "user", 9, "u" } }, INVALID_REQUEST, twice },
        { { { "ip", EXACT, "u" }, { "user", EXACT, "u" }, { "user", EXACT, "u" } }, INVALID_REQUEST, twice },
        { { { "user", 9, "u" } }, INVALID_REQUEST, "Unknown match type 9" },
        { { { "user", EXACT } }, INVALID_REQUEST, "Request specified MATCH_TYPE_EXACT, but set match string to null." },
        { { { "user", DEFAULT, "u" } }, INVALID_REQUEST, no_name:format "DEFAULT" },
        { { { "user", SPECIFIED, "u" } }, INVALID_REQUEST, no_name:format "SPECIFIED" },
        { { { "client-id", SPECIFIED }, { "ip", SPECIFIED } }, INVALID_REQUEST, mixed },
      } do
        assert.same({ case[2], case[3], "null" }, described(version, case[1]))
      end
    end)
  end

  it("cannot be set, and no client is told that they can", function()
    local has = {}
    for _, api in ipairs(client:ask("ApiVersions", 3, { client_software_name = "spec", client_software_version = "1" }).api_keys) do
      has[api.api_key] = true
    end
    assert.same({ true, nil }, { has[48], has[49] })
  end)
end)
