-- SPDX-License-Identifier: Apache-2.0
-- The description of `luka console`.
local verbs = require "luka.cli.verbs"

---@type luka.Verb
return {
  summary = "explore and administer a running broker in Lua",
  text = {
    "Opens a prompt inside the broker that runs with this configuration, by the Unix socket that its key console names. "
      .. "What is typed is Lua; `help()` lists the words. Only the user who runs the broker, and root, can open it.",
    "Without an argument it is the broker of ./config.lua where that file exists, otherwise one that was started here without "
      .. "a configuration.",
    "At the prompt, Tab completes, the arrow keys and Ctrl-R go through what was typed before, an expression that is not "
      .. "complete goes on in the next line, Ctrl-C stops what runs, Ctrl-D leaves. What is longer than the screen is shown in "
      .. "$LUKA_PAGER, $PAGER or less. Words that destroy something ask first.",
    "With -e, or when standard input is no terminal, it evaluates, prints and ends, and asks nothing. All of standard "
      .. "input is one piece of Lua, unlike the lines of a prompt: what it returns is shown, or what it is, where it is one "
      .. "expression; print() shows more. Results are aligned tables, on a terminal with sizes, durations and times as people "
      .. "read them; with --json they are JSON, one object a line, and what print() writes goes to standard error.",
  },
  arguments = { verbs.CONSOLE },
  options = {
    { name = "eval", short = "e", value = "LUA", is_repeatable = true,
      text = "evaluate this, print the results and end; several are evaluated in turn, up to the first error" },
    verbs.JSON,
    verbs.SET,
  },
  statuses = {
    { 0, "done" },
    { 1, "there is no broker, or what was evaluated raised an error" },
    { 2, "wrong command line or configuration" },
    { 130, "left by Ctrl-C" },
  },
  examples = {
    { "A prompt", "luka console" },
    { "For a script", "luka console --json -e 'topics()'" },
    { "A broker elsewhere on this machine", "luka console /var/lib/luka/console.sock" },
  },
  files = {
    { "~/.local/state/luka/history", "what was typed before; below $XDG_STATE_HOME where that is set, or where $LUKA_HISTORY says" },
    { "~/.editrc", "keys of the line editor, see editrc(5)" },
  },
}
