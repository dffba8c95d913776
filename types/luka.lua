-- SPDX-License-Identifier: Apache-2.0
-- The words of config.lua for the Lua language server. Made by `make docs` from lua/luka/config/; do not edit.
-- In .luarc.json of the folder with config.lua:
--   { "runtime.version": "LuaJIT", "workspace.library": ["/path/to/luka/types"] }
---@meta luka

--- Keys of `broker { ... }`.
---@class (exact) luka.BrokerConfig
---@field advertise? string|string[]  Addresses that clients are told, one for each of listen. Default: as listen, or the host's name for 0.0.0.0.
---@field auto_create_topics_enable? boolean  Whether a metadata request that allows it creates the topics it names. Default: true.
---@field broker_rack? string  Rack of this broker, told to clients. Default: unset.
---@field compression_gzip_level? integer  compression_gzip_level of topics that do not say otherwise; the same as in defaults { ... }. Default: -1.
---@field compression_lz4_level? integer  compression_lz4_level of topics that do not say otherwise; the same as in defaults { ... }. Default: 9.
---@field compression_type? "uncompressed"|"zstd"|"lz4"|"snappy"|"gzip"|"producer"  compression_type of topics that do not say otherwise; the same as in defaults { ... }. Default: "producer".
---@field compression_zstd_level? integer  compression_zstd_level of topics that do not say otherwise; the same as in defaults { ... }. Default: 3.
---@field connections_max_idle_ms? integer  How long a silent connection is kept; negative: for ever. Default: minutes(10).
---@field console? string|false  Unix socket of the console, which only the broker's user can open; false: none. Default: console.sock in the first of data.
---@field data? string|string[]  Log directories, one per disk; relative to where the broker is started. Default: { "luka-data" }.
---@field default_replication_factor? integer  Replicas of topics that are created without a number. Default: 1.
---@field delete_topic_enable? boolean  Whether topics can be deleted. Default: true.
---@field fetch_max_bytes? integer  Most bytes of records in one fetch response, whatever the client asks for. Default: 55 * MiB.
---@field group_consumer_assignment_interval_ms? integer  Default of the group config consumer.assignment.interval.ms. Default: seconds(1).
---@field group_consumer_assignors? "uniform,range"|"range,uniform"|"uniform"|"range"  Assignors of consumer groups, the default one first: uniform, range. Default: "uniform,range".
---@field group_consumer_heartbeat_interval_ms? integer  Default of the group config consumer.heartbeat.interval.ms. Default: seconds(5).
---@field group_consumer_max_assignment_interval_ms? integer  Most that the group config consumer.assignment.interval.ms may be. Default: seconds(15).
---@field group_consumer_max_heartbeat_interval_ms? integer  Most that the group config consumer.heartbeat.interval.ms may be. Default: seconds(15).
---@field group_consumer_max_session_timeout_ms? integer  Most that the group config consumer.session.timeout.ms may be. Default: minutes(1).
---@field group_consumer_max_size? integer  Most members of a consumer group. Default: 2147483647.
---@field group_consumer_migration_policy? "disabled"|"downgrade"|"upgrade"|"bidirectional"  Whether groups move between the classic and the consumer protocol as members of the other kind join. Default: "bidirectional".
---@field group_consumer_min_assignment_interval_ms? integer  Least that the group config consumer.assignment.interval.ms may be. Default: 0.
---@field group_consumer_min_heartbeat_interval_ms? integer  Least that the group config consumer.heartbeat.interval.ms may be. Default: seconds(5).
---@field group_consumer_min_session_timeout_ms? integer  Least that the group config consumer.session.timeout.ms may be. Default: seconds(45).
---@field group_consumer_session_timeout_ms? integer  Default of the group config consumer.session.timeout.ms. Default: seconds(45).
---@field group_initial_rebalance_delay_ms? integer  Milliseconds that the first rebalance of an empty group waits for more members. Default: 0.
---@field group_max_session_timeout_ms? integer  Largest session timeout that members of classic groups may ask for. Default: minutes(30).
---@field group_max_size? integer  Most members of a classic group. Default: 2147483647.
---@field group_min_session_timeout_ms? integer  Smallest session timeout that members of classic groups may ask for. Default: seconds(6).
---@field id? integer  Id of this broker. Default: 1.
---@field listen? string|string[]  Addresses to listen on; port 0 takes a free one, 0.0.0.0 all interfaces. Default: { "127.0.0.1:9092" }.
---@field log_cleaner_backoff_ms? integer  How long the log cleaner rests when no log is to be compacted. Default: seconds(15).
---@field log_cleaner_dedupe_buffer_size? integer  Memory in which the log cleaner notes keys, of all its threads together; 24 bytes a key. Less than 32 KiB for a thread counts as that. Default: 134217728.
---@field log_cleaner_delete_retention_ms? integer  delete_retention_ms of topics that do not say otherwise; the same as in defaults { ... }. Default: days(1).
---@field log_cleaner_enable? boolean  Whether topics with cleanup_policy=compact are compacted. Default: true.
---@field log_cleaner_io_buffer_load_factor? number  Share of log_cleaner_dedupe_buffer_size that keys may take; more than 0.9 counts as that. Default: 0.9.
---@field log_cleaner_io_buffer_size? integer  Memory through which the log cleaner reads and writes, of all its threads together. Default: 524288.
---@field log_cleaner_io_max_bytes_per_second? number  Most bytes that the log cleaner reads and writes in a second, all its threads together; 0 and less: no limit. Default: no limit.
---@field log_cleaner_max_compaction_lag_ms? integer  max_compaction_lag_ms of topics that do not say otherwise; the same as in defaults { ... }. Default: no limit.
---@field log_cleaner_min_cleanable_ratio? number  min_cleanable_dirty_ratio of topics that do not say otherwise; the same as in defaults { ... }. Default: 0.5.
---@field log_cleaner_min_compaction_lag_ms? integer  min_compaction_lag_ms of topics that do not say otherwise; the same as in defaults { ... }. Default: 0.
---@field log_cleaner_threads? integer  Threads that compact logs; more than 64 count as so many. Default: 1.
---@field log_cleanup_policy? "compact"|"delete"|("compact"|"delete")[]  cleanup_policy of topics that do not say otherwise; the same as in defaults { ... }. Default: "delete".
---@field log_dir_reserve_bytes? integer  Free space below which a log directory takes no more writes. Default: 256 * MiB.
---@field log_flush_interval_messages? integer  flush_messages of topics that do not say otherwise; the same as in defaults { ... }. Default: no limit.
---@field log_flush_interval_ms? integer  flush_ms of topics that do not say otherwise; the same as in defaults { ... }. Default: unset.
---@field log_flush_offset_checkpoint_interval_ms? integer  How often the recovery points are written. Default: minutes(1).
---@field log_flush_scheduler_interval_ms? integer  Default of log_flush_interval_ms; logs are looked at for flush_ms as often as the shortest asks. Default: no limit.
---@field log_flush_start_offset_checkpoint_interval_ms? integer  How often the log start offsets are written. Default: minutes(1).
---@field log_index_interval_bytes? integer  index_interval_bytes of topics that do not say otherwise; the same as in defaults { ... }. Default: 4 * KiB.
---@field log_index_size_max_bytes? integer  segment_index_bytes of topics that do not say otherwise; the same as in defaults { ... }. Default: 10 * MiB.
---@field log_level? "error"|"warn"|"info"|"debug"  What the broker logs; --log-level wins over it. Default: "info".
---@field log_message_timestamp_after_max_ms? integer  message_timestamp_after_max_ms of topics that do not say otherwise; the same as in defaults { ... }. Default: hours(1).
---@field log_message_timestamp_before_max_ms? integer  message_timestamp_before_max_ms of topics that do not say otherwise; the same as in defaults { ... }. Default: no limit.
---@field log_message_timestamp_type? "CreateTime"|"LogAppendTime"  message_timestamp_type of topics that do not say otherwise; the same as in defaults { ... }. Default: "CreateTime".
---@field log_preallocate? boolean  preallocate of topics that do not say otherwise; the same as in defaults { ... }. Default: false.
---@field log_retention_bytes? integer  retention_bytes of topics that do not say otherwise; the same as in defaults { ... }. Default: -1.
---@field log_retention_check_interval_ms? integer  How often old segments are looked for. Default: minutes(5).
---@field log_retention_hours? integer  retention_ms of topics that do not say otherwise, in hours; the same as in defaults { ... }. Default: 168.
---@field log_retention_minutes? integer  retention_ms of topics that do not say otherwise, in minutes; the same as in defaults { ... }. Default: unset.
---@field log_retention_ms? integer  retention_ms of topics that do not say otherwise; the same as in defaults { ... }. Default: unset.
---@field log_roll_hours? integer  segment_ms of topics that do not say otherwise, in hours; the same as in defaults { ... }. Default: 168.
---@field log_roll_jitter_hours? integer  segment_jitter_ms of topics that do not say otherwise, in hours; the same as in defaults { ... }. Default: 0.
---@field log_roll_jitter_ms? integer  segment_jitter_ms of topics that do not say otherwise; the same as in defaults { ... }. Default: unset.
---@field log_roll_ms? integer  segment_ms of topics that do not say otherwise; the same as in defaults { ... }. Default: unset.
---@field log_segment_bytes? integer  segment_bytes of topics that do not say otherwise; the same as in defaults { ... }. Default: 1 * GiB.
---@field log_segment_delete_delay_ms? integer  file_delete_delay_ms of topics that do not say otherwise; the same as in defaults { ... }. Default: minutes(1).
---@field lua_budget_ms? integer  How long one call of a function of yours, such as a hook, may take. Default: 50.
---@field lua_memory? integer  Memory that each of the broker's Lua states may use. Default: 64 * MiB.
---@field lua_shared_memory? integer  Memory of all shared dictionaries together; what was not used for the longest time goes when it is full. Default: 64 * MiB.
---@field lua_threads? integer  Threads that run functions on records. With a core that is none of theirs, functions that take long hold up nobody else's requests. Default: as workers, leaving a core.
---@field luka_producer_type? "async"|"sync"  luka_producer_type of topics that do not say otherwise; the same as in defaults { ... }. Default: "async".
---@field luka_queued_max_response_bytes? integer  Memory of answers that clients have not taken at which no more requests are taken up; 0 or negative: no bound, unset: an eighth of the machine's memory or of the container's limit. Default: unset.
---@field luka_validate? "header"|"full"  luka_validate of topics that do not say otherwise; the same as in defaults { ... }. Default: "header".
---@field max_connections? integer  Most connections at a time; further ones wait. Where the limit on open files allows fewer, those beyond it are closed. Default: 2147483647.
---@field max_connections_per_ip? integer  Most connections of one address; further ones are closed. 0 only with max_connections_per_ip_overrides. Default: 2147483647.
---@field max_connections_per_ip_overrides? string  Other limits than max_connections_per_ip for some addresses or hosts: host:count,host:count. Default: "".
---@field max_decompressed_message_bytes? integer  max_decompressed_message_bytes of topics that do not say otherwise; the same as in defaults { ... }. Default: 2147483639.
---@field max_incremental_fetch_session_cache_slots? integer  Most fetch sessions kept at a time. Default: 1000.
---@field max_request_partition_size_limit? integer  Most partitions in one answer to DescribeTopicPartitions, whatever the client asks for. Default: 2000.
---@field message_max_bytes? integer  max_message_bytes of topics that do not say otherwise; the same as in defaults { ... }. Default: 1048588.
---@field metadata? string  File of the metastore: topics, configs, producer ids. Default: luka.mdb in the first of data.
---@field min_insync_replicas? integer  min_insync_replicas of topics that do not say otherwise; the same as in defaults { ... }. Default: 1.
---@field num_partitions? integer  Partitions of topics that are created without a number. Default: 1.
---@field num_recovery_threads_per_data_dir? integer  Logs of one directory that are recovered at a time. Default: 2.
---@field offset_metadata_max_bytes? integer  Most characters of the metadata of a committed offset. Default: 4 * KiB.
---@field offsets_load_buffer_size? integer  Bytes read at a time while groups and offsets are loaded. Default: 5242880.
---@field offsets_retention_check_interval_ms? integer  Milliseconds between two looks for expired offsets. Default: minutes(10).
---@field offsets_retention_minutes? integer  How long offsets are kept after a group has become empty, or after the commit where it has no members of its own. Default: 10080.
---@field offsets_topic_compression_codec? integer  Codec of the batches that are written to __consumer_offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd. Default: 0.
---@field offsets_topic_num_partitions? integer  Partitions that __consumer_offsets is created with. Default: 50.
---@field offsets_topic_replication_factor? integer  Replicas that __consumer_offsets is created with; as many as there are brokers where that is less. Default: 3.
---@field offsets_topic_segment_bytes? integer  Segment size that __consumer_offsets is created with. Default: 100 * MiB.
---@field producer_id_expiration_ms? integer  How long a partition remembers an idempotent producer that does not write to it. Default: days(1).
---@field queued_max_request_bytes? integer  Memory of requests at which no more are read until some are answered; 0 or negative: no bound, unset: an eighth of the machine's memory or of the container's limit, and at least socket_request_max_bytes. Default: unset.
---@field replica_high_watermark_checkpoint_interval_ms? integer  How often the high watermarks are written. Default: seconds(5).
---@field sasl_kerberos_min_time_before_relogin? integer  Kept and shown; of effect with Kerberos logins only, which there are none. Default: 60000.
---@field sasl_kerberos_ticket_renew_jitter? number  Kept and shown; of effect with Kerberos logins only, which there are none. Default: 0.05.
---@field sasl_kerberos_ticket_renew_window_factor? number  Kept and shown; of effect with Kerberos logins only, which there are none. Default: 0.8.
---@field socket_listen_backlog_size? integer  Connections that may wait to be accepted; the system may allow fewer. Default: 1024.
---@field socket_receive_buffer_bytes? integer  Receive buffer of a connection's socket; -1: as large as the system finds right for the connection. Default: -1.
---@field socket_request_max_bytes? integer  Largest request; a longer one closes its connection. Default: 100 * MiB.
---@field socket_send_buffer_bytes? integer  Send buffer of a connection's socket; -1: as large as the system finds right for the connection. Default: 100 * KiB.
---@field unclean_leader_election_enable? boolean  unclean_leader_election_enable of topics that do not say otherwise; the same as in defaults { ... }. Default: false.
---@field unsafe? boolean  Gives the functions of the file os.execute, os.remove, os.rename, os.tmpname, io and ffi, which no limit holds. Default: false.
---@field workers? integer  Network threads. Default: one per core.

--- Keys of `defaults { ... }`.
---@class (exact) luka.Defaults
---@field cleanup_policy? "compact"|"delete"|("compact"|"delete")[]  What happens to old segments: `delete` drops them by age and size, `compact` keeps the newest record of each key; both may be given. Empty: kept for ever. Default: "delete".
---@field compression_gzip_level? integer  Level used when the broker itself compresses with gzip; -1 is the library's default. Default: -1.
---@field compression_lz4_level? integer  Level used when the broker itself compresses with lz4. Default: 9.
---@field compression_type? "uncompressed"|"zstd"|"lz4"|"snappy"|"gzip"|"producer"  Codec of the stored batches; `producer` keeps each batch as it came. Default: "producer".
---@field compression_zstd_level? integer  Level used when the broker itself compresses with zstd. Default: 3.
---@field delete_retention_ms? integer  How long a compacted topic keeps the marker of a deleted key, so that slow readers still see the deletion. Default: days(1).
---@field file_delete_delay_ms? integer  How long the files of a dropped segment stay on disk. Default: minutes(1).
---@field flush_messages? integer  Force a flush to disk after this many records. Default: no limit.
---@field flush_ms? integer  Force a flush to disk when records have waited this long. Default: no limit.
---@field index_interval_bytes? integer  Bytes of log between two entries of the offset index. Default: 4 * KiB.
---@field luka_producer_type? "async"|"sync"  When a write is acknowledged: `async` from the page cache, `sync` once it is on the disk of every in-sync replica. Default: "async".
---@field luka_validate? "header"|"full"  How compressed batches are checked: by their header, checksum and codec, or record by record after unpacking (`full`). Default: "header".
---@field max_compaction_lag_ms? integer  Longest time that a record of a compacted topic may wait to be compacted. Default: no limit.
---@field max_decompressed_message_bytes? integer  Largest size of one record once it is decompressed. Default: 2147483639.
---@field max_message_bytes? integer  Largest record batch, as it is stored, that the topic accepts. Default: 1048588.
---@field message_timestamp_after_max_ms? integer  How far a record's timestamp may be ahead of the broker's clock. Default: hours(1).
---@field message_timestamp_before_max_ms? integer  How far a record's timestamp may be behind the broker's clock. Default: no limit.
---@field message_timestamp_type? "CreateTime"|"LogAppendTime"  Whether records keep the producer's time or get the time of their append. Default: "CreateTime".
---@field min_cleanable_dirty_ratio? number  Share of a compacted log that must be new before it is compacted again. Default: 0.5.
---@field min_compaction_lag_ms? integer  Shortest time that a record stays as it is before it may be compacted away. Default: 0.
---@field min_insync_replicas? integer  In-sync replicas that a write with acks=all needs. Without effect yet: it belongs to replication. Default: 1.
---@field partitions? integer  Partitions of topics that are created without a number. Default: 1.
---@field placement? fun(topic: string, partitions: integer, replicas: integer, brokers: integer[]): integer[][]  Chooses the brokers of new partitions: a list with a list of broker ids for each of them. Default: one broker after another.
---@field preallocate? boolean  Whether the blocks of a new segment are reserved at once. Default: false.
---@field replication_factor? integer  Replicas of topics that are created without a number. Default: 1.
---@field retention_bytes? integer  Bytes that a partition keeps before its oldest closed segments go; -1: no limit. The active segment never goes. Default: -1.
---@field retention_ms? integer  How long closed segments are kept, by their newest timestamp; -1: for ever. Default: days(7).
---@field segment_bytes? integer  Size at which a segment is closed and a new one begun. Default: 1 * GiB.
---@field segment_index_bytes? integer  Largest size of a segment's index; a full one closes the segment. Default: 10 * MiB.
---@field segment_jitter_ms? integer  Random part taken off segment_ms, so that partitions do not roll all at once. Default: 0.
---@field segment_ms? integer  Age at which a segment is closed though it is not full. Default: days(7).
---@field unclean_leader_election_enable? boolean  Whether a replica outside the ISR may become leader as the last resort, losing records. Without effect yet: it belongs to replication. Default: false.

--- Keys of `topic "name" { ... }`.
---@class (exact) luka.TopicConfig
---@field archive? fun(segment: luka.Segment): boolean?  Is told of each segment before it is deleted; when it returns false or fails, the segment stays for now. Default: none.
---@field cleanup_policy? "compact"|"delete"|("compact"|"delete")[]  What happens to old segments: `delete` drops them by age and size, `compact` keeps the newest record of each key; both may be given. Empty: kept for ever. Default: "delete".
---@field compression_gzip_level? integer  Level used when the broker itself compresses with gzip; -1 is the library's default. Default: -1.
---@field compression_lz4_level? integer  Level used when the broker itself compresses with lz4. Default: 9.
---@field compression_type? "uncompressed"|"zstd"|"lz4"|"snappy"|"gzip"|"producer"  Codec of the stored batches; `producer` keeps each batch as it came. Default: "producer".
---@field compression_zstd_level? integer  Level used when the broker itself compresses with zstd. Default: 3.
---@field delete_retention_ms? integer  How long a compacted topic keeps the marker of a deleted key, so that slow readers still see the deletion. Default: days(1).
---@field errors_deadletterqueue_group_enable? boolean  Whether share groups may use this topic as their dead-letter queue. Without effect yet: it belongs to share groups. Default: false.
---@field file_delete_delay_ms? integer  How long the files of a dropped segment stay on disk. Default: minutes(1).
---@field flush_messages? integer  Force a flush to disk after this many records. Default: no limit.
---@field flush_ms? integer  Force a flush to disk when records have waited this long. Default: no limit.
---@field follower_replication_throttled_replicas? string|string[]  Replicas whose catching up is throttled on the follower: partition:broker pairs, or `*`. Without effect yet: it belongs to replication. Default: "".
---@field index_interval_bytes? integer  Bytes of log between two entries of the offset index. Default: 4 * KiB.
---@field internal_segment_bytes? integer  As segment_bytes, and not bound to its least value, for tests; 0: segment_bytes holds. Default: 0.
---@field jit? boolean  Compiles the topic's partitioner, transform and transform_fetch: faster, but nothing stops one that never returns. Default: false.
---@field leader_replication_throttled_replicas? string|string[]  Replicas whose catching up is throttled on the leader: partition:broker pairs, or `*`. Without effect yet: it belongs to replication. Default: "".
---@field local_retention_bytes? integer  With tiered storage, bytes of a partition kept on the local disk; -2: as retention_bytes. Without effect yet: it belongs to tiered storage. Default: -2.
---@field local_retention_ms? integer  With tiered storage, how long segments stay on the local disk; -2: as retention_ms. Without effect yet: it belongs to tiered storage. Default: -2.
---@field luka_partitioner? string  Who chooses the partition of each record, whatever the producer addressed: `none` (the producer), one of `murmur2`, `consistent`, `round_robin`, `sticky`, `header:NAME`, `range:BOUND,...`, or a name given by `policy.partitioner`. Default: "none".
---@field luka_producer_type? "async"|"sync"  When a write is acknowledged: `async` from the page cache, `sync` once it is on the disk of every in-sync replica. Default: "async".
---@field luka_validate? "header"|"full"  How compressed batches are checked: by their header, checksum and codec, or record by record after unpacking (`full`). Default: "header".
---@field max_compaction_lag_ms? integer  Longest time that a record of a compacted topic may wait to be compacted. Default: no limit.
---@field max_decompressed_message_bytes? integer  Largest size of one record once it is decompressed. Default: 2147483639.
---@field max_message_bytes? integer  Largest record batch, as it is stored, that the topic accepts. Default: 1048588.
---@field message_timestamp_after_max_ms? integer  How far a record's timestamp may be ahead of the broker's clock. Default: hours(1).
---@field message_timestamp_before_max_ms? integer  How far a record's timestamp may be behind the broker's clock. Default: no limit.
---@field message_timestamp_type? "CreateTime"|"LogAppendTime"  Whether records keep the producer's time or get the time of their append. Default: "CreateTime".
---@field min_cleanable_dirty_ratio? number  Share of a compacted log that must be new before it is compacted again. Default: 0.5.
---@field min_compaction_lag_ms? integer  Shortest time that a record stays as it is before it may be compacted away. Default: 0.
---@field min_insync_replicas? integer  In-sync replicas that a write with acks=all needs. Without effect yet: it belongs to replication. Default: 1.
---@field partitioner? string|fun(record: luka.Record, partitions: integer): integer  Chooses the partition, from 0, of each record that is produced. A name is that of one given to policy.partitioner or of a built-in one, the same as luka_partitioner. Default: the client's choice.
---@field partitions? integer  Number of partitions; it can grow, not shrink. Default: num_partitions.
---@field preallocate? boolean  Whether the blocks of a new segment are reserved at once. Default: false.
---@field remote_copy_lag_bytes? integer  With tiered storage, bytes of closed segments that may wait for their upload. Without effect yet: it belongs to tiered storage. Default: -1.
---@field remote_copy_lag_ms? integer  With tiered storage, how long a closed segment may wait for its upload. Without effect yet: it belongs to tiered storage. Default: 0.
---@field remote_log_copy_disable? boolean  With tiered storage, stops uploads; what is stored remotely stays readable. Without effect yet: it belongs to tiered storage. Default: false.
---@field remote_log_delete_on_disable? boolean  Whether switching tiered storage off deletes what it stored. Without effect yet: it belongs to tiered storage. Default: false.
---@field remote_storage_enable? boolean  Tiered storage for this topic. Default: false.
---@field replication_factor? integer  Number of replicas of each partition. Default: default_replication_factor.
---@field retention? fun(segment: luka.Segment): boolean  Whether a segment is to be deleted, asked of the oldest first up to the first that stays; retention_ms and retention_bytes mean nothing then. Default: retention_ms and retention_bytes.
---@field retention_bytes? integer  Bytes that a partition keeps before its oldest closed segments go; -1: no limit. The active segment never goes. Default: -1.
---@field retention_ms? integer  How long closed segments are kept, by their newest timestamp; -1: for ever. Default: days(7).
---@field segment_bytes? integer  Size at which a segment is closed and a new one begun. Default: 1 * GiB.
---@field segment_index_bytes? integer  Largest size of a segment's index; a full one closes the segment. Default: 10 * MiB.
---@field segment_jitter_ms? integer  Random part taken off segment_ms, so that partitions do not roll all at once. Default: 0.
---@field segment_ms? integer  Age at which a segment is closed though it is not full. Default: days(7).
---@field transform? fun(record: luka.Record): luka.Records  Gets each record that is produced; what it returns is stored: nothing, a record, or a list of them. Default: none.
---@field transform_fetch? fun(record: luka.Record, client: luka.Client): luka.Records  Gets each record that is fetched; what it returns is sent: nothing, a record, or a list of them. What is stored stays. Default: none.
---@field unclean_leader_election_enable? boolean  Whether a replica outside the ISR may become leader as the last resort, losing records. Without effect yet: it belongs to replication. Default: false.

--- A record as functions get it. What a transform returns may be one that was changed, or a table with the same fields.
---@class luka.Record
---@field key string?
---@field value string?
---@field headers table<string|integer, string|{ key: string, value: string? }>  by name: the last of that name
---@field timestamp number  ms since 1970
---@field topic string
---@field partition integer
---@field offset number?  of a record that is fetched

---@alias luka.Records luka.Record|luka.Record[]|nil

--- Who fetches.
---@class luka.Client
---@field id string  client id
---@field principal string  "User:ANONYMOUS"
---@field address string

--- A closed segment of a log.
---@class luka.Segment
---@field topic string
---@field partition integer
---@field base_offset number
---@field next_offset number
---@field size number  bytes
---@field age number  ms since its newest timestamp
---@field path string  of its .log file
---@field log { size: number, segments: integer }  of all of the partition
local Segment = {}

--- Copies the segment's files to <folder>/<topic>-<partition>/.
---@param folder string
function Segment:copy(folder) end

--- A dictionary that all functions share, in all threads.
---@class luka.Shared
local Shared = {}

---@param key string|number
---@return string|number|boolean|nil
function Shared:get(key) end

---@param key string|number
---@param value string|number|boolean|nil  nil deletes
---@param ttl_ms number?
function Shared:set(key, value, ttl_ms) end

---@param key string|number
---@param value string|number|boolean
---@param ttl_ms number?
---@return boolean added  false: there is one already
function Shared:add(key, value, ttl_ms) end

---@param key string|number
---@param by number
---@param initial number?  what there was if there was nothing
---@param ttl_ms number?  of a new one
---@return number? sum
---@return string? problem
function Shared:incr(key, by, initial, ttl_ms) end

---@param key string|number
---@return boolean deleted
function Shared:delete(key) end

---@param max integer?  1000 by default
---@return string[]
function Shared:keys(max) end

--- Settings of the broker; once in a configuration.
---@param config luka.BrokerConfig
function broker(config) end

--- What topics have that do not say otherwise; once in a configuration.
---@param config luka.Defaults
function defaults(config) end

--- A topic to have: `topic "clicks" { partitions = 6 }`.
---@param name string
---@return fun(config: luka.TopicConfig) settings
---@overload fun(name: string, config: luka.TopicConfig)
function topic(name) end

--- A topic that shows those records of another for which `where` returns true.
---@param name string
---@return fun(config: { from: string, where: (fun(record: luka.Record): boolean)?, jit: boolean? }) settings
---@overload fun(name: string, config: { from: string, where: (fun(record: luka.Record): boolean)?, jit: boolean? })
function view(name) end

policy = {}

--- A partitioner that topics choose by its name, with the config luka.partitioner.
---@param name string
---@param partitioner fun(record: luka.Record, partitions: integer): integer
---@param options { jit: boolean }?
function policy.partitioner(name, partitioner, options) end

---@alias luka.HookName "broker.down"|"broker.start"|"broker.stop"|"broker.up"|"client.authorize"|"client.connect"|"disk.fail"|"group.empty"|"group.join"|"group.rebalance"|"isr.change"|"leader.change"|"log.delete"|"log.roll"|"partitions.create"|"reload"|"topic.config"|"topic.create"|"topic.delete"

--- A function that is asked before, or told after, something happens.
---@param name luka.HookName
---@param fn fun(event: table)
function hook(name, fn) end

--- Calls a function again and again.
---@param ms number
---@param fn fun()
function every(ms, fn) end

--- Calls a function once.
---@param ms number
---@param fn fun()
function after(ms, fn) end

on = {}

--- A function that sees each request of a kind.
---@param name string  "Fetch"
---@param fn fun(request: luka.ProbedRequest)
function on.request(name, fn) end

--- In hooks and timers: the administration, as in the console.
---@type luka.Admin
admin = {}

--- In hooks and timers: writes a record, or a list of records.
---@param topic string
---@param records string|table
---@param options { partition?: integer, compression?: string, acks?: integer }?
---@return table
function produce(topic, records, options) end

--- A dictionary that all functions share.
---@param name string
---@return luka.Shared
function shared(name) end

--- murmur2, never negative: `hash(record.key) % n` is the Java client's choice.
---@param text string?
---@return integer
function hash(text) end

--- CRC-32, as librdkafka's consistent partitioner has it.
---@param text string?
---@return integer
function crc32(text) end

--- ms since 1970.
---@return number
function now() end

--- Refuses the record or request at hand.
---@param reason string
function reject(reason) end

--- Writes a record to another topic.
---@param topic string
---@param record luka.Record|table
---@param partition integer?  by its key if not given
function emit(topic, record, partition) end

log = {}
function log.error(...) end
function log.warn(...) end
function log.info(...) end
function log.debug(...) end

json = {}
---@param value any
---@return string
function json.encode(value) end
---@param text string
---@return any value
---@return string? problem
function json.decode(text) end

--- Milliseconds of so many seconds.
---@param count number
---@return number ms
function seconds(count) end

--- Milliseconds of so many minutes.
---@param count number
---@return number ms
function minutes(count) end

--- Milliseconds of so many hours.
---@param count number
---@return number ms
function hours(count) end

--- Milliseconds of so many days.
---@param count number
---@return number ms
function days(count) end

--- Bytes: 1024.
KiB = 1024
--- Bytes: 1024 KiB.
MiB = 1048576
--- Bytes: 1024 MiB.
GiB = 1073741824
