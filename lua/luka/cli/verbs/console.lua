-- SPDX-License-Identifier: Apache-2.0
-- The description of `luka console`.
local verbs = require "luka.cli.verbs"

---@type luka.Verb
return {
  summary = "explore and administer a running broker in Lua",
  text = {
    "Opens a prompt inside the broker that runs with this configuration, by the Unix socket that its key console names. "
      .. "What is typed is Lua; `help()` lists the words. Only the user who runs the broker, and root, can open it.",
    "With -e, or when standard input is no terminal, it evaluates, prints and ends. On a terminal, results are tables; "
      .. "with --json, and through a pipe where JSON was asked for, one JSON object a line.",
  },
  arguments = { verbs.CONSOLE },
  options = {
    { name = "eval", short = "e", value = "LUA", text = "evaluate this, print the results and end" },
    verbs.JSON,
    verbs.SET,
  },
  statuses = {
    { 0, "done" },
    { 1, "there is no broker, or what was evaluated raised an error" },
    { 2, "wrong command line or configuration" },
  },
  examples = {
    { "A prompt", "luka console" },
    { "For a script", "luka console --json -e 'topics()'" },
    { "A broker elsewhere on this machine", "luka console /var/lib/luka/console.sock" },
  },
}
