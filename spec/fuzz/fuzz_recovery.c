// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes recovery: the input becomes a segment file, and sometimes its indexes, a snapshot of its producers and its
// leader epochs, of a log that is then opened.
//
//   byte 0   1: clean start  2: compacted  4: recovery point 1  8: with snapshot and leader epochs
//            0x10: messages of formats 0 and 1 get the right CRC  0x20: an index entry for each batch  0x40: with
//            indexes
//   0x40     two bytes: size of the offset index, two bytes: size of the time index, then both
//   8        a byte: the snapshot's offset, two bytes: its size, two bytes: size of the leader epochs, then both
//   rest     the .log file
//
// Whatever the input: the log opens, but for an old segment with a wrapper of more than may be unpacked; the file is a
// prefix of the input, or of what its messages of formats 0 and 1 became, and all of it can be read, in order; what was
// cut is kept; appending goes on; and a second start finds the same, with nothing to cut.
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
#include "log/log.h"
#include "os/dir.h"
#include "os/file.h"
#include "record/batch.h"
#include "record/build.h"
#include "record/message_set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
  FUZZ_CLEAN = 1,
  FUZZ_COMPACTED = 2,
  FUZZ_RECOVERY_POINT = 4,
  FUZZ_STATE = 8,
  FUZZ_CRC = 0x10,
  FUZZ_DENSE = 0x20,
  FUZZ_INDEXES = 0x40,
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
  snprintf(fuzz_dir, sizeof fuzz_dir, "%s/fuzz_recovery.%d", base == NULL ? "/tmp" : base, (int)getpid());
}

static void fuzz_write(const char *name, const uint8_t *data, size_t size)
{
  char path[512];
  snprintf(path, sizeof path, "%s/%s", fuzz_dir, name);
  int fd = -1;
  CHECK(file_open(path, FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &fd) == 0);
  CHECK(file_write_at(fd, data, size, 0) == 0);
  file_close(fd);
}

/// Makes two files of the input's next bytes: two sizes, then both.
static void fuzz_take_pair(const char *const names[2], const uint8_t **data, size_t *size)
{
  size_t sizes[2] = {0, 0};
  for (int i = 0; i < 2 && *size >= 2; i++) {
    sizes[i] = (size_t)(*data)[0] << 8 | (*data)[1];
    *data += 2;
    *size -= 2;
  }
  for (int i = 0; i < 2; i++) {
    size_t taken = sizes[i] < *size ? sizes[i] : *size;
    fuzz_write(names[i], *data, taken);
    *data += taken;
    *size -= taken;
  }
}

static int fuzz_open(int flags, bool is_clean, struct log **log)
{
  struct log_open_args args = {
      .dir = fuzz_dir,
      .recovery_point = flags & FUZZ_RECOVERY_POINT ? 1 : 0,
      .now_ms = 1700000000000,
      .is_clean = is_clean,
  };
  log_config_default(&args.config);
  args.config.is_compacted = (flags & FUZZ_COMPACTED) != 0;
  args.config.index_interval_bytes = flags & FUZZ_DENSE ? 0 : 4096;
  return log_open(&args, log);
}

/// Reads a log batch by batch to its end; with `is_strict`, everything has to be there and in order.
static void fuzz_read(struct log *log, bool is_strict)
{
  int64_t offset = log_start_offset(log);
  int64_t end_offset = log_end_offset(log);
  int64_t last = -1;
  while (offset < end_offset) {
    struct log_read_args args = {
        .offset = offset, .limit_offset = end_offset, .max_bytes = 1, .whole_first_batch = true};
    struct log_slice slice;
    int result = log_read_cold(log, &args, &slice);
    CHECK(result == 0 || !is_strict);
    if (result < 0 || slice.length == 0) {
      log_slice_release(&slice);
      CHECK(!is_strict || result == 0);
      break;
    }
    size_t length = (size_t)slice.length;
    uint8_t *bytes = mem_alloc(length);
    CHECK(file_read_at(log_file_fd(slice.file), bytes, length, slice.pos) == 0);
    log_slice_release(&slice);
    struct batch_header header;
    int checked = batch_header_read(bytes, length, &header);
    mem_free(bytes);
    CHECK(checked == 0 || !is_strict);
    if (checked < 0) {
      break;
    }
    CHECK(!is_strict || (header.base_offset > last && header.base_offset + header.last_offset_delta >= offset));
    last = header.base_offset + header.last_offset_delta;
    if (last < offset) {
      break;
    }
    offset = last + 1;
  }
  CHECK(!is_strict || offset == end_offset);
  struct log_time_offset found;
  (void)log_offset_by_time(log, 1, end_offset, &found);
  (void)log_max_timestamp(log, end_offset, &found);
}

/// Appends a batch; false where the offsets are used up.
static bool fuzz_append(struct log *log)
{
  struct batch_options options;
  struct batch_builder builder;
  batch_options_init(&options);
  batch_builder_init(&builder, &options);
  struct record_input record = {.timestamp = 5, .key_size = -1, .value = (const uint8_t *)"value", .value_size = 5};
  CHECK(batch_builder_add(&builder, &record) == 0);
  uint8_t *bytes = NULL;
  size_t size = 0;
  CHECK(batch_builder_finish(&builder, &bytes, &size) == 0);
  struct log_batch batch = {.bytes = bytes, .size = size, .max_timestamp = 5};
  bool is_possible = log_end_offset(log) < INT64_MAX - 2;
  if (is_possible) {
    CHECK(log_append(log, &batch, 1, 0, 1700000000000) == 0);
  }
  batch_builder_destroy(&builder);
  return is_possible;
}

/// True where the input has a byte that may be the format of a message of format 0 or 1: the first one is, or it
/// follows batches of format 2.
static bool fuzz_may_be_old(const uint8_t *data, size_t size)
{
  while (size >= BATCH_PREFIX_SIZE) {
    int64_t length = batch_size(data);
    if (batch_magic(data) == 0 || batch_magic(data) == 1) {
      return true;
    }
    if (length < BATCH_HEADER_SIZE || length > (int64_t)size) {
      return false;
    }
    data += length;
    size -= (size_t)length;
  }
  return false;
}

/// Gives the messages of formats 0 and 1 in a segment the right CRCs.
static void fuzz_fix_crcs(uint8_t *data, size_t size)
{
  while (size >= BATCH_PREFIX_SIZE) {
    int64_t length = batch_size(data);
    if (length < BATCH_LENGTH_MIN + BATCH_OVERHEAD_SIZE || length > (int64_t)size) {
      return;
    }
    if (batch_magic(data) == 0 || batch_magic(data) == 1) {
      bytes_put_u32(data + MESSAGE_CRC_POS, crc32_zlib(data + MESSAGE_MAGIC_POS, (size_t)length - MESSAGE_MAGIC_POS));
    }
    data += length;
    size -= (size_t)length;
  }
}

/// The file is a prefix of the input, and the rest is kept.
static void fuzz_compare(const uint8_t *data, size_t size, int64_t kept)
{
  if (fuzz_may_be_old(data, size)) {
    return; // The specs compare what becomes of it.
  }
  char path[512];
  snprintf(path, sizeof path, "%s/00000000000000000000.log", fuzz_dir);
  char *text = NULL;
  size_t length = 0;
  CHECK(file_read_all(path, size, &text, &length) == 0);
  CHECK(length == (size_t)kept && memcmp(text, data, length) == 0);
  mem_free(text);
  if (length < size) {
    snprintf(path, sizeof path, "%s/00000000000000000000.log.cut", fuzz_dir);
    CHECK(file_read_all(path, size, &text, &length) == 0);
    CHECK(length == size - (size_t)kept && memcmp(text, data + kept, length) == 0);
    mem_free(text);
  }
}

/// Opens, looks, appends, and opens again.
static void fuzz_run(int flags, const uint8_t *data, size_t size)
{
  struct log *log = NULL;
  int result = fuzz_open(flags, (flags & FUZZ_CLEAN) != 0, &log);
  CHECK(result == 0 || (result == ERR_LIMIT && fuzz_may_be_old(data, size)));
  if (result < 0) {
    return;
  }
  // Indexes that a start trusts may name a place in the midst of a batch that looks like one.
  bool is_strict = (flags & FUZZ_INDEXES) == 0 || (flags & (FUZZ_CLEAN | FUZZ_RECOVERY_POINT)) == 0;
  int64_t end_offset = log_end_offset(log);
  fuzz_compare(data, size, log_size_bytes(log));
  fuzz_read(log, is_strict);
  if (fuzz_append(log)) {
    CHECK(log_end_offset(log) == end_offset + 1);
    fuzz_read(log, is_strict);
    end_offset++;
  }
  int64_t bytes = log_size_bytes(log);
  CHECK(log_close(log) == 0);
  // A clean start checks no CRC, so what it let pass may be cut after a crash.
  int rounds = !is_strict ? 0 : flags & FUZZ_CLEAN ? 1 : 2;
  for (int round = 0; round < rounds; round++) {
    CHECK(fuzz_open(flags, round == 0, &log) == 0);
    CHECK(log_end_offset(log) == end_offset && log_size_bytes(log) == bytes);
    fuzz_read(log, true);
    CHECK(log_close(log) == 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  fuzz_setup();
  if (size < 1) {
    return 0;
  }
  int flags = data[0];
  data++;
  size--;
  CHECK(dir_make(fuzz_dir) == 0);
  if (flags & FUZZ_INDEXES) {
    const char *const names[2] = {"00000000000000000000.index", "00000000000000000000.timeindex"};
    fuzz_take_pair(names, &data, &size);
  }
  if (flags & FUZZ_STATE && size > 0) {
    char snapshot[64];
    snprintf(snapshot, sizeof snapshot, "%020d.snapshot", *data++);
    size--;
    const char *const names[2] = {snapshot, "leader-epoch-checkpoint"};
    fuzz_take_pair(names, &data, &size);
  }
  uint8_t *segment = mem_alloc(size + 1);
  memcpy(segment, data, size);
  if (flags & FUZZ_CRC) {
    fuzz_fix_crcs(segment, size);
  }
  fuzz_write("00000000000000000000.log", segment, size);
  epoch_enter();
  fuzz_run(flags, segment, size);
  epoch_leave();
  mem_free(segment);
  // Freeing a log retires its open files: twice leaves nothing, or the leak checker runs after each input.
  epoch_collect();
  epoch_collect();
  CHECK(log_file_open_count() == 0);
  CHECK(dir_remove_all(fuzz_dir) == 0);
  return 0;
}
