-- SPDX-License-Identifier: Apache-2.0
-- The description of `luka help`.

---@type luka.Verb
return {
  summary = "print this, or the help of a verb or a key of config.lua",
  text = {
    "Prints what luka can do, or all about a verb: arguments, options, examples and exit statuses. Of a key of a "
      .. "configuration it says what it does, what it takes, with its unit, what holds without it and when a new value counts. "
      .. "Keys may be written as in config.lua (retention_ms) or as Kafka has them (retention.ms).",
  },
  arguments = {
    { name = "VERB|KEY|BLOCK", is_optional = true, complete = "help",
      text = "what to explain; broker, defaults and topic stand for all keys of that block" },
  },
  options = {},
  statuses = { { 0, "printed" }, { 1, "could not be printed" }, { 2, "wrong command line, or nothing of that name" } },
  examples = {
    { "All about the console", "luka help console" },
    { "How long records are kept", "luka help retention_ms" },
    { "What can be said about topics", "luka help topic" },
  },
}
