// SPDX-License-Identifier: Apache-2.0
//
// Every config of groups: GROUP_CONFIG_X(type, field, name, default, min, max, valid texts, broker config that gives
// the default, documentation), sorted by name. Include with GROUP_CONFIG_X defined.

// clang-format off
GROUP_CONFIG_X(INT, consumer_assignment_interval_ms, "consumer.assignment.interval.ms", "1000", 0, NO_MAX, VALID_ANY, "group.consumer.assignment.interval.ms",
  "Least time between two assignments of a consumer group.")
GROUP_CONFIG_X(INT, consumer_heartbeat_interval_ms, "consumer.heartbeat.interval.ms", "5000", 1, NO_MAX, VALID_ANY, "group.consumer.heartbeat.interval.ms",
  "How often members of a consumer group are to send heartbeats.")
GROUP_CONFIG_X(INT, consumer_session_timeout_ms, "consumer.session.timeout.ms", "45000", 1, NO_MAX, VALID_ANY, "group.consumer.session.timeout.ms",
  "How long a member of a consumer group may be silent before it is taken out.")
GROUP_CONFIG_X(BOOL, errors_deadletterqueue_copy_record_enable, "errors.deadletterqueue.copy.record.enable", "false", NO_MIN, NO_MAX, VALID_ANY, NULL,
  "Whether the topic of records that a share group could not process gets a copy of each record, or only what is known about it.")
GROUP_CONFIG_X(TEXT, errors_deadletterqueue_topic_name, "errors.deadletterqueue.topic.name", "", NO_MIN, NO_MAX, VALID_ANY, NULL,
  "Topic of the records that a share group could not process; empty: none.")
GROUP_CONFIG_X(INT, share_assignment_interval_ms, "share.assignment.interval.ms", "1000", 0, NO_MAX, VALID_ANY, "group.share.assignment.interval.ms",
  "Least time between two assignments of a share group.")
GROUP_CONFIG_X(TEXT, share_auto_offset_reset, "share.auto.offset.reset", "latest", NO_MIN, NO_MAX, VALID_ANY, NULL,
  "Where a share group begins in a partition: earliest, latest, or by_duration: and how long ago as an ISO 8601 duration.")
GROUP_CONFIG_X(INT, share_delivery_count_limit, "share.delivery.count.limit", "5", 2, NO_MAX, VALID_ANY, "group.share.delivery.count.limit",
  "How often a record is delivered to a share group at most.")
GROUP_CONFIG_X(INT, share_heartbeat_interval_ms, "share.heartbeat.interval.ms", "5000", 1, NO_MAX, VALID_ANY, "group.share.heartbeat.interval.ms",
  "How often members of a share group are to send heartbeats.")
GROUP_CONFIG_X(ENUM, share_isolation_level, "share.isolation.level", "read_uncommitted", NO_MIN, NO_MAX, VALID("read_committed", "read_uncommitted"), NULL,
  "Whether a share group is given records of transactions that were not committed.")
GROUP_CONFIG_X(INT, share_partition_max_record_locks, "share.partition.max.record.locks", "2000", 100, NO_MAX, VALID_ANY, "group.share.partition.max.record.locks",
  "Records of a partition that a share group may hold at a time.")
GROUP_CONFIG_X(INT, share_record_lock_duration_ms, "share.record.lock.duration.ms", "30000", 1000, NO_MAX, VALID_ANY, "group.share.record.lock.duration.ms",
  "How long a member of a share group may hold a record.")
GROUP_CONFIG_X(BOOL, share_renew_acknowledge_enable, "share.renew.acknowledge.enable", "true", NO_MIN, NO_MAX, VALID_ANY, NULL,
  "Whether a member of a share group may extend the time for which it holds a record.")
GROUP_CONFIG_X(INT, share_session_timeout_ms, "share.session.timeout.ms", "45000", 1, NO_MAX, VALID_ANY, "group.share.session.timeout.ms",
  "How long a member of a share group may be silent before it is taken out.")
GROUP_CONFIG_X(INT, streams_assignment_interval_ms, "streams.assignment.interval.ms", "1000", 0, NO_MAX, VALID_ANY, "group.streams.assignment.interval.ms",
  "Least time between two assignments of a streams group.")
GROUP_CONFIG_X(TEXT, streams_assignor_name, "streams.assignor.name", "sticky", NO_MIN, NO_MAX, VALID_ANY, "group.streams.assignors",
  "Assignor of a streams group, one of group.streams.assignors.")
GROUP_CONFIG_X(INT, streams_heartbeat_interval_ms, "streams.heartbeat.interval.ms", "5000", 1, NO_MAX, VALID_ANY, "group.streams.heartbeat.interval.ms",
  "How often members of a streams group are to send heartbeats.")
GROUP_CONFIG_X(INT, streams_initial_rebalance_delay_ms, "streams.initial.rebalance.delay.ms", "3000", 0, NO_MAX, VALID_ANY, "group.streams.initial.rebalance.delay.ms",
  "How long the first assignment of a streams group waits for more members.")
GROUP_CONFIG_X(INT, streams_num_standby_replicas, "streams.num.standby.replicas", "0", 0, NO_MAX, VALID_ANY, "group.streams.num.standby.replicas",
  "Standby replicas of each task of a streams group.")
GROUP_CONFIG_X(INT, streams_num_warmup_replicas, "streams.num.warmup.replicas", "2", 0, NO_MAX, VALID_ANY, "group.streams.num.warmup.replicas",
  "Replicas beyond the standby ones that a streams group may keep to prepare a move of tasks.")
GROUP_CONFIG_X(LIST, streams_rack_aware_assignment_tags, "streams.rack.aware.assignment.tags", "", NO_MIN, NO_MAX, VALID_ANY, "group.streams.rack.aware.assignment.tags",
  "Tags of clients over which the standby replicas of a streams group are spread.")
GROUP_CONFIG_X(INT, streams_session_timeout_ms, "streams.session.timeout.ms", "45000", 1, NO_MAX, VALID_ANY, "group.streams.session.timeout.ms",
  "How long a member of a streams group may be silent before it is taken out.")
GROUP_CONFIG_X(INT, streams_task_offset_interval_ms, "streams.task.offset.interval.ms", "60000", 1, NO_MAX, VALID_ANY, "group.streams.task.offset.interval.ms",
  "How often members of a streams group tell how far their tasks are.")
// clang-format on
