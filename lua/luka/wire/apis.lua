-- SPDX-License-Identifier: Apache-2.0
-- The files of core/wire/schema that the program's Lua side speaks; the build embeds them as luka.wire.schema.<name>
-- (scripts/generate/embed.lua reads this list).
return {
  "alter_replica_log_dirs",
  "api_versions",
  "create_partitions",
  "create_topics",
  "delete_records",
  "delete_topics",
  "describe_cluster",
  "describe_configs",
  "describe_log_dirs",
  "describe_producers",
  "fetch",
  "header",
  "incremental_alter_configs",
  "list_offsets",
  "metadata",
  "produce",
}
