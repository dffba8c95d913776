-- SPDX-License-Identifier: Apache-2.0
-- The description of `luka produce`.
local verbs = require "luka.cli.verbs"

---@type luka.Verb
return {
  summary = "write lines of standard input to a topic",
  text = { "Writes each line of standard input as a record." },
  arguments = { { name = "TOPIC", complete = "topic", text = "where to" } },
  options = {},
  statuses = verbs.STATUSES,
  examples = { { "One record", "echo hello | luka produce greetings" } },
}
