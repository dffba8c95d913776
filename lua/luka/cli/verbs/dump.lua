-- SPDX-License-Identifier: Apache-2.0
-- The description of `luka dump`.
local verbs = require "luka.cli.verbs"

---@type luka.Verb
return {
  summary = "print what is in the files of a partition",
  text = {
    "Prints batches and records of segments, and the entries of indexes, transaction indexes and snapshots; of Luka's "
      .. "own as of Apache Kafka's. Nothing is changed, and no broker is needed.",
  },
  arguments = {
    { name = "FILE", is_repeatable = true, complete = "file", text = ".log, .index, .timeindex, .txnindex or .snapshot" },
  },
  options = { verbs.JSON },
  statuses = verbs.STATUSES,
  examples = { { "A segment", "luka dump data/clicks-0/00000000000000000000.log" } },
}
