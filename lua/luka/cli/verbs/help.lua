-- SPDX-License-Identifier: Apache-2.0
-- The description of `luka help`.

---@type luka.Verb
return {
  summary = "print this, or the help of a verb",
  text = { "Prints what luka can do." },
  arguments = { { name = "VERB", is_optional = true, complete = "verb", text = "what to explain" } },
  options = {},
  statuses = { { 0, "printed" }, { 1, "could not be printed" }, { 2, "wrong command line, or no such verb" } },
  examples = { { "All about the console", "luka help console" } },
}
