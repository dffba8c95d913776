-- SPDX-License-Identifier: Apache-2.0
-- The description of `luka dump`.
local verbs = require "luka.cli.verbs"

local EXACT_MAX = 2 ^ 53

---@type luka.Verb
return {
  summary = "print or verify the files of a log directory",
  text = {
    "Prints what is in the files of a partition or of a data directory, Luka's own and Apache Kafka's: batches and records "
      .. "of segments (.log, also .deleted, .cleaned, .swap and .cut), entries of .index, .timeindex, .txnindex and "
      .. ".snapshot, leader epochs, checkpoints, ids. A folder stands for the files in it, and in the folders in it. "
      .. "Nothing is changed, and no broker is needed.",
    "Segments are read a batch at a time, so they may be of any size. What is wrong is printed with its position in the "
      .. "file; all else is printed just the same, and the exit status is 1.",
    "With --verify it prints a line for each file instead, and lines for what is wrong: CRCs, records that cannot be read, "
      .. "offsets that do not follow each other, index entries that do not fit the segment. The metadata, luka.mdb, is not "
      .. "looked at: a broker does that when it starts.",
  },
  arguments = {
    { name = "FILE", is_repeatable = true, complete = "file", text = "a file or a folder" },
  },
  options = {
    { name = "records", short = "r", text = "print the records, too" },
    { name = "offset", short = "o", value = "OFFSET", kind = "integer", min = 0, max = EXACT_MAX,
      text = "begin with the batch, record or entry at this offset, or the first one behind" },
    { name = "count", short = "c", value = "COUNT", kind = "integer", min = 1, max = EXACT_MAX,
      text = "print at most so many batches of each file, or records with --records, or entries" },
    { name = "verify", text = "look whether the files are right" },
    verbs.JSON,
  },
  statuses = {
    { 0, "done, and nothing is wrong" },
    { 1, "something is wrong with a file, or it could not be read" },
    { 2, "wrong command line" },
  },
  examples = {
    { "The batches of a segment", "luka dump data/clicks-0/00000000000000000000.log" },
    { "Ten records from offset 500 on", "luka dump -r -o 500 -c 10 data/clicks-0/00000000000000000000.log" },
    { "Whether a partition is right", "luka dump --verify data/clicks-0" },
    { "Which producers a snapshot knows, for a program", "luka dump --json data/clicks-0/00000000000000001920.snapshot" },
  },
}
