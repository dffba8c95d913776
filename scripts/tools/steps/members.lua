-- SPDX-License-Identifier: Apache-2.0
-- kafka-consumer-groups on groups with members: verifiable consumers that run beside it.
local ASSIGNED = '"name":"partitions_assigned","partitions":\\[\\{'

--- How many records come together is a matter of time.
local HIDDEN = '"name":"records_consumed"'

local function consumer(group, words)
  return "--topic shared --group-id " .. group .. " " .. words
end

return {
  { "a topic", "topics", "--create --topic shared --partitions 3" },
  { "records", "verifiable-producer", "--topic shared --max-messages 9 --repeating-keys 9", sorted = true },
  { "a member", "verifiable-consumer", consumer("crew", "--enable-autocommit"), wait = ASSIGNED },
  { "list", "consumer-groups", "--list --type --state", until_said = "crew .*Stable" },
  { "describe members", "consumer-groups", "--describe --group crew --members" },
  { "describe members, verbose", "consumer-groups", "--describe --group crew --members --verbose" },
  { "describe the state", "consumer-groups", "--describe --group crew --state" },
  { "describe the state, verbose", "consumer-groups", "--describe --group crew --state --verbose" },
  { "reset under a member", "consumer-groups", "--reset-offsets --group crew --all-topics --to-earliest --execute" },
  { "delete under a member", "consumer-groups", "--delete --group crew" },
  { "delete offsets under a member", "consumer-groups", "--delete-offsets --group crew --topic shared" },
  { "stop the member", stop = "a member", hidden = HIDDEN },
  { "describe without members", "consumer-groups", "--describe --group crew" },

  { "a static member", "verifiable-consumer", consumer("staff", "--group-instance-id one --session-timeout 10000"
    .. " --assignment-strategy org.apache.kafka.clients.consumer.RoundRobinAssignor"), wait = '"records_consumed"' },
  { "describe the static member", "consumer-groups", "--describe --group staff --members --verbose" },
  { "describe its state", "consumer-groups", "--describe --group staff --state" },
  { "stop the static member", stop = "a static member", hidden = HIDDEN },
  { "describe it while it is away", "consumer-groups", "--describe --group staff --members" },

  { "a modern member", "verifiable-consumer", consumer("guild", "--group-protocol CONSUMER --enable-autocommit"), wait = ASSIGNED },
  { "list modern groups", "consumer-groups", "--list --type consumer --state", until_said = "guild .*Stable" },
  { "describe modern members", "consumer-groups", "--describe --group guild --members" },
  { "describe modern members, verbose", "consumer-groups", "--describe --group guild --members --verbose" },
  { "describe a modern state", "consumer-groups", "--describe --group guild --state" },
  { "describe a modern state, verbose", "consumer-groups", "--describe --group guild --state --verbose" },
  { "reset under a modern member", "consumer-groups", "--reset-offsets --group guild --all-topics --to-earliest --execute" },
  { "delete under a modern member", "consumer-groups", "--delete --group guild" },
  { "stop the modern member", stop = "a modern member", hidden = HIDDEN },
  { "describe without modern members", "consumer-groups", "--describe --group guild --state" },
}
