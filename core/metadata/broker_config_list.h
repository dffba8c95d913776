// SPDX-License-Identifier: Apache-2.0
//
// Every Kafka broker config that means something here: BROKER_CONFIG_X(type, field, name, default, min, max, valid
// texts, documentation), sorted by name. Include with BROKER_CONFIG_X defined; the default of NULL means: no value
// unless it is set.

// clang-format off
BROKER_CONFIG_X(BOOL, auto_create_topics_enable, "auto.create.topics.enable", "true", NO_MIN, NO_MAX, VALID_ANY,
  "Whether a metadata request that allows it creates the topics it names.")
BROKER_CONFIG_X(TEXT, broker_rack, "broker.rack", NULL, NO_MIN, NO_MAX, VALID_ANY,
  "Rack of this broker, told to clients.")
BROKER_CONFIG_X(LEVEL, compression_gzip_level, "compression.gzip.level", "-1", 1, 9, VALID_ANY,
  "Default of the topic config of that name.")
BROKER_CONFIG_X(INT, compression_lz4_level, "compression.lz4.level", "9", 1, 17, VALID_ANY,
  "Default of the topic config of that name.")
BROKER_CONFIG_X(ENUM, compression_type, "compression.type", "producer", NO_MIN, NO_MAX, VALID("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
  "Default of the topic config of that name.")
BROKER_CONFIG_X(INT, compression_zstd_level, "compression.zstd.level", "3", -131072, 22, VALID_ANY,
  "Default of the topic config of that name.")
BROKER_CONFIG_X(LONG, connections_max_idle_ms, "connections.max.idle.ms", "600000", NO_MIN, NO_MAX, VALID_ANY,
  "How long a silent connection is kept; negative: for ever.")
BROKER_CONFIG_X(INT, default_replication_factor, "default.replication.factor", "1", 1, 32767, VALID_ANY,
  "Replicas of topics that are created without a number.")
BROKER_CONFIG_X(BOOL, delete_topic_enable, "delete.topic.enable", "true", NO_MIN, NO_MAX, VALID_ANY,
  "Whether topics can be deleted.")
BROKER_CONFIG_X(INT, fetch_max_bytes, "fetch.max.bytes", "57671680", 1024, NO_MAX, VALID_ANY,
  "Most bytes of records in one fetch response, whatever the client asks for.")
BROKER_CONFIG_X(INT, group_consumer_assignment_interval_ms, "group.consumer.assignment.interval.ms", "1000", 0, NO_MAX, VALID_ANY,
  "Default of the group config consumer.assignment.interval.ms.")
BROKER_CONFIG_X(ENUM, group_consumer_assignors, "group.consumer.assignors", "uniform,range", NO_MIN, NO_MAX, VALID("uniform,range", "range,uniform", "uniform", "range"),
  "Assignors of consumer groups, the default one first: uniform, range.")
BROKER_CONFIG_X(INT, group_consumer_heartbeat_interval_ms, "group.consumer.heartbeat.interval.ms", "5000", 1, NO_MAX, VALID_ANY,
  "Default of the group config consumer.heartbeat.interval.ms.")
BROKER_CONFIG_X(INT, group_consumer_max_assignment_interval_ms, "group.consumer.max.assignment.interval.ms", "15000", 0, NO_MAX, VALID_ANY,
  "Most that the group config consumer.assignment.interval.ms may be.")
BROKER_CONFIG_X(INT, group_consumer_max_heartbeat_interval_ms, "group.consumer.max.heartbeat.interval.ms", "15000", 1, NO_MAX, VALID_ANY,
  "Most that the group config consumer.heartbeat.interval.ms may be.")
BROKER_CONFIG_X(INT, group_consumer_max_session_timeout_ms, "group.consumer.max.session.timeout.ms", "60000", 1, NO_MAX, VALID_ANY,
  "Most that the group config consumer.session.timeout.ms may be.")
BROKER_CONFIG_X(INT, group_consumer_max_size, "group.consumer.max.size", "2147483647", 1, NO_MAX, VALID_ANY,
  "Most members of a consumer group.")
BROKER_CONFIG_X(ENUM, group_consumer_migration_policy, "group.consumer.migration.policy", "bidirectional", NO_MIN, NO_MAX, VALID("disabled", "downgrade", "upgrade", "bidirectional"),
  "Whether groups move between the classic and the consumer protocol as members of the other kind join.")
BROKER_CONFIG_X(INT, group_consumer_min_assignment_interval_ms, "group.consumer.min.assignment.interval.ms", "0", 0, NO_MAX, VALID_ANY,
  "Least that the group config consumer.assignment.interval.ms may be.")
BROKER_CONFIG_X(INT, group_consumer_min_heartbeat_interval_ms, "group.consumer.min.heartbeat.interval.ms", "5000", 1, NO_MAX, VALID_ANY,
  "Least that the group config consumer.heartbeat.interval.ms may be.")
BROKER_CONFIG_X(INT, group_consumer_min_session_timeout_ms, "group.consumer.min.session.timeout.ms", "45000", 1, NO_MAX, VALID_ANY,
  "Least that the group config consumer.session.timeout.ms may be.")
BROKER_CONFIG_X(INT, group_consumer_session_timeout_ms, "group.consumer.session.timeout.ms", "45000", 1, NO_MAX, VALID_ANY,
  "Default of the group config consumer.session.timeout.ms.")
BROKER_CONFIG_X(INT, group_initial_rebalance_delay_ms, "group.initial.rebalance.delay.ms", "0", NO_MIN, NO_MAX, VALID_ANY,
  "Milliseconds that the first rebalance of an empty group waits for more members.")
BROKER_CONFIG_X(INT, group_max_session_timeout_ms, "group.max.session.timeout.ms", "1800000", NO_MIN, NO_MAX, VALID_ANY,
  "Largest session timeout that members of classic groups may ask for.")
BROKER_CONFIG_X(INT, group_max_size, "group.max.size", "2147483647", 1, NO_MAX, VALID_ANY,
  "Most members of a classic group.")
BROKER_CONFIG_X(INT, group_min_session_timeout_ms, "group.min.session.timeout.ms", "6000", NO_MIN, NO_MAX, VALID_ANY,
  "Smallest session timeout that members of classic groups may ask for.")
BROKER_CONFIG_X(INT, group_share_assignment_interval_ms, "group.share.assignment.interval.ms", "1000", 0, NO_MAX, VALID_ANY,
  "Default of the group config share.assignment.interval.ms.")
BROKER_CONFIG_X(INT, group_share_delivery_count_limit, "group.share.delivery.count.limit", "5", 2, 10, VALID_ANY,
  "Default of the group config share.delivery.count.limit.")
BROKER_CONFIG_X(INT, group_share_heartbeat_interval_ms, "group.share.heartbeat.interval.ms", "5000", 1, NO_MAX, VALID_ANY,
  "Default of the group config share.heartbeat.interval.ms.")
BROKER_CONFIG_X(INT, group_share_max_assignment_interval_ms, "group.share.max.assignment.interval.ms", "15000", 0, NO_MAX, VALID_ANY,
  "Most that the group config share.assignment.interval.ms may be.")
BROKER_CONFIG_X(INT, group_share_max_delivery_count_limit, "group.share.max.delivery.count.limit", "10", 5, 25, VALID_ANY,
  "Most that the group config share.delivery.count.limit may be.")
BROKER_CONFIG_X(INT, group_share_max_heartbeat_interval_ms, "group.share.max.heartbeat.interval.ms", "15000", 1, NO_MAX, VALID_ANY,
  "Most that the group config share.heartbeat.interval.ms may be.")
BROKER_CONFIG_X(INT, group_share_max_partition_max_record_locks, "group.share.max.partition.max.record.locks", "4000", 2000, 10000, VALID_ANY,
  "Most that the group config share.partition.max.record.locks may be.")
BROKER_CONFIG_X(INT, group_share_max_record_lock_duration_ms, "group.share.max.record.lock.duration.ms", "60000", 30000, 3600000, VALID_ANY,
  "Most that the group config share.record.lock.duration.ms may be.")
BROKER_CONFIG_X(INT, group_share_max_session_timeout_ms, "group.share.max.session.timeout.ms", "60000", 1, NO_MAX, VALID_ANY,
  "Most that the group config share.session.timeout.ms may be.")
BROKER_CONFIG_X(INT, group_share_min_assignment_interval_ms, "group.share.min.assignment.interval.ms", "0", 0, NO_MAX, VALID_ANY,
  "Least that the group config share.assignment.interval.ms may be.")
BROKER_CONFIG_X(INT, group_share_min_delivery_count_limit, "group.share.min.delivery.count.limit", "2", 2, 5, VALID_ANY,
  "Least that the group config share.delivery.count.limit may be.")
BROKER_CONFIG_X(INT, group_share_min_heartbeat_interval_ms, "group.share.min.heartbeat.interval.ms", "5000", 1, NO_MAX, VALID_ANY,
  "Least that the group config share.heartbeat.interval.ms may be.")
BROKER_CONFIG_X(INT, group_share_min_partition_max_record_locks, "group.share.min.partition.max.record.locks", "100", 100, 2000, VALID_ANY,
  "Least that the group config share.partition.max.record.locks may be.")
BROKER_CONFIG_X(INT, group_share_min_record_lock_duration_ms, "group.share.min.record.lock.duration.ms", "15000", 1000, 30000, VALID_ANY,
  "Least that the group config share.record.lock.duration.ms may be.")
BROKER_CONFIG_X(INT, group_share_min_session_timeout_ms, "group.share.min.session.timeout.ms", "45000", 1, NO_MAX, VALID_ANY,
  "Least that the group config share.session.timeout.ms may be.")
BROKER_CONFIG_X(INT, group_share_partition_max_record_locks, "group.share.partition.max.record.locks", "2000", 100, 10000, VALID_ANY,
  "Default of the group config share.partition.max.record.locks.")
BROKER_CONFIG_X(INT, group_share_record_lock_duration_ms, "group.share.record.lock.duration.ms", "30000", 1000, 3600000, VALID_ANY,
  "Default of the group config share.record.lock.duration.ms.")
BROKER_CONFIG_X(INT, group_share_session_timeout_ms, "group.share.session.timeout.ms", "45000", 1, NO_MAX, VALID_ANY,
  "Default of the group config share.session.timeout.ms.")
BROKER_CONFIG_X(INT, group_streams_assignment_interval_ms, "group.streams.assignment.interval.ms", "1000", 0, NO_MAX, VALID_ANY,
  "Default of the group config streams.assignment.interval.ms.")
BROKER_CONFIG_X(LIST, group_streams_assignors, "group.streams.assignors", "sticky", NO_MIN, NO_MAX, VALID_ANY,
  "Assignors for streams groups; the first is the default of the group config streams.assignor.name.")
BROKER_CONFIG_X(INT, group_streams_heartbeat_interval_ms, "group.streams.heartbeat.interval.ms", "5000", 1, NO_MAX, VALID_ANY,
  "Default of the group config streams.heartbeat.interval.ms.")
BROKER_CONFIG_X(INT, group_streams_initial_rebalance_delay_ms, "group.streams.initial.rebalance.delay.ms", "3000", 0, NO_MAX, VALID_ANY,
  "Default of the group config streams.initial.rebalance.delay.ms.")
BROKER_CONFIG_X(INT, group_streams_max_assignment_interval_ms, "group.streams.max.assignment.interval.ms", "15000", 0, NO_MAX, VALID_ANY,
  "Most that the group config streams.assignment.interval.ms may be.")
BROKER_CONFIG_X(INT, group_streams_max_heartbeat_interval_ms, "group.streams.max.heartbeat.interval.ms", "15000", 1, NO_MAX, VALID_ANY,
  "Most that the group config streams.heartbeat.interval.ms may be.")
BROKER_CONFIG_X(INT, group_streams_max_session_timeout_ms, "group.streams.max.session.timeout.ms", "60000", 1, NO_MAX, VALID_ANY,
  "Most that the group config streams.session.timeout.ms may be.")
BROKER_CONFIG_X(INT, group_streams_max_standby_replicas, "group.streams.max.standby.replicas", "2", 0, NO_MAX, VALID_ANY,
  "Most that the group config streams.num.standby.replicas may be.")
BROKER_CONFIG_X(INT, group_streams_min_assignment_interval_ms, "group.streams.min.assignment.interval.ms", "0", 0, NO_MAX, VALID_ANY,
  "Least that the group config streams.assignment.interval.ms may be.")
BROKER_CONFIG_X(INT, group_streams_min_heartbeat_interval_ms, "group.streams.min.heartbeat.interval.ms", "5000", 1, NO_MAX, VALID_ANY,
  "Least that the group config streams.heartbeat.interval.ms may be.")
BROKER_CONFIG_X(INT, group_streams_min_session_timeout_ms, "group.streams.min.session.timeout.ms", "45000", 1, NO_MAX, VALID_ANY,
  "Least that the group config streams.session.timeout.ms may be.")
BROKER_CONFIG_X(INT, group_streams_num_standby_replicas, "group.streams.num.standby.replicas", "0", 0, NO_MAX, VALID_ANY,
  "Default of the group config streams.num.standby.replicas.")
BROKER_CONFIG_X(LIST, group_streams_rack_aware_assignment_tags, "group.streams.rack.aware.assignment.tags", "", NO_MIN, NO_MAX, VALID_ANY,
  "Default of the group config streams.rack.aware.assignment.tags.")
BROKER_CONFIG_X(INT, group_streams_session_timeout_ms, "group.streams.session.timeout.ms", "45000", 1, NO_MAX, VALID_ANY,
  "Default of the group config streams.session.timeout.ms.")
BROKER_CONFIG_X(LONG, log_cleaner_backoff_ms, "log.cleaner.backoff.ms", "15000", 0, NO_MAX, VALID_ANY,
  "How long the log cleaner rests when no log is to be compacted.")
BROKER_CONFIG_X(LONG, log_cleaner_dedupe_buffer_size, "log.cleaner.dedupe.buffer.size", "134217728", NO_MIN, NO_MAX, VALID_ANY,
  "Memory in which the log cleaner notes keys, of all its threads together; 24 bytes a key. Less than 32 KiB for a thread counts as that.")
BROKER_CONFIG_X(LONG, log_cleaner_delete_retention_ms, "log.cleaner.delete.retention.ms", "86400000", 0, NO_MAX, VALID_ANY,
  "Default of delete.retention.ms.")
BROKER_CONFIG_X(BOOL, log_cleaner_enable, "log.cleaner.enable", "true", NO_MIN, NO_MAX, VALID_ANY,
  "Whether topics with cleanup.policy=compact are compacted.")
BROKER_CONFIG_X(DOUBLE, log_cleaner_io_buffer_load_factor, "log.cleaner.io.buffer.load.factor", "0.9", NO_MIN, NO_MAX, VALID_ANY,
  "Share of log.cleaner.dedupe.buffer.size that keys may take; more than 0.9 counts as that.")
BROKER_CONFIG_X(INT, log_cleaner_io_buffer_size, "log.cleaner.io.buffer.size", "524288", 0, NO_MAX, VALID_ANY,
  "Memory through which the log cleaner reads and writes, of all its threads together.")
BROKER_CONFIG_X(DOUBLE, log_cleaner_io_max_bytes_per_second, "log.cleaner.io.max.bytes.per.second", "1.7976931348623157E308", NO_MIN, NO_MAX, VALID_ANY,
  "Most bytes that the log cleaner reads and writes in a second, all its threads together; 0 and less: no limit.")
BROKER_CONFIG_X(LONG, log_cleaner_max_compaction_lag_ms, "log.cleaner.max.compaction.lag.ms", "9223372036854775807", 1, NO_MAX, VALID_ANY,
  "Default of max.compaction.lag.ms.")
BROKER_CONFIG_X(DOUBLE, log_cleaner_min_cleanable_ratio, "log.cleaner.min.cleanable.ratio", "0.5", 0, 1, VALID_ANY,
  "Default of min.cleanable.dirty.ratio.")
BROKER_CONFIG_X(LONG, log_cleaner_min_compaction_lag_ms, "log.cleaner.min.compaction.lag.ms", "0", 0, NO_MAX, VALID_ANY,
  "Default of min.compaction.lag.ms.")
BROKER_CONFIG_X(INT, log_cleaner_threads, "log.cleaner.threads", "1", 0, NO_MAX, VALID_ANY,
  "Threads that compact logs; more than 64 count as so many.")
BROKER_CONFIG_X(FLAGS, log_cleanup_policy, "log.cleanup.policy", "delete", NO_MIN, NO_MAX, VALID("compact", "delete"),
  "Default of cleanup.policy.")
BROKER_CONFIG_X(LONG, log_flush_interval_messages, "log.flush.interval.messages", "9223372036854775807", 1, NO_MAX, VALID_ANY,
  "Default of flush.messages.")
BROKER_CONFIG_X(LONG, log_flush_interval_ms, "log.flush.interval.ms", NULL, NO_MIN, NO_MAX, VALID_ANY,
  "Default of flush.ms; unset: log.flush.scheduler.interval.ms.")
BROKER_CONFIG_X(INT, log_flush_offset_checkpoint_interval_ms, "log.flush.offset.checkpoint.interval.ms", "60000", 0, NO_MAX, VALID_ANY,
  "How often the recovery points are written.")
BROKER_CONFIG_X(LONG, log_flush_scheduler_interval_ms, "log.flush.scheduler.interval.ms", "9223372036854775807", NO_MIN, NO_MAX, VALID_ANY,
  "Default of log.flush.interval.ms; logs are looked at for flush.ms as often as the shortest asks.")
BROKER_CONFIG_X(INT, log_flush_start_offset_checkpoint_interval_ms, "log.flush.start.offset.checkpoint.interval.ms", "60000", 0, NO_MAX, VALID_ANY,
  "How often the log start offsets are written.")
BROKER_CONFIG_X(INT, log_index_interval_bytes, "log.index.interval.bytes", "4096", 0, NO_MAX, VALID_ANY,
  "Default of index.interval.bytes.")
BROKER_CONFIG_X(INT, log_index_size_max_bytes, "log.index.size.max.bytes", "10485760", 4, NO_MAX, VALID_ANY,
  "Default of segment.index.bytes.")
BROKER_CONFIG_X(LONG, log_message_timestamp_after_max_ms, "log.message.timestamp.after.max.ms", "3600000", 0, NO_MAX, VALID_ANY,
  "Default of message.timestamp.after.max.ms.")
BROKER_CONFIG_X(LONG, log_message_timestamp_before_max_ms, "log.message.timestamp.before.max.ms", "9223372036854775807", 0, NO_MAX, VALID_ANY,
  "Default of message.timestamp.before.max.ms.")
BROKER_CONFIG_X(ENUM, log_message_timestamp_type, "log.message.timestamp.type", "CreateTime", NO_MIN, NO_MAX, VALID("CreateTime", "LogAppendTime"),
  "Default of message.timestamp.type.")
BROKER_CONFIG_X(BOOL, log_preallocate, "log.preallocate", "false", NO_MIN, NO_MAX, VALID_ANY,
  "Default of preallocate.")
BROKER_CONFIG_X(LONG, log_retention_bytes, "log.retention.bytes", "-1", NO_MIN, NO_MAX, VALID_ANY,
  "Default of retention.bytes.")
BROKER_CONFIG_X(LONG, log_retention_check_interval_ms, "log.retention.check.interval.ms", "300000", 1, NO_MAX, VALID_ANY,
  "How often old segments are looked for.")
BROKER_CONFIG_X(INT, log_retention_hours, "log.retention.hours", "168", NO_MIN, NO_MAX, VALID_ANY,
  "Default of retention.ms in hours; log.retention.minutes and log.retention.ms win over it.")
BROKER_CONFIG_X(INT, log_retention_minutes, "log.retention.minutes", NULL, NO_MIN, NO_MAX, VALID_ANY,
  "Default of retention.ms in minutes; log.retention.ms wins over it.")
BROKER_CONFIG_X(LONG, log_retention_ms, "log.retention.ms", NULL, NO_MIN, NO_MAX, VALID_ANY,
  "Default of retention.ms; -1: for ever.")
BROKER_CONFIG_X(INT, log_roll_hours, "log.roll.hours", "168", 1, NO_MAX, VALID_ANY,
  "Default of segment.ms in hours; log.roll.ms wins over it.")
BROKER_CONFIG_X(INT, log_roll_jitter_hours, "log.roll.jitter.hours", "0", 0, NO_MAX, VALID_ANY,
  "Default of segment.jitter.ms in hours; log.roll.jitter.ms wins over it.")
BROKER_CONFIG_X(LONG, log_roll_jitter_ms, "log.roll.jitter.ms", NULL, NO_MIN, NO_MAX, VALID_ANY,
  "Default of segment.jitter.ms.")
BROKER_CONFIG_X(LONG, log_roll_ms, "log.roll.ms", NULL, NO_MIN, NO_MAX, VALID_ANY,
  "Default of segment.ms.")
BROKER_CONFIG_X(INT, log_segment_bytes, "log.segment.bytes", "1073741824", 1048576, NO_MAX, VALID_ANY,
  "Default of segment.bytes.")
BROKER_CONFIG_X(LONG, log_segment_delete_delay_ms, "log.segment.delete.delay.ms", "60000", 0, NO_MAX, VALID_ANY,
  "Default of file.delete.delay.ms.")
BROKER_CONFIG_X(ENUM, luka_producer_type, "luka.producer.type", "async", NO_MIN, NO_MAX, VALID("async", "sync"),
  "Default of the topic config of that name.")
BROKER_CONFIG_X(LONG, luka_queued_max_response_bytes, "luka.queued.max.response.bytes", NULL, NO_MIN, NO_MAX, VALID_ANY,
  "Memory of answers that clients have not taken at which no more requests are taken up; 0 or negative: no bound, unset: an eighth of the machine's memory or of the container's limit.")
BROKER_CONFIG_X(ENUM, luka_validate, "luka.validate", "header", NO_MIN, NO_MAX, VALID("header", "full"),
  "Default of the topic config of that name.")
BROKER_CONFIG_X(INT, max_connections, "max.connections", "2147483647", 1, NO_MAX, VALID_ANY,
  "Most connections at a time; further ones wait. Where the limit on open files allows fewer, those beyond it are closed.")
BROKER_CONFIG_X(INT, max_connections_per_ip, "max.connections.per.ip", "2147483647", 0, NO_MAX, VALID_ANY,
  "Most connections of one address; further ones are closed. 0 only with max.connections.per.ip.overrides.")
BROKER_CONFIG_X(TEXT, max_connections_per_ip_overrides, "max.connections.per.ip.overrides", "", NO_MIN, NO_MAX, VALID_ANY,
  "Other limits than max.connections.per.ip for some addresses or hosts: host:count,host:count.")
BROKER_CONFIG_X(INT, max_decompressed_message_bytes, "max.decompressed.message.bytes", "2147483639", 1, 2147483639, VALID_ANY,
  "Default of the topic config of that name.")
BROKER_CONFIG_X(INT, max_incremental_fetch_session_cache_slots, "max.incremental.fetch.session.cache.slots", "1000", 0, NO_MAX, VALID_ANY,
  "Most fetch sessions kept at a time.")
BROKER_CONFIG_X(INT, max_request_partition_size_limit, "max.request.partition.size.limit", "2000", 1, NO_MAX, VALID_ANY,
  "Most partitions in one answer to DescribeTopicPartitions, whatever the client asks for.")
BROKER_CONFIG_X(INT, message_max_bytes, "message.max.bytes", "1048588", 0, NO_MAX, VALID_ANY,
  "Default of max.message.bytes.")
BROKER_CONFIG_X(INT, min_insync_replicas, "min.insync.replicas", "1", 1, NO_MAX, VALID_ANY,
  "Default of the topic config of that name.")
BROKER_CONFIG_X(INT, num_partitions, "num.partitions", "1", 1, NO_MAX, VALID_ANY,
  "Partitions of topics that are created without a number.")
BROKER_CONFIG_X(INT, num_recovery_threads_per_data_dir, "num.recovery.threads.per.data.dir", "2", 1, NO_MAX, VALID_ANY,
  "Logs of one directory that are recovered at a time.")
BROKER_CONFIG_X(INT, offset_metadata_max_bytes, "offset.metadata.max.bytes", "4096", NO_MIN, NO_MAX, VALID_ANY,
  "Most characters of the metadata of a committed offset.")
BROKER_CONFIG_X(INT, offsets_load_buffer_size, "offsets.load.buffer.size", "5242880", 1, NO_MAX, VALID_ANY,
  "Bytes read at a time while groups and offsets are loaded.")
BROKER_CONFIG_X(LONG, offsets_retention_check_interval_ms, "offsets.retention.check.interval.ms", "600000", 1, NO_MAX, VALID_ANY,
  "Milliseconds between two looks for expired offsets.")
BROKER_CONFIG_X(INT, offsets_retention_minutes, "offsets.retention.minutes", "10080", 1, NO_MAX, VALID_ANY,
  "How long offsets are kept after a group has become empty, or after the commit where it has no members of its own.")
BROKER_CONFIG_X(INT, offsets_topic_compression_codec, "offsets.topic.compression.codec", "0", 0, 4, VALID_ANY,
  "Codec of the batches that are written to __consumer_offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.")
BROKER_CONFIG_X(INT, offsets_topic_num_partitions, "offsets.topic.num.partitions", "50", 1, 10000, VALID_ANY,
  "Partitions that __consumer_offsets is created with.")
BROKER_CONFIG_X(INT, offsets_topic_replication_factor, "offsets.topic.replication.factor", "3", 1, 32767, VALID_ANY,
  "Replicas that __consumer_offsets is created with; as many as there are brokers where that is less.")
BROKER_CONFIG_X(INT, offsets_topic_segment_bytes, "offsets.topic.segment.bytes", "104857600", 1048576, NO_MAX, VALID_ANY,
  "Segment size that __consumer_offsets is created with.")
BROKER_CONFIG_X(INT, producer_id_expiration_ms, "producer.id.expiration.ms", "86400000", 1, NO_MAX, VALID_ANY,
  "How long a partition remembers an idempotent producer that does not write to it.")
BROKER_CONFIG_X(LONG, queued_max_request_bytes, "queued.max.request.bytes", NULL, NO_MIN, NO_MAX, VALID_ANY,
  "Memory of requests at which no more are read until some are answered; 0 or negative: no bound, unset: an eighth of the machine's memory or of the container's limit, and at least socket.request.max.bytes.")
BROKER_CONFIG_X(LONG, replica_high_watermark_checkpoint_interval_ms, "replica.high.watermark.checkpoint.interval.ms", "5000", 1, NO_MAX, VALID_ANY,
  "How often the high watermarks are written.")
BROKER_CONFIG_X(LONG, sasl_kerberos_min_time_before_relogin, "sasl.kerberos.min.time.before.relogin", "60000", NO_MIN, NO_MAX, VALID_ANY,
  "Kept and shown; of effect with Kerberos logins only, which there are none.")
BROKER_CONFIG_X(DOUBLE, sasl_kerberos_ticket_renew_jitter, "sasl.kerberos.ticket.renew.jitter", "0.05", NO_MIN, NO_MAX, VALID_ANY,
  "Kept and shown; of effect with Kerberos logins only, which there are none.")
BROKER_CONFIG_X(DOUBLE, sasl_kerberos_ticket_renew_window_factor, "sasl.kerberos.ticket.renew.window.factor", "0.8", NO_MIN, NO_MAX, VALID_ANY,
  "Kept and shown; of effect with Kerberos logins only, which there are none.")
BROKER_CONFIG_X(INT, socket_listen_backlog_size, "socket.listen.backlog.size", "1024", 1, NO_MAX, VALID_ANY,
  "Connections that may wait to be accepted; the system may allow fewer.")
BROKER_CONFIG_X(INT, socket_receive_buffer_bytes, "socket.receive.buffer.bytes", "-1", NO_MIN, NO_MAX, VALID_ANY,
  "Receive buffer of a connection's socket; -1: as large as the system finds right for the connection.")
BROKER_CONFIG_X(INT, socket_request_max_bytes, "socket.request.max.bytes", "104857600", 1, NO_MAX, VALID_ANY,
  "Largest request; a longer one closes its connection.")
BROKER_CONFIG_X(INT, socket_send_buffer_bytes, "socket.send.buffer.bytes", "102400", NO_MIN, NO_MAX, VALID_ANY,
  "Send buffer of a connection's socket; -1: as large as the system finds right for the connection.")
BROKER_CONFIG_X(BOOL, unclean_leader_election_enable, "unclean.leader.election.enable", "false", NO_MIN, NO_MAX, VALID_ANY,
  "Default of the topic config of that name.")
// clang-format on
