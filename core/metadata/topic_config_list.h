// SPDX-License-Identifier: Apache-2.0
//
// Every topic config: TOPIC_CONFIG_X(type, field, name, default, min, max, valid texts, broker config that gives the
// default, documentation). Kafka's 37 of version 4.4, sorted by name, then Luka's own. Include with TOPIC_CONFIG_X
// defined; NO_MIN, NO_MAX, VALID and VALID_ANY are those of metadata/config_private.h.

// clang-format off
TOPIC_CONFIG_X(FLAGS, cleanup_policy, "cleanup.policy", "delete", NO_MIN, NO_MAX, VALID("compact", "delete"), "log.cleanup.policy",
  "What happens to old segments: `delete` drops them by age and size, `compact` keeps the newest record of each key; both may be given. Empty: kept for ever.")
TOPIC_CONFIG_X(LEVEL, compression_gzip_level, "compression.gzip.level", "-1", 1, 9, VALID_ANY, "compression.gzip.level",
  "Level used when the broker itself compresses with gzip; -1 is the library's default.")
TOPIC_CONFIG_X(INT, compression_lz4_level, "compression.lz4.level", "9", 1, 17, VALID_ANY, "compression.lz4.level",
  "Level used when the broker itself compresses with lz4.")
TOPIC_CONFIG_X(ENUM, compression_type, "compression.type", "producer", NO_MIN, NO_MAX, VALID("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"), "compression.type",
  "Codec of the stored batches; `producer` keeps each batch as it came.")
TOPIC_CONFIG_X(INT, compression_zstd_level, "compression.zstd.level", "3", -131072, 22, VALID_ANY, "compression.zstd.level",
  "Level used when the broker itself compresses with zstd.")
TOPIC_CONFIG_X(LONG, delete_retention_ms, "delete.retention.ms", "86400000", 0, NO_MAX, VALID_ANY, "log.cleaner.delete.retention.ms",
  "How long a compacted topic keeps the marker of a deleted key, so that slow readers still see the deletion.")
TOPIC_CONFIG_X(BOOL, errors_deadletterqueue_group_enable, "errors.deadletterqueue.group.enable", "false", NO_MIN, NO_MAX, VALID_ANY, NULL,
  "Whether share groups may use this topic as their dead-letter queue.")
TOPIC_CONFIG_X(LONG, file_delete_delay_ms, "file.delete.delay.ms", "60000", 0, NO_MAX, VALID_ANY, "log.segment.delete.delay.ms",
  "How long the files of a dropped segment stay on disk.")
TOPIC_CONFIG_X(LONG, flush_messages, "flush.messages", "9223372036854775807", 1, NO_MAX, VALID_ANY, "log.flush.interval.messages",
  "Force a flush to disk after this many records.")
TOPIC_CONFIG_X(LONG, flush_ms, "flush.ms", "9223372036854775807", 0, NO_MAX, VALID_ANY, "log.flush.interval.ms",
  "Force a flush to disk when records have waited this long.")
TOPIC_CONFIG_X(REPLICAS, follower_replication_throttled_replicas, "follower.replication.throttled.replicas", "", NO_MIN, NO_MAX, VALID_ANY, NULL,
  "Replicas whose catching up is throttled on the follower: partition:broker pairs, or `*`.")
TOPIC_CONFIG_X(INT, index_interval_bytes, "index.interval.bytes", "4096", 0, NO_MAX, VALID_ANY, "log.index.interval.bytes",
  "Bytes of log between two entries of the offset index.")
TOPIC_CONFIG_X(REPLICAS, leader_replication_throttled_replicas, "leader.replication.throttled.replicas", "", NO_MIN, NO_MAX, VALID_ANY, NULL,
  "Replicas whose catching up is throttled on the leader: partition:broker pairs, or `*`.")
TOPIC_CONFIG_X(LONG, local_retention_bytes, "local.retention.bytes", "-2", -2, NO_MAX, VALID_ANY, "log.local.retention.bytes",
  "With tiered storage, bytes of a partition kept on the local disk; -2: as retention.bytes.")
TOPIC_CONFIG_X(LONG, local_retention_ms, "local.retention.ms", "-2", -2, NO_MAX, VALID_ANY, "log.local.retention.ms",
  "With tiered storage, how long segments stay on the local disk; -2: as retention.ms.")
TOPIC_CONFIG_X(LONG, max_compaction_lag_ms, "max.compaction.lag.ms", "9223372036854775807", 1, NO_MAX, VALID_ANY, "log.cleaner.max.compaction.lag.ms",
  "Longest time that a record of a compacted topic may wait to be compacted.")
TOPIC_CONFIG_X(INT, max_decompressed_message_bytes, "max.decompressed.message.bytes", "2147483639", 1, 2147483639, VALID_ANY, "max.decompressed.message.bytes",
  "Largest size of one record once it is decompressed.")
TOPIC_CONFIG_X(INT, max_message_bytes, "max.message.bytes", "1048588", 0, NO_MAX, VALID_ANY, "message.max.bytes",
  "Largest record batch, as it is stored, that the topic accepts.")
TOPIC_CONFIG_X(LONG, message_timestamp_after_max_ms, "message.timestamp.after.max.ms", "3600000", 0, NO_MAX, VALID_ANY, "log.message.timestamp.after.max.ms",
  "How far a record's timestamp may be ahead of the broker's clock.")
TOPIC_CONFIG_X(LONG, message_timestamp_before_max_ms, "message.timestamp.before.max.ms", "9223372036854775807", 0, NO_MAX, VALID_ANY, "log.message.timestamp.before.max.ms",
  "How far a record's timestamp may be behind the broker's clock.")
TOPIC_CONFIG_X(ENUM, message_timestamp_type, "message.timestamp.type", "CreateTime", NO_MIN, NO_MAX, VALID("CreateTime", "LogAppendTime"), "log.message.timestamp.type",
  "Whether records keep the producer's time or get the time of their append.")
TOPIC_CONFIG_X(DOUBLE, min_cleanable_dirty_ratio, "min.cleanable.dirty.ratio", "0.5", 0, 1, VALID_ANY, "log.cleaner.min.cleanable.ratio",
  "Share of a compacted log that must be new before it is compacted again.")
TOPIC_CONFIG_X(LONG, min_compaction_lag_ms, "min.compaction.lag.ms", "0", 0, NO_MAX, VALID_ANY, "log.cleaner.min.compaction.lag.ms",
  "Shortest time that a record stays as it is before it may be compacted away.")
TOPIC_CONFIG_X(INT, min_insync_replicas, "min.insync.replicas", "1", 1, NO_MAX, VALID_ANY, "min.insync.replicas",
  "In-sync replicas that a write with acks=all needs.")
TOPIC_CONFIG_X(BOOL, preallocate, "preallocate", "false", NO_MIN, NO_MAX, VALID_ANY, "log.preallocate",
  "Whether the blocks of a new segment are reserved at once.")
TOPIC_CONFIG_X(LONG, remote_copy_lag_bytes, "remote.copy.lag.bytes", "-1", -1, NO_MAX, VALID_ANY, "log.remote.copy.lag.bytes",
  "With tiered storage, bytes of closed segments that may wait for their upload.")
TOPIC_CONFIG_X(LONG, remote_copy_lag_ms, "remote.copy.lag.ms", "0", -1, NO_MAX, VALID_ANY, "log.remote.copy.lag.ms",
  "With tiered storage, how long a closed segment may wait for its upload.")
TOPIC_CONFIG_X(BOOL, remote_log_copy_disable, "remote.log.copy.disable", "false", NO_MIN, NO_MAX, VALID_ANY, NULL,
  "With tiered storage, stops uploads; what is stored remotely stays readable.")
TOPIC_CONFIG_X(BOOL, remote_log_delete_on_disable, "remote.log.delete.on.disable", "false", NO_MIN, NO_MAX, VALID_ANY, NULL,
  "Whether switching tiered storage off deletes what it stored.")
TOPIC_CONFIG_X(BOOL, remote_storage_enable, "remote.storage.enable", "false", NO_MIN, NO_MAX, VALID_ANY, NULL,
  "Tiered storage for this topic.")
TOPIC_CONFIG_X(LONG, retention_bytes, "retention.bytes", "-1", NO_MIN, NO_MAX, VALID_ANY, "log.retention.bytes",
  "Bytes that a partition keeps before its oldest closed segments go; -1: no limit. The active segment never goes.")
TOPIC_CONFIG_X(LONG, retention_ms, "retention.ms", "604800000", -1, NO_MAX, VALID_ANY, "log.retention.ms",
  "How long closed segments are kept, by their newest timestamp; -1: for ever.")
TOPIC_CONFIG_X(INT, segment_bytes, "segment.bytes", "1073741824", 1048576, NO_MAX, VALID_ANY, "log.segment.bytes",
  "Size at which a segment is closed and a new one begun.")
TOPIC_CONFIG_X(INT, segment_index_bytes, "segment.index.bytes", "10485760", 4, NO_MAX, VALID_ANY, "log.index.size.max.bytes",
  "Largest size of a segment's index; a full one closes the segment.")
TOPIC_CONFIG_X(LONG, segment_jitter_ms, "segment.jitter.ms", "0", 0, NO_MAX, VALID_ANY, "log.roll.jitter.ms",
  "Random part taken off segment.ms, so that partitions do not roll all at once.")
TOPIC_CONFIG_X(LONG, segment_ms, "segment.ms", "604800000", 1, NO_MAX, VALID_ANY, "log.roll.ms",
  "Age at which a segment is closed though it is not full.")
TOPIC_CONFIG_X(BOOL, unclean_leader_election_enable, "unclean.leader.election.enable", "false", NO_MIN, NO_MAX, VALID_ANY, "unclean.leader.election.enable",
  "Whether a replica outside the ISR may become leader as the last resort, losing records.")
TOPIC_CONFIG_X(NAME, luka_partitioner, "luka.partitioner", "none", NO_MIN, NO_MAX, VALID_ANY, NULL,
  "Who chooses the partition of each record, whatever the producer addressed: `none` (the producer), one of `murmur2`, `consistent`, `round_robin`, `sticky`, `header:NAME`, `range:BOUND,...`, or a name given by `policy.partitioner`.")
TOPIC_CONFIG_X(ENUM, luka_producer_type, "luka.producer.type", "async", NO_MIN, NO_MAX, VALID("async", "sync"), "luka.producer.type",
  "When a write is acknowledged: `async` from the page cache, `sync` once it is on the disk of every in-sync replica.")
TOPIC_CONFIG_X(ENUM, luka_validate, "luka.validate", "header", NO_MIN, NO_MAX, VALID("header", "full"), "luka.validate",
  "How compressed batches are checked: by their header, checksum and codec, or record by record after unpacking (`full`).")
TOPIC_CONFIG_X(INT, internal_segment_bytes, "internal.segment.bytes", "0", 0, NO_MAX, VALID_ANY, NULL,
  "As segment.bytes, and not bound to its least value, for tests; 0: segment.bytes holds.")
// clang-format on
