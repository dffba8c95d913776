// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: records of __consumer_offsets. The input is a row of records, which a shard replays as if it loaded
// them; then it lives for a while, on writes that are done, and ends.
//
//   flags 1: 1 has a value, 2 of a transaction, 4 ends a transaction (8: commits it); 16 and up: whose
//   key size 2 | key | value size 2 | value
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/mem.h"
#include "base/slog.h"
#include "coordinator/group_settings.h"
#include "coordinator/records.h"
#include "coordinator/shard.h"
#include "wire/error_codes.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_VALUE = 1, FUZZ_TRANSACTION = 2, FUZZ_END = 4, FUZZ_COMMIT = 8, FUZZ_STEPS = 200, FUZZ_DUMP_BYTES = 4096 };

static bool fuzz_find(void *arg, const char *name, int32_t length, struct uuid *id, int32_t *partitions)
{
  (void)arg;
  *id = (struct uuid){{1}};
  *partitions = 3;
  return length == 1 && name[0] == 't';
}

static bool fuzz_find_id(void *arg, const struct uuid *id, const char **name, int32_t *length, int32_t *partitions)
{
  (void)arg;
  *name = "t";
  *length = 1;
  *partitions = 3;
  return id->bytes[0] == 1;
}

static bool fuzz_at(void *arg, int32_t index, const char **name, int32_t *length, struct uuid *id, int32_t *partitions,
                    bool *is_internal)
{
  *is_internal = false;
  *id = (struct uuid){{1}};
  return index == 0 && fuzz_find_id(arg, id, name, length, partitions);
}

static int64_t fuzz_version(void *arg)
{
  (void)arg;
  return 1;
}

/// A copy of exactly that size on the heap, so that a read beyond it is seen.
static uint8_t *fuzz_take(const uint8_t **at, const uint8_t *end, int32_t *size)
{
  size_t wanted = end - *at >= 2 ? bytes_get_u16(*at) : 0;
  *at = end - *at >= 2 ? *at + 2 : end;
  wanted = wanted > (size_t)(end - *at) ? (size_t)(end - *at) : wanted;
  uint8_t *copy = mem_dup(*at, wanted);
  *at += wanted;
  *size = (int32_t)wanted;
  return copy;
}

static void fuzz_records(struct group_shard *shard, const uint8_t *at, const uint8_t *end)
{
  while (at < end) {
    int flags = *at++;
    int64_t producer_id = flags >> 4;
    if ((flags & FUZZ_END) != 0) {
      group_shard_replay_end(shard, producer_id, (flags & FUZZ_COMMIT) != 0);
      continue;
    }
    int32_t key_size = 0;
    int32_t value_size = -1;
    uint8_t *key = fuzz_take(&at, end, &key_size);
    uint8_t *value = (flags & FUZZ_VALUE) != 0 ? fuzz_take(&at, end, &value_size) : NULL;
    group_shard_replay(shard, (flags & FUZZ_TRANSACTION) != 0 ? producer_id : RECORD_NO_PRODUCER, key, key_size, value,
                       value_size);
    mem_free(key);
    mem_free(value);
  }
}

/// Lets timers run and writes be done, for a while.
static void fuzz_live(struct group_shard *shard, int64_t now_ms)
{
  group_shard_loaded(shard, now_ms);
  group_shard_topics_changed(shard, now_ms);
  const char *gone[] = {"t"};
  group_shard_topics_deleted(shard, gone, 1, now_ms);
  for (int i = 0; i < FUZZ_STEPS; i++) {
    for (struct group_write *write; (write = group_shard_take_write(shard)) != NULL;) {
      group_shard_written(shard, write, i % 5 == 4 ? WIRE_NOT_COORDINATOR : WIRE_NONE, now_ms);
    }
    CHECK(group_shard_take_answer(shard) == NULL);
    int64_t next_ms = group_shard_next_ms(shard);
    now_ms = next_ms > now_ms && next_ms < INT64_MAX ? next_ms : now_ms;
    group_shard_run_timers(shard, now_ms);
  }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
  (void)argc;
  (void)argv;
  slog_setup(SLOG_ERROR, false);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct group_settings config = {
      .group_min_session_timeout_ms = 6000,
      .group_max_session_timeout_ms = 1800000,
      .group_max_size = 1000,
      .offset_metadata_max_bytes = 4096,
      .offsets_retention_ms = 1000000,
      .offsets_retention_check_interval_ms = 100000,
      .group_consumer_session_timeout_ms = 45000,
      .group_consumer_heartbeat_interval_ms = 5000,
      .group_consumer_max_size = 1000,
      .is_upgrade_allowed = true,
      .is_downgrade_allowed = true,
  };
  struct group_shard_topics topics = {
      .find = fuzz_find, .find_id = fuzz_find_id, .at = fuzz_at, .version = fuzz_version};
  struct group_shard *shard = group_shard_new(0, &config, &topics, 1);
  fuzz_records(shard, data, data + size);
  fuzz_live(shard, 1700000000000);
  char text[FUZZ_DUMP_BYTES];
  CHECK(group_shard_dump_ids(shard, text, sizeof text) >= 0);
  group_shard_dump(shard, "g", text, sizeof text);
  group_shard_stop(shard, WIRE_NOT_COORDINATOR);
  group_shard_delete(shard);
  return 0;
}
