-- SPDX-License-Identifier: Apache-2.0
-- The broker's logger: its level, described and set by Kafka's requests.
local brokers = require "spec.support.broker"
local configs = require "spec.support.configs"

local LOGGER, SET, DELETE, APPEND = configs.LOGGER, configs.SET, configs.DELETE, configs.APPEND

describe("The broker's logger", function()
  local here = brokers.around(before_each, after_each)

  local function change(name, entries, options)
    local answer = configs.incremental(here.client, { configs.change(LOGGER, name, entries) }, options)
    return answer[1].error_code, answer[1].error_message
  end
  local function level()
    local shown = configs.describe(here.client, LOGGER, "1")
    assert.same({ 6, false, 0, {} },
      { shown.root.config_source, shown.root.read_only, shown.root.config_type, shown.root.synonyms })
    assert.is_nil(next(shown, "root"))
    return shown.root.value
  end

  it("is the only one, named root, and begins with INFO", function()
    assert.equal("INFO", level())
    assert.is_nil(configs.describe(here.client, LOGGER, "1", { "no.such" }).root)
  end)

  it("takes each level that the log has, at once", function()
    for _, wanted in ipairs { "ERROR", "WARN", "INFO", "DEBUG" } do
      assert.equal(0, change("1", { { "root", SET, wanted } }))
      assert.equal(wanted, level())
    end
    assert.is_truthy(here.broker:log():find("the log's level is set to DEBUG", 1, true))
  end)

  it("is not changed where only validation is asked for, and forgets its level with the process", function()
    assert.equal(0, change("1", { { "root", SET, "DEBUG" } }, { validate_only = true }))
    assert.equal("INFO", level())
    assert.equal(0, change("+1", { { "root", SET, "WARN" } }))
    here.client:close()
    here.broker:stop()
    here.broker = here.broker:restart()
    here.client = here.broker:connect()
    assert.equal("INFO", level())
  end)

  for _, wrong in ipairs { "LOUD", "TRACE", "FATAL", "OFF", "info", "" } do
    it(("refuses the level %q, which it does not have"):format(wrong), function()
      assert.same({ 40, ("Cannot set the log level of root to %s as it is not a supported log level. "
        .. "Valid log levels are DEBUG, ERROR, INFO, WARN"):format(wrong) }, { change("1", { { "root", SET, wrong } }) })
    end)
  end

  it("refuses other loggers, other brokers and other operations, and then changes nothing", function()
    for _, case in ipairs {
      { 40, "Logger no.such does not exist!", "1", { { "root", SET, "WARN" }, { "no.such", SET, "DEBUG" } } },
      { 40, "Logger no.such does not exist!", "1", { { "no.such", DELETE } } },
      { 40, "Logger  does not exist!", "1", { { "", SET, "DEBUG" } } },
      { 42, "Removing the log level of the root logger is not allowed", "1", { { "root", DELETE } } },
      { 42, "APPEND operation is not allowed for the BROKER_LOGGER resource", "1", { { "root", APPEND, "INFO" } } },
      { 42, "Unknown operation type 9 is not allowed for the BROKER_LOGGER resource", "1", { { "root", 9, "INFO" } } },
      { 42, "Null value not supported for : root", "1", { { "root", SET } } },
      { 42, "Unexpected node id. Expected 1, but received 5", "5", { { "root", SET, "WARN" } } },
      { 42, "Node id must be an integer, but it is: ", "", { { "root", SET, "WARN" } } },
      { 42, "Node id must be an integer, but it is: x", "x", { { "root", SET, "WARN" } } },
    } do
      assert.same({ case[1], case[2] }, { change(case[3], case[4]) })
    end
    assert.equal("INFO", level())
    assert.equal(0, change("1", {}))
  end)
end)
