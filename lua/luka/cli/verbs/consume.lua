-- SPDX-License-Identifier: Apache-2.0
-- The description of `luka consume`.
local verbs = require "luka.cli.verbs"

---@type luka.Verb
return {
  summary = "print the records of a topic",
  text = { "Prints the value of each record as a line." },
  arguments = { { name = "TOPIC", complete = "topic", text = "where from" } },
  options = { verbs.JSON },
  statuses = verbs.STATUSES,
  examples = { { "What comes in", "luka consume greetings" } },
}
