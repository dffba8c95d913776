-- SPDX-License-Identifier: Apache-2.0
-- kafka-consumer-groups: groups without members, which console and verifiable consumers have left behind; where their
-- offsets are set to; and how __consumer_offsets is shown.
local function reset(words) return "--reset-offsets --group readers " .. words end

--- Where a group's records lie: the absolute of what Java hashes its name to, modulo 50 partitions.
local function records_of(group, count, formatter)
  local hash = 0
  for at = 1, #group do hash = (hash * 31 + group:byte(at)) % 2 ^ 32 end
  return ("--topic __consumer_offsets --partition %d --offset earliest --max-messages %d --formatter "
    .. "org.apache.kafka.tools.consumer.%sMessageFormatter"):format(math.min(hash, 2 ^ 32 - hash) % 50, count, formatter)
end

-- The verifiable producer gives keys 0, 1, 2, ... in turn.
return {
  { "a topic", "topics", "--create --topic read --partitions 3 --config retention.ms=-1" },
  { "another topic", "topics", "--create --topic also.read --partitions 1 --config retention.ms=-1" },
  { "old records", "verifiable-producer",
    "--topic read --max-messages 20 --repeating-keys 10 --message-create-time 1600000000000", sorted = true },
  { "records", "verifiable-producer",
    "--topic read --max-messages 10 --repeating-keys 10 --message-create-time 1700000000000", sorted = true },
  { "other records", "verifiable-producer", "--topic also.read --max-messages 5 --message-create-time 1700000000000" },
  { "list no groups", "consumer-groups", "--list" },
  { "describe no groups", "consumer-groups", "--describe --all-groups" },
  { "consume", "console-consumer", "--topic read --group readers --from-beginning --max-messages 30 --timeout-ms 10000",
    sorted = true },
  { "consume the rest", "console-consumer", "--topic read --group readers --timeout-ms 1000" },
  { "consume another topic", "console-consumer", "--topic also.read --group readers --from-beginning --max-messages 5"
    .. " --timeout-ms 10000" },
  { "consume by pattern", "console-consumer", { "--include", ".*read", "--group", "all-readers", "--from-beginning",
    "--max-messages", "35", "--timeout-ms", "20000" }, sorted = true },
  { "consume with the consumer protocol", "console-consumer", "--topic read --group modern --from-beginning"
    .. " --max-messages 30 --timeout-ms 10000 --command-property group.protocol=consumer", sorted = true },
  { "verifiable consumer", "verifiable-consumer", "--topic also.read --group-id verified --max-messages 5 --verbose" },

  { "list", "consumer-groups", "--list", sorted = true },
  { "list states", "consumer-groups", "--list --state", sorted = true },
  { "list by state", "consumer-groups", "--list --state stable,empty", sorted = true },
  { "list by a state that no group is in", "consumer-groups", "--list --state dead" },
  { "list by an unknown state", "consumer-groups", "--list --state sleepy" },
  { "list types", "consumer-groups", "--list --type", sorted = true },
  { "list by type", "consumer-groups", "--list --type classic", sorted = true },
  { "list by the other type", "consumer-groups", "--list --type consumer" },
  { "list by an unknown type", "consumer-groups", "--list --type modern" },
  { "list types and states", "consumer-groups", "--list --type --state", sorted = true },
  { "list by type and state", "consumer-groups", "--list --type consumer --state empty" },
  { "describe", "consumer-groups", "--describe --group readers" },
  { "describe offsets", "consumer-groups", "--describe --group readers --offsets --verbose" },
  { "describe members", "consumer-groups", "--describe --group readers --members" },
  { "describe members, verbose", "consumer-groups", "--describe --group readers --members --verbose" },
  { "describe the state", "consumer-groups", "--describe --group readers --state" },
  { "describe the state, verbose", "consumer-groups", "--describe --group readers --state --verbose" },
  { "describe a modern group", "consumer-groups", "--describe --group modern" },
  { "describe a modern group's offsets", "consumer-groups", "--describe --group modern --offsets --verbose" },
  { "describe a modern group's members", "consumer-groups", "--describe --group modern --members --verbose" },
  { "describe a modern group's state", "consumer-groups", "--describe --group modern --state --verbose" },
  { "describe two groups", "consumer-groups", "--describe --group readers --group verified --state" },
  { "describe a group that is not there", "consumer-groups", "--describe --group nobody" },
  { "describe its state", "consumer-groups", "--describe --group nobody --state" },
  { "describe its members", "consumer-groups", "--describe --group nobody --members" },
  { "describe without a group", "consumer-groups", "--describe" },
  { "describe both members and state", "consumer-groups", "--describe --group readers --members --state" },

  { "reset without a mode", "consumer-groups", reset "--all-topics" },
  { "reset without topics", "consumer-groups", reset "--to-earliest" },
  { "reset in two modes", "consumer-groups", reset "--all-topics --to-earliest --to-latest" },
  { "reset to the earliest, dry run", "consumer-groups", reset "--all-topics --to-earliest --dry-run" },
  { "reset to the earliest, dry run by default", "consumer-groups", reset "--topic read --to-earliest" },
  { "reset to the earliest", "consumer-groups", reset "--topic read --to-earliest --execute" },
  { "describe after that", "consumer-groups", "--describe --group readers" },
  { "reset to the latest", "consumer-groups", reset "--all-topics --to-latest --execute" },
  { "reset to an offset", "consumer-groups", reset "--topic read:0,1 --to-offset 4 --execute" },
  { "reset to an offset beyond the end", "consumer-groups", reset "--topic read:0 --to-offset 1000 --execute" },
  { "reset to an offset below the start", "consumer-groups", reset "--topic read:0 --to-offset -5 --dry-run" },
  { "reset by a shift", "consumer-groups", reset "--topic read --shift-by -2 --execute" },
  { "reset by a shift beyond the start", "consumer-groups", reset "--topic read --shift-by -1000 --execute" },
  { "reset by a shift beyond the end", "consumer-groups", reset "--topic read:1 --shift-by 1000 --execute" },
  { "reset by a duration", "consumer-groups", reset "--all-topics --by-duration PT1H --execute" },
  { "reset by a long duration", "consumer-groups", reset "--all-topics --by-duration P40000D --execute", sorted = true },
  { "reset by what is no duration", "consumer-groups", reset "--all-topics --by-duration hour" },
  { "reset to a time", "consumer-groups", reset "--topic read --to-datetime 2022-01-01T00:00:00.000Z --execute" },
  { "reset to a time of another zone", "consumer-groups", reset "--topic read --to-datetime 2022-01-01T02:00:00.000+02:00 --dry-run" },
  { "reset to a time to come", "consumer-groups", reset "--topic read --to-datetime 2100-01-01T00:00:00.000Z --dry-run" },
  { "reset to what is no time", "consumer-groups", reset "--topic read --to-datetime noon" },
  { "reset to the current offset", "consumer-groups", reset "--all-topics --to-current --execute" },
  { "export", "consumer-groups", reset "--all-topics --to-current --export" },
  { "export to the earliest, dry run", "consumer-groups", reset "--all-topics --to-earliest --export --dry-run" },
  { "reset from a file", "consumer-groups", reset "--from-file @offsets --execute",
    files = { offsets = "read,0,1\nread,1,2\nalso.read,0,3\n" } },
  { "reset from a file with groups", "consumer-groups", "--reset-offsets --group readers --group verified --from-file @offsets --dry-run",
    files = { offsets = "readers,read,0,5\nverified,also.read,0,1\n" } },
  { "reset from a bad file", "consumer-groups", reset "--from-file @offsets --dry-run", files = { offsets = "read,first,1\n" } },
  { "reset a topic that is not there", "consumer-groups", reset "--topic nothing --to-earliest --execute" },
  { "reset a partition that is not there", "consumer-groups", reset "--topic read:7 --to-earliest --execute" },
  { "reset a group that is not there", "consumer-groups",
    "--reset-offsets --group newcomers --topic read --to-offset 3 --execute" },
  { "describe a group that was made by it", "consumer-groups", "--describe --group newcomers" },
  { "its state", "consumer-groups", "--describe --group newcomers --state" },
  { "reset all groups", "consumer-groups", "--reset-offsets --all-groups --topic also.read --to-offset 2 --execute", sorted = true },
  { "reset without a group", "consumer-groups", "--reset-offsets --all-topics --to-earliest" },
  { "describe after all that", "consumer-groups", "--describe --group readers" },

  { "delete offsets", "consumer-groups", "--delete-offsets --group readers --topic read:0" },
  { "delete offsets of topics", "consumer-groups", "--delete-offsets --group readers --topic read --topic also.read" },
  { "delete offsets of a topic that is not there", "consumer-groups", "--delete-offsets --group readers --topic nothing" },
  { "delete offsets of a group that is not there", "consumer-groups", "--delete-offsets --group nobody --topic read" },
  { "describe after that deletion", "consumer-groups", "--describe --group readers" },
  { "delete a group", "consumer-groups", "--delete --group verified" },
  { "delete groups", "consumer-groups", "--delete --group newcomers --group all-readers", sorted = true },
  { "delete a group that is not there", "consumer-groups", "--delete --group nobody" },
  { "delete one that is there and one that is not", "consumer-groups", "--delete --group modern --group nobody" },
  { "list what is left", "consumer-groups", "--list", sorted = true },
  { "check a pattern", "consumer-groups", { "--validate-regex", "read.*", }, bare = true },
  { "check a bad pattern", "consumer-groups", { "--validate-regex", "(read" }, bare = true },
  { "two actions", "consumer-groups", "--list --describe" },
  { "no action", "consumer-groups", "" },

  -- Offsets that are deleted together are deleted in no order. Of a group that is deleted Kafka also deletes a record
  -- that was never written, at the end: it is not read here.
  { "offsets in __consumer_offsets", "console-consumer", records_of("readers", 50, "Offsets"), sorted = true },
  { "group in __consumer_offsets", "console-consumer", records_of("readers", 50, "GroupMetadata") },
  { "offsets of a group that was made by a reset", "console-consumer", records_of("newcomers", 8, "Offsets"), sorted = true },
  { "offsets of a modern group", "console-consumer", records_of("modern", 20, "Offsets"), sorted = true },
}
