# shellcheck shell=bash
# Made by scripts/docs.lua (make docs); do not edit.
# SPDX-License-Identifier: Apache-2.0
# Completion of luka's command line for bash; source it, or install it as share/bash-completion/completions/luka.

_luka_verbs="serve check console reload dump produce consume version help"

_luka_settings="advertise=
auto_create_topics_enable=
broker_rack=
compression_gzip_level=
compression_lz4_level=
compression_type=
compression_zstd_level=
connections_max_idle_ms=
console=
data=
default_replication_factor=
delete_topic_enable=
fetch_max_bytes=
group_consumer_assignment_interval_ms=
group_consumer_assignors=
group_consumer_heartbeat_interval_ms=
group_consumer_max_assignment_interval_ms=
group_consumer_max_heartbeat_interval_ms=
group_consumer_max_session_timeout_ms=
group_consumer_max_size=
group_consumer_migration_policy=
group_consumer_min_assignment_interval_ms=
group_consumer_min_heartbeat_interval_ms=
group_consumer_min_session_timeout_ms=
group_consumer_session_timeout_ms=
group_initial_rebalance_delay_ms=
group_max_session_timeout_ms=
group_max_size=
group_min_session_timeout_ms=
id=
listen=
log_cleaner_backoff_ms=
log_cleaner_dedupe_buffer_size=
log_cleaner_delete_retention_ms=
log_cleaner_enable=
log_cleaner_io_buffer_load_factor=
log_cleaner_io_buffer_size=
log_cleaner_io_max_bytes_per_second=
log_cleaner_max_compaction_lag_ms=
log_cleaner_min_cleanable_ratio=
log_cleaner_min_compaction_lag_ms=
log_cleaner_threads=
log_cleanup_policy=
log_dir_reserve_bytes=
log_flush_interval_messages=
log_flush_interval_ms=
log_flush_offset_checkpoint_interval_ms=
log_flush_scheduler_interval_ms=
log_flush_start_offset_checkpoint_interval_ms=
log_index_interval_bytes=
log_index_size_max_bytes=
log_level=
log_message_timestamp_after_max_ms=
log_message_timestamp_before_max_ms=
log_message_timestamp_type=
log_preallocate=
log_retention_bytes=
log_retention_check_interval_ms=
log_retention_hours=
log_retention_minutes=
log_retention_ms=
log_roll_hours=
log_roll_jitter_hours=
log_roll_jitter_ms=
log_roll_ms=
log_segment_bytes=
log_segment_delete_delay_ms=
lua_budget_ms=
lua_memory=
lua_shared_memory=
lua_threads=
luka_producer_type=
luka_queued_max_response_bytes=
luka_validate=
max_connections=
max_connections_per_ip=
max_connections_per_ip_overrides=
max_decompressed_message_bytes=
max_incremental_fetch_session_cache_slots=
max_request_partition_size_limit=
message_max_bytes=
metadata=
min_insync_replicas=
num_partitions=
num_recovery_threads_per_data_dir=
offset_metadata_max_bytes=
offsets_load_buffer_size=
offsets_retention_check_interval_ms=
offsets_retention_minutes=
offsets_topic_compression_codec=
offsets_topic_num_partitions=
offsets_topic_replication_factor=
offsets_topic_segment_bytes=
producer_id_expiration_ms=
queued_max_request_bytes=
replica_high_watermark_checkpoint_interval_ms=
sasl_kerberos_min_time_before_relogin=
sasl_kerberos_ticket_renew_jitter=
sasl_kerberos_ticket_renew_window_factor=
socket_listen_backlog_size=
socket_receive_buffer_bytes=
socket_request_max_bytes=
socket_send_buffer_bytes=
unclean_leader_election_enable=
unsafe=
workers="

_luka_names="advertise
archive
auto_create_topics_enable
broker
broker_rack
cleanup_policy
compression_gzip_level
compression_lz4_level
compression_type
compression_zstd_level
connections_max_idle_ms
console
data
default_replication_factor
defaults
delete_retention_ms
delete_topic_enable
errors_deadletterqueue_group_enable
fetch_max_bytes
file_delete_delay_ms
flush_messages
flush_ms
follower_replication_throttled_replicas
group_consumer_assignment_interval_ms
group_consumer_assignors
group_consumer_heartbeat_interval_ms
group_consumer_max_assignment_interval_ms
group_consumer_max_heartbeat_interval_ms
group_consumer_max_session_timeout_ms
group_consumer_max_size
group_consumer_migration_policy
group_consumer_min_assignment_interval_ms
group_consumer_min_heartbeat_interval_ms
group_consumer_min_session_timeout_ms
group_consumer_session_timeout_ms
group_initial_rebalance_delay_ms
group_max_session_timeout_ms
group_max_size
group_min_session_timeout_ms
id
index_interval_bytes
internal_segment_bytes
jit
leader_replication_throttled_replicas
listen
local_retention_bytes
local_retention_ms
log_cleaner_backoff_ms
log_cleaner_dedupe_buffer_size
log_cleaner_delete_retention_ms
log_cleaner_enable
log_cleaner_io_buffer_load_factor
log_cleaner_io_buffer_size
log_cleaner_io_max_bytes_per_second
log_cleaner_max_compaction_lag_ms
log_cleaner_min_cleanable_ratio
log_cleaner_min_compaction_lag_ms
log_cleaner_threads
log_cleanup_policy
log_dir_reserve_bytes
log_flush_interval_messages
log_flush_interval_ms
log_flush_offset_checkpoint_interval_ms
log_flush_scheduler_interval_ms
log_flush_start_offset_checkpoint_interval_ms
log_index_interval_bytes
log_index_size_max_bytes
log_level
log_message_timestamp_after_max_ms
log_message_timestamp_before_max_ms
log_message_timestamp_type
log_preallocate
log_retention_bytes
log_retention_check_interval_ms
log_retention_hours
log_retention_minutes
log_retention_ms
log_roll_hours
log_roll_jitter_hours
log_roll_jitter_ms
log_roll_ms
log_segment_bytes
log_segment_delete_delay_ms
lua_budget_ms
lua_memory
lua_shared_memory
lua_threads
luka_partitioner
luka_producer_type
luka_queued_max_response_bytes
luka_validate
max_compaction_lag_ms
max_connections
max_connections_per_ip
max_connections_per_ip_overrides
max_decompressed_message_bytes
max_incremental_fetch_session_cache_slots
max_message_bytes
max_request_partition_size_limit
message_max_bytes
message_timestamp_after_max_ms
message_timestamp_before_max_ms
message_timestamp_type
metadata
min_cleanable_dirty_ratio
min_compaction_lag_ms
min_insync_replicas
num_partitions
num_recovery_threads_per_data_dir
offset_metadata_max_bytes
offsets_load_buffer_size
offsets_retention_check_interval_ms
offsets_retention_minutes
offsets_topic_compression_codec
offsets_topic_num_partitions
offsets_topic_replication_factor
offsets_topic_segment_bytes
partitioner
partitions
placement
preallocate
producer_id_expiration_ms
queued_max_request_bytes
remote_copy_lag_bytes
remote_copy_lag_ms
remote_log_copy_disable
remote_log_delete_on_disable
remote_storage_enable
replica_high_watermark_checkpoint_interval_ms
replication_factor
retention
retention_bytes
retention_ms
sasl_kerberos_min_time_before_relogin
sasl_kerberos_ticket_renew_jitter
sasl_kerberos_ticket_renew_window_factor
segment_bytes
segment_index_bytes
segment_jitter_ms
segment_ms
socket_listen_backlog_size
socket_receive_buffer_bytes
socket_request_max_bytes
socket_send_buffer_bytes
topic
transform
transform_fetch
unclean_leader_election_enable
unsafe
workers"

_luka_options()
{
  case $1 in
  serve) echo "--set --adopt --log-level --log-format --debug -h --help --version" ;;
  check) echo "--set --json --log-format --debug -h --help --version" ;;
  console) echo "-e --eval --json --set --log-format --debug -h --help --version" ;;
  reload) echo "--json --set --log-format --debug -h --help --version" ;;
  dump) echo "-r --records -o --offset -c --count --verify --json --log-format --debug -h --help --version" ;;
  produce) echo "-k --key-separator -p --partition -H --header -z --compression -a --acks --null -b --broker -X --property --log-format --debug -h --help --version" ;;
  consume) echo "-o --from -c --count -e --exit -p --partition -g --group -f --format --json -b --broker -X --property --log-format --debug -h --help --version" ;;
  version) echo "--log-format --debug -h --help --version" ;;
  help) echo "--log-format --debug -h --help --version" ;;
  esac
}

_luka_valued()
{
  case $1 in
  serve) echo "--set --log-level --log-format" ;;
  check) echo "--set --log-format" ;;
  console) echo "-e --eval --set --log-format" ;;
  reload) echo "--set --log-format" ;;
  dump) echo "-o --offset -c --count --log-format" ;;
  produce) echo "-k --key-separator -p --partition -H --header -z --compression -a --acks -b --broker -X --property --log-format" ;;
  consume) echo "-o --from -c --count -p --partition -g --group -f --format -b --broker -X --property --log-format" ;;
  version) echo "--log-format" ;;
  help) echo "--log-format" ;;
  esac
}

# The offers below are for $cur, the part of the word that bash would replace.

_luka_word()
{
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

_luka_file()
{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}

_luka_lua()
{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -d -- "$cur"; compgen -f -X '!*.lua' -- "$cur")
}

# The topics of the broker that `luka console` would talk to; none when there is no such broker. Only what can be a name
# is taken, as compgen expands what it is given.
_luka_topic()
{
  local names
  names=$("${COMP_WORDS[0]}" console --json -e 'topics()' 2>/dev/null </dev/null | sed -n 's/.*"name":"\([A-Za-z0-9._-]*\)".*/\1/p')
  _luka_word "$names"
}

# Verbs, and once something is typed the keys of a configuration.
_luka_help()
{
  _luka_word "$_luka_verbs${cur:+ $_luka_names}"
}

# KEY=VALUE of --set: $whole is all of it.
_luka_setting()
{
  if [[ $whole != *=* ]]; then
    compopt -o nospace 2>/dev/null
    _luka_word "$_luka_settings"
    return
  fi
  local key=${whole%%=*}
  case ${key//./_} in
  auto_create_topics_enable) _luka_word "true false" ;;
  compression_type) _luka_word "uncompressed zstd lz4 snappy gzip producer" ;;
  console) _luka_file ;;
  data) _luka_file ;;
  delete_topic_enable) _luka_word "true false" ;;
  group_consumer_assignors) _luka_word "uniform,range range,uniform uniform range" ;;
  group_consumer_migration_policy) _luka_word "disabled downgrade upgrade bidirectional" ;;
  log_cleaner_enable) _luka_word "true false" ;;
  log_cleanup_policy) _luka_word "compact delete" ;;
  log_level) _luka_word "error warn info debug" ;;
  log_message_timestamp_type) _luka_word "CreateTime LogAppendTime" ;;
  log_preallocate) _luka_word "true false" ;;
  luka_producer_type) _luka_word "async sync" ;;
  luka_validate) _luka_word "header full" ;;
  metadata) _luka_file ;;
  unclean_leader_election_enable) _luka_word "true false" ;;
  esac
}

_luka_value()
{
  case $1 in
  serve:--set) _luka_setting ;;
  serve:--log-level) _luka_word "error warn info debug" ;;
  serve:--log-format) _luka_word "text json" ;;
  check:--set) _luka_setting ;;
  check:--log-format) _luka_word "text json" ;;
  console:--set) _luka_setting ;;
  console:--log-format) _luka_word "text json" ;;
  reload:--set) _luka_setting ;;
  reload:--log-format) _luka_word "text json" ;;
  dump:--log-format) _luka_word "text json" ;;
  produce:--compression|produce:-z) _luka_word "none gzip snappy lz4 zstd" ;;
  produce:--acks|produce:-a) _luka_word "all 0 1" ;;
  produce:--log-format) _luka_word "text json" ;;
  consume:--log-format) _luka_word "text json" ;;
  version:--log-format) _luka_word "text json" ;;
  help:--log-format) _luka_word "text json" ;;
  esac
}

_luka_argument()
{
  local count=$2
  case $1 in
  serve) ((count == 0)) && _luka_lua ;;
  check) ((count == 0)) && _luka_lua ;;
  console) ((count == 0)) && _luka_file ;;
  reload) ((count == 0)) && _luka_file ;;
  dump) _luka_file ;;
  produce) ((count == 0)) && _luka_topic; ((count >= 1)) && _luka_file ;;
  consume) ((count == 0)) && _luka_topic ;;
  version) : ;;
  help) ((count == 0)) && _luka_help ;;
  esac
}

_luka()
{
  COMPREPLY=()
  # bash cuts words at '=' and ':'; here they are whole again.
  local -a words=()
  local i word is_open=""
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((i > 0)) && { [[ $word == [=:] ]] || [[ -n $is_open && -n $word ]]; }; then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
    is_open=""
    [[ $word == [=:] ]] && is_open=1
  done
  local whole=${words[${#words[@]} - 1]}
  local cur=${COMP_WORDS[COMP_CWORD]}
  [[ $cur == [=:] ]] && cur=""

  local verb="" option="" count=0 has_options=1
  for ((i = 1; i < ${#words[@]} - 1; i++)); do
    word=${words[i]}
    if [[ -n $option ]]; then
      option=""
    elif [[ -n $has_options && $word == -- ]]; then
      has_options=""
    elif [[ -n $has_options && $word == -* ]]; then
      [[ $word != --*=* && " $(_luka_valued "${verb:-serve}") " == *" $word "* ]] && option=$word
    elif [[ -n $verb ]]; then
      count=$((count + 1))
    elif [[ " $_luka_verbs " == *" $word "* ]]; then
      verb=$word
    else
      verb=serve
      count=1
    fi
  done

  if [[ -n $option ]]; then
    _luka_value "${verb:-serve}:$option"
  elif [[ -n $has_options && $whole == --*=* ]]; then
    option=${whole%%=*}
    whole=${whole#*=}
    _luka_value "${verb:-serve}:$option"
  elif [[ -n $has_options && $whole == -* ]]; then
    _luka_word "$(_luka_options "${verb:-serve}")"
  elif [[ -z $verb ]]; then
    local -a files=()
    [[ -n $cur ]] && _luka_lua && files=("${COMPREPLY[@]}")
    _luka_word "$_luka_verbs"
    COMPREPLY+=("${files[@]}")
  else
    _luka_argument "$verb" "$count"
  fi
}

complete -F _luka luka
