// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the log cleaner: the input becomes the segments of a compacted log, which is opened and cleaned, twice.
//
//   byte 0   1: clean start, so that the cleaner is the first to look  2: right CRCs  4: offsets that follow on one
//            another  8: a small map  0x10: a small window  0x20: the second pass comes when tombstones are due
//   byte 1   segments - 1 (of 4)
//   then     two bytes for each segment but the last: its size; then the segments. A segment's name is its first base
//            offset, if that is above the one before
//
// Whatever the input: a pass ends with 0 or says what is wrong with the log; start and end of the log stay; what is
// there afterwards was there before, at its offset, with its key, value, headers and time, in a batch with the same
// offsets, producer and sequence; offsets rise; no file is left of the pass. Where all was well-formed and nothing is
// transactional, the newest record of each key is there, and after a pass that took all of it no other one. A crash
// after it has nothing to recover.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc.h"
#include "base/epoch.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/cleaner_offset_map.h"
#include "log/log.h"
#include "log/log_clean.h"
#include "log/log_transactions.h"
#include "os/dir.h"
#include "os/file.h"
#include "record/build.h"
#include "record/iterate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
  FUZZ_CLEAN = 1,
  FUZZ_CRC = 2,
  FUZZ_OFFSETS = 4,
  FUZZ_SMALL_MAP = 8,
  FUZZ_SMALL_WINDOW = 0x10,
  FUZZ_DUE = 0x20,
  FUZZ_SEGMENTS = 4,
  FUZZ_MESSAGE_BYTES = 4096, ///< max.message.bytes: what batches may unpack to is a multiple of it
};

static const int64_t FUZZ_NOW = 1700000000000;

/// A record that is there.
struct fuzz_record {
  int64_t offset;      ///< its offset
  int64_t timestamp;   ///< its time
  uint32_t digest;     ///< of value and headers
  int32_t value_size;  ///< -1: a tombstone
  int32_t key_size;    ///< -1: none
  bool may_be_dropped; ///< a tombstone of a batch whose delete horizon is set
  uint8_t *key;        ///< owned
};

/// What is on disk.
struct fuzz_state {
  struct fuzz_record *records;  ///< owned; in the order of the files
  size_t count;                 ///< of these
  size_t room;                  ///< slots
  struct batch_header *batches; ///< owned; all of them
  size_t batch_count;           ///< of these
  size_t batch_room;            ///< slots
  bool is_whole;                ///< all of it is well-formed, and offsets rise
  bool is_plain;                ///< nothing is transactional
};

/// Names of segment files, sorted.
struct fuzz_names {
  int64_t bases[64]; ///< base offsets
  int count;         ///< of them
  bool has_strays;   ///< there are files of a pass
};

static struct epoch_thread fuzz_thread;
static char fuzz_dir[256];

static void fuzz_setup(void)
{
  if (fuzz_dir[0] != '\0') {
    return;
  }
  epoch_register(&fuzz_thread);
  slog_setup(SLOG_ERROR, false);
  // In memory where that is to be had: each run syncs files.
  const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
  snprintf(fuzz_dir, sizeof fuzz_dir, "%s/fuzz_cleaner.%d", base == NULL ? "/tmp" : base, (int)getpid());
}

// --- the log ---------------------------------------------------------------------------------------------------------

static void fuzz_write(int64_t base_offset, const uint8_t *data, size_t size)
{
  char path[512];
  snprintf(path, sizeof path, "%s/%020" PRId64 ".log", fuzz_dir, base_offset);
  int fd = -1;
  CHECK(file_open(path, FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &fd) == 0);
  CHECK(file_write_at(fd, data, size, 0) == 0);
  file_close(fd);
}

/// Makes batches well-formed as far as the flags say.
static void fuzz_fix(int flags, uint8_t *data, size_t size, int64_t *next_offset)
{
  while (size >= BATCH_HEADER_SIZE) {
    int64_t length = batch_size(data);
    if (length < BATCH_HEADER_SIZE || length > (int64_t)size || batch_magic(data) != 2) {
      return;
    }
    if ((flags & FUZZ_OFFSETS) != 0) {
      int32_t delta = (int32_t)bytes_get_u32(data + BATCH_LAST_OFFSET_DELTA_POS) & 0xff;
      bytes_put_u32(data + BATCH_LAST_OFFSET_DELTA_POS, (uint32_t)delta);
      bytes_put_u64(data, (uint64_t)*next_offset);
      *next_offset += delta + 1;
    }
    if ((flags & FUZZ_CRC) != 0) {
      bytes_put_u32(data + BATCH_CRC_POS,
                    crc32c(data + BATCH_ATTRIBUTES_POS, (size_t)length - (size_t)BATCH_ATTRIBUTES_POS));
    }
    data += length;
    size -= (size_t)length;
  }
}

/// Makes the segment files. @param data  rewritten
static void fuzz_make(int flags, int segments, uint8_t *data, size_t size)
{
  size_t sizes[FUZZ_SEGMENTS] = {0};
  for (int i = 0; i < segments - 1 && size >= 2; i++) {
    sizes[i] = (size_t)data[0] << 8 | data[1];
    data += 2;
    size -= 2;
  }
  int64_t last_base = -1;
  int64_t next_offset = 0;
  for (int i = 0; i < segments; i++) {
    size_t taken = i == segments - 1 || sizes[i] > size ? size : sizes[i];
    int64_t first_offset = next_offset;
    fuzz_fix(flags, data, taken, &next_offset);
    int64_t base_offset = taken >= 8 ? (int64_t)bytes_get_u64(data) : first_offset;
    if (i == 0 || base_offset <= last_base || base_offset > INT64_MAX / 2) {
      base_offset = last_base + 1;
    }
    fuzz_write(base_offset, data, taken);
    last_base = base_offset;
    data += taken;
    size -= taken;
  }
}

static int fuzz_open(bool is_clean, int64_t clean_offset, struct log **log)
{
  struct log_open_args args = {.dir = fuzz_dir, .clean_offset = clean_offset, .now_ms = FUZZ_NOW, .is_clean = is_clean};
  log_config_default(&args.config);
  args.config.is_compacted = true;
  args.config.is_compacting = true;
  args.config.is_deleting = false;
  args.config.min_dirty_ratio = 0;
  args.config.file_delete_delay_ms = 0;
  args.config.delete_retention_ms = 1000;
  args.config.max_message_bytes = FUZZ_MESSAGE_BYTES;
  args.config.segment_bytes = 65536;
  return log_open(&args, log);
}

/// Appends a record with a key of its own, and ends the segment.
static void fuzz_append(struct log *log)
{
  struct batch_options options;
  struct batch_builder builder;
  batch_options_init(&options);
  batch_builder_init(&builder, &options);
  struct record_input record = {.timestamp = 5,
                                .key = (const uint8_t *)"appended",
                                .key_size = 8,
                                .value = (const uint8_t *)"v",
                                .value_size = 1};
  CHECK(batch_builder_add(&builder, &record) == 0);
  uint8_t *bytes = NULL;
  size_t size = 0;
  CHECK(batch_builder_finish(&builder, &bytes, &size) == 0);
  struct log_batch batch = {.bytes = bytes, .size = size, .max_timestamp = 5};
  CHECK(log_append(log, &batch, 1, 0, FUZZ_NOW) == 0);
  batch_builder_destroy(&builder);
}

// --- what is on disk -------------------------------------------------------------------------------------------------

static int fuzz_note_name(void *arg, const char *name, bool is_dir)
{
  struct fuzz_names *names = arg;
  const char *suffix = strchr(name, '.');
  (void)is_dir;
  names->has_strays = names->has_strays || strstr(name, ".cleaned") != NULL || strstr(name, ".swap") != NULL;
  if (suffix != NULL && strcmp(suffix, ".log") == 0) {
    CHECK(names->count < 64);
    names->bases[names->count++] = strtoll(name, NULL, 10);
  }
  return 0;
}

static int fuzz_compare_bases(const void *a, const void *b)
{
  int64_t left = *(const int64_t *)a;
  int64_t right = *(const int64_t *)b;
  return (left > right) - (left < right);
}

static void fuzz_add_record(struct fuzz_state *state, const struct batch_header *header,
                            const struct record_view *record)
{
  if (state->count == state->room) {
    state->room = state->room * 2 + 64;
    state->records = mem_realloc(state->records, state->room * sizeof *state->records);
  }
  struct fuzz_record *added = &state->records[state->count++];
  *added = (struct fuzz_record){
      .offset = record->offset,
      .timestamp = record->timestamp,
      .digest = record->value_size > 0 ? crc32c(record->value, (size_t)record->value_size) : 0,
      .value_size = record->value_size,
      .key_size = record->key_size,
      .may_be_dropped = record->value_size < 0 && (header->attributes & BATCH_DELETE_HORIZON) != 0,
      .key = record->key_size > 0 ? mem_dup(record->key, (size_t)record->key_size) : NULL,
  };
  added->digest = crc32c_update(added->digest, record->headers, (size_t)record->headers_size);
}

/// Notes a batch and its records. @return false: they are not well-formed
static bool fuzz_add_batch(struct fuzz_state *state, const struct batch_header *header, const uint8_t *bytes)
{
  if (state->batch_count == state->batch_room) {
    state->batch_room = state->batch_room * 2 + 64;
    state->batches = mem_realloc(state->batches, state->batch_room * sizeof *state->batches);
  }
  state->batches[state->batch_count++] = *header;
  state->is_plain = state->is_plain && (header->attributes & (BATCH_TRANSACTIONAL | BATCH_CONTROL)) == 0;
  struct batch_iterator records = {0};
  struct record_view record;
  size_t limit = (header->size > FUZZ_MESSAGE_BYTES ? header->size : FUZZ_MESSAGE_BYTES) * BATCH_UNPACK_RATIO;
  int64_t last_offset = header->base_offset - 1;
  int more = batch_iterator_open(&records, bytes, header->size, limit);
  bool is_right = more == 0;
  while (more >= 0 && is_right && (more = batch_iterator_next(&records, &record)) > 0) {
    is_right = record.offset > last_offset && record.offset <= header->base_offset + header->last_offset_delta;
    last_offset = record.offset;
    fuzz_add_record(state, header, &record);
  }
  batch_iterator_close(&records);
  return is_right && more == 0;
}

/// Reads all segment files. What follows damage in one is left out.
static void fuzz_look(struct fuzz_state *state, bool *has_strays)
{
  struct fuzz_names names = {0};
  CHECK(dir_list(fuzz_dir, fuzz_note_name, &names) == 0);
  qsort(names.bases, (size_t)names.count, sizeof *names.bases, fuzz_compare_bases);
  *state = (struct fuzz_state){.is_whole = true, .is_plain = true};
  *has_strays = names.has_strays;
  int64_t next_offset = 0;
  for (int i = 0; i < names.count; i++) {
    char path[512];
    char *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/%020" PRId64 ".log", fuzz_dir, names.bases[i]);
    CHECK(file_read_all(path, INT32_MAX, &text, &size) == 0);
    int64_t end = i + 1 < names.count ? names.bases[i + 1] : INT64_MAX;
    next_offset = names.bases[i] > next_offset ? names.bases[i] : next_offset;
    for (size_t at = 0; at < size;) {
      struct batch_header header;
      const uint8_t *bytes = (const uint8_t *)text + at;
      if (batch_check(bytes, size - at, &header) < 0) {
        state->is_whole = false;
        break;
      }
      bool is_in_order = header.base_offset >= next_offset && header.base_offset + header.last_offset_delta < end;
      bool is_right = fuzz_add_batch(state, &header, bytes);
      state->is_whole = state->is_whole && is_in_order && is_right;
      next_offset = header.base_offset + header.last_offset_delta + 1;
      at += header.size;
    }
    mem_free(text);
  }
}

static void fuzz_forget(struct fuzz_state *state)
{
  for (size_t i = 0; i < state->count; i++) {
    mem_free(state->records[i].key);
  }
  mem_free(state->records);
  mem_free(state->batches);
}

// --- before and after ------------------------------------------------------------------------------------------------

static bool fuzz_has_key(const struct fuzz_record *a, const struct fuzz_record *b)
{
  return a->key_size == b->key_size && (a->key_size <= 0 || memcmp(a->key, b->key, (size_t)a->key_size) == 0);
}

static bool fuzz_has_record(const struct fuzz_state *state, const struct fuzz_record *wanted)
{
  for (size_t i = 0; i < state->count; i++) {
    const struct fuzz_record *record = &state->records[i];
    if (record->offset == wanted->offset && record->digest == wanted->digest &&
        record->value_size == wanted->value_size && record->timestamp == wanted->timestamp &&
        fuzz_has_key(record, wanted)) {
      return true;
    }
  }
  return false;
}

static bool fuzz_has_batch(const struct fuzz_state *state, const struct batch_header *wanted)
{
  for (size_t i = 0; i < state->batch_count; i++) {
    const struct batch_header *batch = &state->batches[i];
    if (batch->base_offset == wanted->base_offset && batch->last_offset_delta == wanted->last_offset_delta &&
        batch->producer_id == wanted->producer_id && batch->producer_epoch == wanted->producer_epoch &&
        batch->base_sequence == wanted->base_sequence && batch->leader_epoch == wanted->leader_epoch) {
      return true;
    }
  }
  return false;
}

/// Nothing is there that was not, and what was in order is.
static void fuzz_check_subset(const struct fuzz_state *before, const struct fuzz_state *after)
{
  CHECK(after->count <= before->count && after->batch_count <= before->batch_count);
  CHECK(!before->is_whole || after->is_whole);
  for (size_t i = 0; i < after->batch_count; i++) {
    CHECK(fuzz_has_batch(before, &after->batches[i]));
  }
  for (size_t i = 0; i < after->count; i++) {
    CHECK(fuzz_has_record(before, &after->records[i]));
  }
}

/// The newest record of each key is there; with `is_all`, no other one is.
static void fuzz_check_newest(const struct fuzz_state *before, const struct fuzz_state *after, bool is_all)
{
  size_t expected = 0;
  size_t optional = 0;
  for (size_t i = 0; i < before->count; i++) {
    const struct fuzz_record *record = &before->records[i];
    bool is_newest = record->key_size >= 0;
    for (size_t j = i + 1; j < before->count && is_newest; j++) {
      is_newest = !fuzz_has_key(&before->records[j], record);
    }
    CHECK(!is_newest || record->may_be_dropped || fuzz_has_record(after, record));
    expected += is_newest && !record->may_be_dropped;
    optional += is_newest && record->may_be_dropped;
  }
  CHECK(!is_all || (after->count >= expected && after->count <= expected + optional));
}

/// Makes a pass, and compares. @return what the pass said
static int fuzz_pass(int flags, struct log *log, int64_t now_ms)
{
  struct fuzz_state before;
  struct fuzz_state after;
  bool has_strays = false;
  int64_t end_offset = log_end_offset(log);
  int64_t start_offset = log_start_offset(log);
  int64_t unstable_offset = log_first_unstable_offset(log);
  fuzz_look(&before, &has_strays);
  CHECK(!has_strays);
  struct log_clean_settings settings = {
      .map_bytes = (flags & FUZZ_SMALL_MAP) != 0 ? CLEANER_OFFSET_MAP_MIN : 1048576,
      .map_load = 0.9,
      .io_bytes = (flags & FUZZ_SMALL_WINDOW) != 0 ? 64 : 65536,
  };
  struct log_clean_look look;
  struct log_clean_counts counts;
  int result = log_clean_look(log, unstable_offset < end_offset ? unstable_offset : end_offset, now_ms, &look);
  CHECK(result == 0);
  log_note_cleaning(log, look.first_dirty_offset);
  bool is_due = look.dirty_bytes > 0;
  bool is_all = is_due && look.end_offset == end_offset;
  if (is_due) {
    result = log_clean(log, &look, now_ms, &settings, &counts);
    CHECK(result == 0 || log_clean_is_damage(result));
    CHECK(result == 0 || !before.is_whole);
    is_all = is_all && result == 0 && !counts.is_full;
  }
  fuzz_look(&after, &has_strays);
  CHECK(!has_strays);
  CHECK(log_end_offset(log) == end_offset && log_start_offset(log) == start_offset);
  fuzz_check_subset(&before, &after);
  if (before.is_whole && before.is_plain) {
    fuzz_check_newest(&before, &after, is_all);
  }
  fuzz_forget(&before);
  fuzz_forget(&after);
  return is_due ? result : 0;
}

/// Opens, cleans, appends, cleans again, and opens again.
static void fuzz_run(int flags)
{
  struct log *log = NULL;
  if (fuzz_open((flags & FUZZ_CLEAN) != 0, -1, &log) < 0) {
    return; // see fuzz_recovery
  }
  if (log_end_offset(log) >= INT64_MAX / 2 || log_roll(log, FUZZ_NOW) < 0) {
    CHECK(log_close(log) == 0);
    return;
  }
  int result = fuzz_pass(flags, log, FUZZ_NOW);
  fuzz_append(log);
  CHECK(log_roll(log, FUZZ_NOW) == 0);
  if (result == 0) {
    result = fuzz_pass(flags, log, (flags & FUZZ_DUE) != 0 ? FUZZ_NOW + 1000 : FUZZ_NOW);
  }
  struct fuzz_state state;
  bool has_strays = false;
  fuzz_look(&state, &has_strays);
  bool is_whole = state.is_whole;
  fuzz_forget(&state);
  int64_t bytes = log_size_bytes(log);
  int64_t end_offset = log_end_offset(log);
  int64_t clean_offset = log_clean_offset(log);
  log_discard(log);
  log = NULL;
  CHECK(fuzz_open(false, clean_offset, &log) == 0 || !is_whole);
  if (is_whole) {
    CHECK(log_size_bytes(log) == bytes && log_end_offset(log) == end_offset);
    CHECK(log_close(log) == 0);
  } else if (log != NULL) {
    log_discard(log);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  fuzz_setup();
  if (size < 2) {
    return 0;
  }
  int flags = data[0];
  int segments = 1 + data[1] % FUZZ_SEGMENTS;
  uint8_t *rest = mem_alloc(size);
  memcpy(rest, data + 2, size - 2);
  CHECK(dir_make(fuzz_dir) == 0);
  fuzz_make(flags, segments, rest, size - 2);
  mem_free(rest);
  epoch_enter();
  fuzz_run(flags);
  epoch_leave();
  // Freeing a log retires its open files: twice leaves nothing, or the leak checker runs after each input.
  epoch_collect();
  epoch_collect();
  CHECK(log_file_open_count() == 0);
  CHECK(dir_remove_all(fuzz_dir) == 0);
  return 0;
}
