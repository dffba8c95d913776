-- SPDX-License-Identifier: Apache-2.0
-- The description of `luka reload`.
local verbs = require "luka.cli.verbs"

---@type luka.Verb
return {
  summary = "have a running broker read its configuration again",
  text = {
    "Has the broker evaluate its own configuration file again and prints what was applied, what needs a restart and what "
      .. "was refused. All of it is applied, or with an error none. SIGHUP does the same, and logs the report.",
  },
  arguments = { verbs.CONSOLE },
  options = { verbs.JSON, verbs.SET },
  statuses = {
    { 0, "applied" },
    { 1, "there is no broker" },
    { 2, "wrong command line, or a configuration that was refused" },
  },
  examples = { { "After an edit", "luka reload config.lua" } },
}
