-- SPDX-License-Identifier: Apache-2.0
-- The description of `luka version`.

---@type luka.Verb
return {
  summary = "print the version",
  text = { "Prints the version of Luka and of LuaJIT." },
  arguments = {},
  options = {},
  statuses = { { 0, "printed" }, { 1, "could not be printed" }, { 2, "wrong command line" } },
  examples = {},
}
