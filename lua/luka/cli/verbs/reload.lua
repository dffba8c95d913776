-- SPDX-License-Identifier: Apache-2.0
-- The description of `luka reload`.
local verbs = require "luka.cli.verbs"

---@type luka.Verb
return {
  summary = "have a running broker read its configuration again",
  text = {
    "Has the broker evaluate the configuration file that it was started with again, with the --set that it was started "
      .. "with, and prints a line for each thing that is other than before: `applied`, `needs restart` for what is read at "
      .. "the start only, `kept` for what clients have changed since. All of it is applied, or with an error in it, which is "
      .. "printed on standard error, nothing is. `luka check` shows what a configuration says before it is applied.",
    "The argument and --set only say which broker is meant, by the socket of its console, as with `luka console`; without "
      .. "them it is the broker of ./config.lua where that file exists, otherwise one that was started here without a "
      .. "configuration. SIGHUP, and `reload()` in the console, do the same; SIGHUP reports in the broker's log.",
  },
  arguments = { verbs.CONSOLE },
  options = { verbs.JSON, verbs.SET },
  statuses = {
    { 0, "applied, though some of it may need a restart" },
    { 1, "there is no broker, or it could not apply it" },
    { 2, "wrong command line, or a configuration that was refused: nothing has changed" },
  },
  examples = {
    { "After an edit of config.lua", "luka check config.lua && luka reload config.lua" },
    { "What needs a restart", "luka reload --json | grep 'needs restart'" },
  },
}
