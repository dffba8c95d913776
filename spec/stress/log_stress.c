// SPDX-License-Identifier: Apache-2.0
//
// Stress of the log under threads, meant for ThreadSanitizer (`make stress`): four writers append to, roll, truncate,
// delete from and flush a few logs with small segments, while four readers read and check what they get.
//
//   a log's mutex    stands in for the appender; its holder also keeps a list of what has to be in the log
//   a reader checks  that a region begins with the wanted batch, follows on without holes, has right CRCs and stays
//   within the
//                    limit; and keeps some regions for a while, which must not change, whatever the writers do
//
// At the end each log is compared with its list, closed without a flush, recovered, and compared again.
// usage: stress [SECONDS]    prints one line, exits with 1 after the first fault
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc.h"
#include "base/epoch.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/log.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/file.h"
#include "record/batch.h"
#include "record/build.h"

enum {
  STRESS_LOGS = 3,
  STRESS_WRITERS = 4,
  STRESS_READERS = 4,
  STRESS_BATCHES = 8,    ///< in one append
  STRESS_HELD = 8,       ///< regions that a reader keeps
  STRESS_ROOM = 1 << 20, ///< batches that a log may hold
  STRESS_READ_BYTES = 32 * 1024,
};

/// A batch that has to be in a log.
struct stress_batch {
  int64_t base_offset; ///< first offset
  int64_t last_offset; ///< last offset
  uint32_t crc;        ///< of its header
};

/// A log and what is in it.
struct stress_log {
  pthread_mutex_t appender;     ///< guards everything here; taken before calls that need the appender
  struct log *log;              ///< the log
  char dir[300];                ///< its folder
  struct stress_batch *batches; ///< what has to be in it, oldest first
  int count;                    ///< how many
  int32_t epoch;                ///< leader epoch
};

/// A region that is kept.
struct stress_held {
  struct log_slice slice; ///< empty: none
  uint32_t crc;           ///< of its bytes when it was taken
};

static struct stress_log stress_logs[STRESS_LOGS];
static _Atomic(bool) stress_is_over;
static _Atomic(int) stress_faults;
static _Atomic(int64_t) stress_appends;
static _Atomic(int64_t) stress_reads;
static _Atomic(int64_t) stress_truncations;
static _Atomic(int64_t) stress_deletions;

__attribute__((format(printf, 1, 2))) static void stress_fault(const char *format, ...)
{
  va_list args;
  va_start(args, format);
  char text[600];
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fprintf(stderr, "FAULT: %s\n", text);
  atomic_fetch_add(&stress_faults, 1);
  atomic_store(&stress_is_over, true);
}

/// A small generator per thread.
static uint32_t stress_random(uint64_t *state, uint32_t below)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33) % below;
}

static void stress_config(struct log_config *config, uint32_t kind)
{
  log_config_default(config);
  config->segment_bytes = 4096 << (kind % 4);
  config->index_interval_bytes = 64 << (kind % 3);
  config->segment_index_bytes = 1200;
  config->file_delete_delay_ms = 0;
}

// --- writers ---------------------------------------------------------------------------------------------------------

static void write_append(struct stress_log *target, uint64_t *random)
{
  struct batch_builder builders[STRESS_BATCHES];
  struct log_batch batches[STRESS_BATCHES];
  int count = 1 + (int)stress_random(random, STRESS_BATCHES);
  static const uint8_t filling[2000] = {1, 2, 3};
  int64_t now_ms = clock_wall_ms();
  for (int i = 0; i < count; i++) {
    struct batch_options options;
    batch_options_init(&options);
    batch_builder_init(&builders[i], &options);
    int records = 1 + (int)stress_random(random, 4);
    for (int k = 0; k < records; k++) {
      struct record_input record = {.timestamp = now_ms + k,
                                    .key_size = -1,
                                    .value = filling,
                                    .value_size = (int32_t)stress_random(random, sizeof filling / 4)};
      batch_builder_add(&builders[i], &record);
    }
    batches[i] = (struct log_batch){.last_offset_delta = records - 1, .max_timestamp = now_ms + records - 1};
    batch_builder_finish(&builders[i], &batches[i].bytes, &batches[i].size);
  }
  if (target->count + count <= STRESS_ROOM) {
    int result = log_append(target->log, batches, count, target->epoch, now_ms);
    if (result < 0) {
      stress_fault("append: %s", error_last()->message);
    }
    for (int i = 0; i < count && result == 0; i++) {
      struct batch_header header;
      batch_header_read(batches[i].bytes, batches[i].size, &header);
      target->batches[target->count++] = (struct stress_batch){
          batches[i].base_offset, batches[i].base_offset + batches[i].last_offset_delta, header.crc};
    }
    atomic_fetch_add(&stress_appends, count);
  }
  for (int i = 0; i < count; i++) {
    batch_builder_destroy(&builders[i]);
  }
}

static void write_truncate(struct stress_log *target, uint64_t *random)
{
  int64_t end_offset = log_end_offset(target->log);
  int64_t offset = end_offset - (int64_t)stress_random(random, 400);
  offset = offset < log_start_offset(target->log) ? log_start_offset(target->log) : offset;
  if (stress_random(random, 10) == 0) {
    offset = end_offset + (int64_t)stress_random(random, 3);
    if (log_truncate_all(target->log, offset, offset, clock_wall_ms()) < 0) {
      stress_fault("truncate all: %s", error_last()->message);
    }
    target->count = 0;
  } else if (log_truncate_to(target->log, offset, clock_wall_ms()) < 0) {
    stress_fault("truncate: %s", error_last()->message);
  }
  while (target->count > 0 && target->batches[target->count - 1].last_offset >= offset) {
    target->count--;
  }
  target->epoch++;
  atomic_fetch_add(&stress_truncations, 1);
}

static void write_delete(struct stress_log *target, uint64_t *random)
{
  int64_t start = log_start_offset(target->log);
  int64_t length = log_end_offset(target->log) - start;
  int64_t offset = start + (length > 0 ? (int64_t)stress_random(random, (uint32_t)length) : 0);
  int gone = log_delete_before(target->log, offset, clock_wall_ms());
  if (gone < 0) {
    stress_fault("delete: %s", error_last()->message);
  }
  start = log_start_offset(target->log);
  int kept = 0;
  while (kept < target->count && target->batches[kept].last_offset < start) {
    kept++;
  }
  target->count -= kept;
  memmove(target->batches, target->batches + kept, (size_t)target->count * sizeof *target->batches);
  atomic_fetch_add(&stress_deletions, gone);
}

static void *write_run(void *arg)
{
  struct epoch_thread thread;
  epoch_register(&thread);
  uint64_t random = (uint64_t)(uintptr_t)arg;
  while (!atomic_load(&stress_is_over)) {
    struct stress_log *target = &stress_logs[stress_random(&random, STRESS_LOGS)];
    uint32_t what = stress_random(&random, 1000);
    epoch_enter();
    if (what == 999) {
      // Without the appender, as the pool does.
      if (log_flush(target->log, INT64_MAX) < 0) {
        stress_fault("flush: %s", error_last()->message);
      }
    } else {
      pthread_mutex_lock(&target->appender);
      struct log_config config;
      stress_config(&config, what);
      if (what < 10) {
        write_truncate(target, &random);
      } else if (what < 20) {
        write_delete(target, &random);
      } else if (what < 30) {
        log_roll(target->log, clock_wall_ms());
      } else if (what < 33) {
        log_set_config(target->log, &config);
      } else {
        write_append(target, &random);
      }
      pthread_mutex_unlock(&target->appender);
    }
    epoch_leave();
  }
  epoch_unregister();
  return NULL;
}

// --- readers ---------------------------------------------------------------------------------------------------------

/// Checks a region: whole batches that follow each other, the first with `offset`, all below `limit`.
static void read_check(const uint8_t *bytes, int64_t size, int64_t offset, int64_t limit, int64_t max_bytes)
{
  int64_t next = -1;
  int64_t pos = 0;
  while (pos < size) {
    struct batch_header header;
    int result = batch_header_read(bytes + pos, (size_t)(size - pos), &header);
    if (result == ERR_TRUNCATED && pos > 0 && size == max_bytes) {
      return; // The last one may be cut.
    }
    if (result == 0) {
      result = batch_check(bytes + pos, (size_t)(size - pos), &header);
    }
    if (result < 0) {
      stress_fault("read at %" PRId64 ": at byte %" PRId64 " of %" PRId64 ": %s", offset, pos, size,
                   error_last()->message);
      return;
    }
    int64_t last = header.base_offset + header.last_offset_delta;
    if ((next < 0 ? last < offset : header.base_offset != next) || last >= limit) {
      stress_fault("read at %" PRId64 " up to %" PRId64 ": batch %" PRId64 " to %" PRId64 " where %" PRId64
                   " should be",
                   offset, limit, header.base_offset, last, next);
      return;
    }
    next = last + 1;
    pos += (int64_t)header.size;
  }
}

/// The bytes of a slice, in `buffer`; false after a fault.
static bool read_bytes(const struct log_slice *slice, uint8_t *buffer)
{
  int result = file_read_at(log_file_fd(slice->file), buffer, (size_t)slice->length, slice->pos);
  if (result < 0) {
    stress_fault("a region of %d bytes at %" PRId64 " cannot be read: %s", slice->length, slice->pos,
                 error_last()->message);
  }
  return result == 0;
}

/// Gives back a region, which has to be what it was.
static void read_release(struct stress_held *held, uint8_t *buffer)
{
  if (held->slice.length > 0 && read_bytes(&held->slice, buffer) &&
      crc32c(buffer, (size_t)held->slice.length) != held->crc) {
    stress_fault("a region of %d bytes at %" PRId64 " changed while it was held", held->slice.length, held->slice.pos);
  }
  log_slice_release(&held->slice);
}

static void read_once(struct log *log, uint64_t *random, struct stress_held *held, uint8_t *buffer)
{
  int64_t start = log_start_offset(log);
  int64_t end = log_end_offset(log);
  if (end <= start) {
    return;
  }
  int64_t back = (int64_t)stress_random(random, stress_random(random, 2) == 0 ? 50 : 5000);
  int64_t offset = end - back < start ? start : end - back;
  struct log_read_args args = {
      .offset = offset,
      .limit_offset = stress_random(random, 3) == 0 ? offset + (int64_t)stress_random(random, 30) : end,
      .max_bytes = (int32_t)stress_random(random, STRESS_READ_BYTES),
      .whole_first_batch = stress_random(random, 2) == 0,
  };
  struct log_slice slice;
  int result = log_read(log, &args, &slice);
  if (result == ERR_AGAIN) {
    result = log_read_cold(log, &args, &slice);
  }
  if (result == ERR_OFFSET_OUT_OF_RANGE) {
    return; // Truncated or deleted meanwhile.
  }
  if (result < 0) {
    stress_fault("read at %" PRId64 ": %s", offset, error_last()->message);
    return;
  }
  log_slice_probe(&slice);
  if (slice.length > 0) {
    if (read_bytes(&slice, buffer)) {
      read_check(buffer, slice.length, offset, args.limit_offset < end ? args.limit_offset : INT64_MAX, args.max_bytes);
      read_release(held, buffer + STRESS_READ_BYTES);
      held->crc = crc32c(buffer, (size_t)slice.length);
      held->slice = slice;
    } else {
      log_slice_release(&slice);
    }
  }
  atomic_fetch_add_explicit(&stress_reads, 1, memory_order_relaxed);
}

/// What else readers ask.
static void read_more(struct log *log, uint64_t *random)
{
  struct log_time_offset found;
  struct log_position position;
  struct log_retention pick;
  struct log_segment_info infos[64];
  int32_t epoch = 0;
  int64_t offset = 0;
  int result = log_offset_by_time(log, clock_wall_ms() - stress_random(random, 300), INT64_MAX, &found);
  if (result == 0) {
    result = log_max_timestamp(log, INT64_MAX, &found);
  }
  if (result < 0) {
    stress_fault("by time: %s", error_last()->message);
  }
  log_find_position(log, log_end_offset(log) - stress_random(random, 100), &position);
  log_epoch_end_offset(log, (int32_t)stress_random(random, 100), &epoch, &offset);
  log_retention_pick(log, clock_wall_ms(), log_end_offset(log), &pick);
  log_segments(log, infos, 64);
}

static void *read_run(void *arg)
{
  struct epoch_thread thread;
  epoch_register(&thread);
  uint64_t random = (uint64_t)(uintptr_t)arg;
  struct stress_held held[STRESS_HELD] = {{.crc = 0}};
  uint8_t *buffer = mem_alloc(2 * STRESS_READ_BYTES);
  while (!atomic_load(&stress_is_over)) {
    struct log *log = stress_logs[stress_random(&random, STRESS_LOGS)].log;
    epoch_enter();
    if (stress_random(&random, 50) == 0) {
      read_more(log, &random);
    } else {
      read_once(log, &random, &held[stress_random(&random, STRESS_HELD)], buffer);
    }
    epoch_leave();
  }
  for (int i = 0; i < STRESS_HELD; i++) {
    read_release(&held[i], buffer);
  }
  mem_free(buffer);
  epoch_unregister();
  return NULL;
}

// --- the end ---------------------------------------------------------------------------------------------------------

/// Compares a log with its list.
static void compare(const struct stress_log *target)
{
  int64_t offset = log_start_offset(target->log);
  uint8_t *buffer = mem_alloc(STRESS_READ_BYTES);
  int i = 0;
  while (offset < log_end_offset(target->log) && atomic_load(&stress_faults) == 0) {
    struct log_read_args args = {offset, INT64_MAX, 1, true};
    struct log_slice slice;
    struct batch_header header;
    if (log_read_cold(target->log, &args, &slice) < 0 || slice.length == 0) {
      stress_fault("%s: nothing at %" PRId64 ": %s", target->dir, offset, error_last()->message);
      log_slice_release(&slice);
      break;
    }
    size_t length = (size_t)slice.length;
    bool is_read = read_bytes(&slice, buffer);
    log_slice_release(&slice);
    if (is_read && (batch_check(buffer, length, &header) < 0 || i >= target->count ||
                    header.base_offset != target->batches[i].base_offset || header.crc != target->batches[i].crc)) {
      stress_fault("%s: batch %d at offset %" PRId64 " is not the one that was appended", target->dir, i, offset);
    }
    offset = target->batches[i++].last_offset + 1;
  }
  if (atomic_load(&stress_faults) == 0 && i != target->count) {
    stress_fault("%s: %d batches instead of %d", target->dir, i, target->count);
  }
  mem_free(buffer);
}

static void open_log(struct stress_log *target)
{
  struct log_open_args args = {.dir = target->dir, .now_ms = clock_wall_ms()};
  stress_config(&args.config, 0);
  args.log_start_offset = target->log == NULL ? 0 : log_start_offset(target->log);
  if (log_open(&args, &target->log) < 0) {
    stress_fault("open: %s", error_last()->message);
    exit(1);
  }
}

int main(int argc, char **argv)
{
  int seconds = argc > 1 ? atoi(argv[1]) : 60;
  // In memory where that is to be had: the disk's speed would decide how much is stressed.
  const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
  char root[200];
  snprintf(root, sizeof root, "%.150s/luka-stress.XXXXXX", base == NULL ? "/tmp" : base);
  if (mkdtemp(root) == NULL) {
    perror("stress: mkdtemp");
    return 1;
  }
  slog_setup(SLOG_INFO, false);
  log_file_set_budget(20);
  struct epoch_thread thread;
  epoch_register(&thread);
  epoch_enter();
  for (int i = 0; i < STRESS_LOGS; i++) {
    struct stress_log *target = &stress_logs[i];
    pthread_mutex_init(&target->appender, NULL);
    snprintf(target->dir, sizeof target->dir, "%s/stress-%d", root, i);
    target->batches = mem_array(STRESS_ROOM, sizeof *target->batches);
    open_log(target);
  }
  epoch_leave();
  pthread_t threads[STRESS_WRITERS + STRESS_READERS];
  for (int i = 0; i < STRESS_WRITERS + STRESS_READERS; i++) {
    pthread_create(&threads[i], NULL, i < STRESS_WRITERS ? write_run : read_run, (void *)(uintptr_t)(i + 1));
  }
  for (int64_t end_ms = clock_mono_ms() + seconds * 1000; clock_mono_ms() < end_ms && !atomic_load(&stress_is_over);) {
    usleep(50 * 1000);
  }
  atomic_store(&stress_is_over, true);
  for (int i = 0; i < STRESS_WRITERS + STRESS_READERS; i++) {
    pthread_join(threads[i], NULL);
  }
  epoch_enter();
  for (int i = 0; i < STRESS_LOGS && atomic_load(&stress_faults) == 0; i++) {
    struct stress_log *target = &stress_logs[i];
    compare(target);
    log_discard(target->log);
    open_log(target);
    compare(target);
    if (log_close(target->log) < 0) {
      stress_fault("close: %s", error_last()->message);
    }
    mem_free(target->batches);
  }
  epoch_leave();
  epoch_collect();
  epoch_collect();
  if (atomic_load(&stress_faults) == 0 && log_file_open_count() != 0) {
    stress_fault("%d files are still open", log_file_open_count());
  }
  dir_remove_all(root);
  printf("%" PRId64 " batches appended, %" PRId64 " reads, %" PRId64 " truncations, %" PRId64
         " segments deleted, %d faults\n",
         atomic_load(&stress_appends), atomic_load(&stress_reads), atomic_load(&stress_truncations),
         atomic_load(&stress_deletions), atomic_load(&stress_faults));
  return atomic_load(&stress_faults) == 0 ? 0 : 1;
}
