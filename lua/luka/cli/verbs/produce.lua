-- SPDX-License-Identifier: Apache-2.0
-- The description of `luka produce`.
local client = require "luka.cli.client"

local options = {
  { name = "key-separator", short = "k", value = "TEXT", text = "a line is a key, this and a value; a line without it is a "
    .. "value with no key. \\t, \\n, \\0 and \\xNN are understood" },
  { name = "partition", short = "p", value = "NUMBER", kind = "integer", min = 0, max = 2147483647,
    text = "write to this partition; by default the key decides, as with Kafka's own clients" },
  { name = "header", short = "H", value = "NAME=VALUE", kind = "setting", is_repeatable = true,
    text = "a header of every record" },
  { name = "compression", short = "z", value = "CODEC", kind = "choice", choices = { "none", "gzip", "snappy", "lz4", "zstd" },
    text = "none, the default, gzip, snappy, lz4 or zstd" },
  { name = "acks", short = "a", value = "ACKS", kind = "choice", choices = { "all", "0", "1" },
    text = "which replicas have to have a record before it counts: all, the default, 1 (the leader) or 0 (none)" },
  { name = "null", text = "an empty value is null: a tombstone in a compacted topic" },
}
for _, option in ipairs(client.OPTIONS) do options[#options + 1] = option end

---@type luka.Verb
return {
  summary = "write lines to a topic",
  text = {
    "Writes each line of the files, or of standard input, as a record of the topic. The newline is not part of it; a last "
      .. "line without one counts. Lines are bytes and need not be text. It works with any cluster that speaks Kafka's "
      .. "protocol, and needs librdkafka (Debian package librdkafka1).",
    "A record that is not delivered is reported with the number of its line, and the exit status is 1. Ctrl-C ends the "
      .. "reading and delivers what was read; a second one gives that up. On a terminal, a line on standard error shows "
      .. "how far it is.",
  },
  arguments = {
    { name = "TOPIC", complete = "topic", text = "where to" },
    { name = "FILE", is_optional = true, is_repeatable = true, complete = "file", text = "files to read; - is standard input" },
  },
  options = options,
  statuses = {
    { 0, "all records were delivered" },
    { 1, "some were not, or the topic, a file or the cluster cannot be reached" },
    { 2, "wrong command line" },
    { 130, "ended by Ctrl-C" },
  },
  examples = {
    { "One record", "echo hello | luka produce greetings" },
    { "Keys and values with a tab between, compressed", "luka produce -k '\\t' -z lz4 clicks clicks.tsv" },
    { "A tombstone for a key", "echo user-17: | luka produce -k : --null users" },
    { "To another cluster, over TLS", "luka produce -b kafka.example.com:9093 -X security.protocol=SSL clicks clicks.txt" },
  },
}
