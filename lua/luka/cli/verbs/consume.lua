-- SPDX-License-Identifier: Apache-2.0
-- The description of `luka consume`.
local client = require "luka.cli.client"

local EXACT_MAX = 2 ^ 53

local options = {
  { name = "from", short = "o", value = "PLACE", text = "where to begin: earliest or beginning (the default); latest or end: "
    .. "what comes from now on; an offset; -N: the last N records of each partition; a time, 2026-01-31, 2026-01-31T12:00:00Z or @MS since "
    .. "1970: the first record from then on" },
  { name = "count", short = "c", value = "COUNT", kind = "integer", min = 1, max = EXACT_MAX, text = "end after so many records" },
  { name = "exit", short = "e", text = "end when all that is there was printed; with --group, also when its other members have "
    .. "all partitions" },
  { name = "partition", short = "p", value = "NUMBER", kind = "integer", min = 0, max = 2147483647,
    text = "read this partition only" },
  { name = "group", short = "g", value = "NAME",
    text = "read as a member of this consumer group: its members share the partitions, it goes on where it was, and "
      .. "what was printed is committed; --from, earliest or latest, says where to begin what it has not read yet" },
  { name = "format", short = "f", value = "FORMAT", text = "how a record is printed, in kcat's manner: %t topic, %p "
    .. "partition, %o offset, %k key, %s value, %K and %S their lengths (-1: null), %h headers, %T timestamp in ms, %% a "
    .. "percent sign, and \\n, \\t, \\0, \\xNN; by default %s\\n" },
  { name = "json", text = "print JSON, an object a record: topic, partition, offset, timestamp, key, value, headers. Bytes "
    .. "that are no UTF-8 are in key_base64 and value_base64 instead" },
}
for _, option in ipairs(client.OPTIONS) do options[#options + 1] = option end

---@type luka.Verb
return {
  summary = "print the records of a topic",
  text = {
    "Prints the value of each record and a newline; other forms with --format and --json. It reads all partitions, and "
      .. "goes on with what comes in until Ctrl-C; with --group it shares them with the other members of a consumer group. "
      .. "Records of one partition are in order. It works with any cluster that speaks Kafka's protocol, and needs "
      .. "librdkafka (Debian package librdkafka1).",
    "On a terminal, control characters in keys, values and headers are shown as \\xNN, so that nothing in a record can do "
      .. "anything to it; elsewhere the bytes are as they are.",
    "When standard output is no terminal and standard error is one, a line there shows how far it is.",
  },
  arguments = { { name = "TOPIC", complete = "topic", text = "where from" } },
  options = options,
  statuses = {
    { 0, "done: --count or --exit ended it" },
    { 1, "the topic or the cluster cannot be read, nobody reads the output any more, or the group left no partition for --exit" },
    { 2, "wrong command line" },
    { 130, "ended by Ctrl-C" },
  },
  examples = {
    { "What is there and what comes in", "luka consume greetings" },
    { "The last 10 records of each partition, for jq", "luka consume -o -10 -e --json clicks | jq .value" },
    { "Keys and values since a day", "luka consume -o 2026-01-31 -e -f '%k\\t%s\\n' clicks" },
    { "As a member of a group: what is printed is not printed again", "luka consume -g reports clicks" },
    { "How many records there are", "luka consume -e -f '\\n' clicks | wc -l" },
  },
}
