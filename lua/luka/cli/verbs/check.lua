-- SPDX-License-Identifier: Apache-2.0
-- The description of `luka check`.
local verbs = require "luka.cli.verbs"

---@type luka.Verb
return {
  summary = "check a configuration, start nothing",
  text = {
    "Evaluates a configuration as `serve` would and prints what would be applied. Nothing is started or written. Without "
      .. "a file all is default here, too, also where there is a ./config.lua; the last line says so.",
  },
  arguments = { verbs.CONFIG },
  options = { verbs.SET, verbs.JSON },
  statuses = {
    { 0, "it is right" },
    { 1, "what would be applied could not be printed" },
    { 2, "wrong command line or configuration" },
  },
  examples = {
    { "Before a reload", "luka check config.lua && luka reload config.lua" },
    { "What topics a configuration has", "luka check --json config.lua" },
  },
}
