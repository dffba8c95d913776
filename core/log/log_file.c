// SPDX-License-Identifier: Apache-2.0
#include "log/log_file.h"

#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "base/epoch.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "log/log_file_private.h"
#include "log/map_guard.h"
#include "os/clock.h"
#include "os/file.h"

enum {
  LOG_FILE_BUDGET = 512,        ///< default number of open files
  LOG_FILE_EVICT_MORE = 16,     ///< closed when the process itself runs out of descriptors
  LOG_FILE_WARM_SECONDS = 2,    ///< how long a region stays warm: the kernel may need its memory for something else
  LOG_FILE_WARM_SHIFT = 20,     ///< log2 of the bytes that share a stamp
  LOG_FILE_WARM_CHUNK = 64,     ///< stamps in a chunk
  LOG_FILE_MINCORE_PAGES = 512, ///< pages of an index asked about at a time
  LOG_FILE_WARM_CHUNKS = 32,    ///< chunks: up to 2 GiB, the largest segment
};

/// When each MiB of a part of the file was last known to be cached.
struct log_file_warmth {
  _Atomic(uint32_t) stamps[LOG_FILE_WARM_CHUNK]; ///< monotonic seconds; 0: never
};

struct log_file {
  _Atomic(int32_t) refs;                                          ///< the slot's and the holders'; 0: closed
  _Atomic(bool) is_used;                                          ///< used since the clock hand came by
  int fd;                                                         ///< the descriptor
  const uint8_t *map;                                             ///< the offset index, read-only, or NULL
  size_t map_size;                                                ///< bytes mapped
  _Atomic(bool) is_map_failed;                                    ///< a page of the mapping could not be read
  _Atomic(uint32_t) map_stamp;                                    ///< when the mapping was last known to be in memory
  int64_t unknown_end;                                            ///< size when opened: what is below may be cold
  _Atomic(struct log_file_warmth *) warmth[LOG_FILE_WARM_CHUNKS]; ///< made when first needed
  struct list ring;                                               ///< among the open files; guarded by the lock
  log_file_slot *slot;                                            ///< where it is kept; guarded by the lock
  struct epoch_retired retired;                                   ///< for the memory and the mapping
};

static pthread_mutex_t log_file_lock = PTHREAD_MUTEX_INITIALIZER;
static struct list log_file_ring = {&log_file_ring, &log_file_ring};
static _Atomic(int) log_file_budget = LOG_FILE_BUDGET;
static _Atomic(int) log_file_count;

static int log_file_open_retrying(const char *path, int *fd);
static void log_file_evict(int wanted);
static void log_file_end(struct log_file *file);

int log_file_fd(const struct log_file *file)
{
  return file->fd;
}

struct log_file *log_file_ref(struct log_file *file)
{
  atomic_fetch_add(&file->refs, 1);
  return file;
}

void log_file_unref(struct log_file *file)
{
  if (file != NULL && atomic_fetch_sub(&file->refs, 1) == 1) {
    log_file_end(file);
  }
}

void log_file_set_budget(int files)
{
  atomic_store(&log_file_budget, files < 1 ? 1 : files);
  log_file_evict(atomic_load(&log_file_count) - files);
}

int log_file_open_count(void)
{
  return atomic_load(&log_file_count);
}

struct log_file *log_file_get(log_file_slot *slot)
{
  struct log_file *file = atomic_load(slot);
  if (file == NULL) {
    return NULL;
  }
  int32_t refs = atomic_load_explicit(&file->refs, memory_order_relaxed);
  do {
    if (refs == 0) {
      return NULL;
    }
  } while (!atomic_compare_exchange_weak(&file->refs, &refs, refs + 1));
  if (!atomic_load_explicit(&file->is_used, memory_order_relaxed)) {
    atomic_store_explicit(&file->is_used, true, memory_order_relaxed);
  }
  return file;
}

/// Maps the offset index; leaves the file without a map when that cannot be.
static void log_file_map(struct log_file *file, const char *path, size_t size)
{
  int fd = -1;
  if (path == NULL || size == 0 || log_file_open_retrying(path, &fd) < 0) {
    return;
  }
  void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
  if (map != MAP_FAILED) {
    file->map = map;
    file->map_size = size;
  }
  file_close(fd);
}

int log_file_open(log_file_slot *slot, const char *path, const char *index_path, size_t map_bytes,
                  struct log_file **file)
{
  CHECK(epoch_is_inside());
  log_file_evict(atomic_load(&log_file_count) + 1 - atomic_load(&log_file_budget));
  int fd = -1;
  TRY(log_file_open_retrying(path, &fd));
  struct log_file *opened = mem_zalloc(sizeof *opened);
  opened->fd = fd;
  int result = file_size(fd, &opened->unknown_end);
  if (result < 0) {
    file_close(fd);
    mem_free(opened);
    return result;
  }
  log_file_map(opened, index_path, map_bytes);
  atomic_init(&opened->refs, 2);
  atomic_init(&opened->is_used, true);
  list_create(&opened->ring);
  atomic_fetch_add(&log_file_count, 1);
  for (;;) {
    struct log_file *other = NULL;
    pthread_mutex_lock(&log_file_lock);
    bool is_kept = atomic_compare_exchange_strong(slot, &other, opened);
    if (is_kept) {
      opened->slot = slot;
      list_append(&log_file_ring, &opened->ring);
    }
    pthread_mutex_unlock(&log_file_lock);
    if (is_kept) {
      *file = opened;
      return 0;
    }
    // Another thread was faster; everybody uses the same one.
    other = log_file_get(slot);
    if (other != NULL) {
      atomic_store(&opened->refs, 0);
      log_file_end(opened);
      *file = other;
      return 0;
    }
  }
}

void log_file_detach(log_file_slot *slot)
{
  pthread_mutex_lock(&log_file_lock);
  struct log_file *file = atomic_exchange(slot, NULL);
  if (file != NULL) {
    list_remove(&file->ring);
    file->slot = NULL;
  }
  pthread_mutex_unlock(&log_file_lock);
  log_file_unref(file);
}

bool log_file_is_held(log_file_slot *slot)
{
  struct log_file *file = atomic_load(slot);
  return file != NULL && atomic_load(&file->refs) > 1;
}

const uint8_t *log_file_index(const struct log_file *file, size_t *size)
{
  *size = file->map_size;
  return file->map;
}

/// Opens for writing where that is allowed; makes room when the process has no descriptor left.
static int log_file_open_retrying(const char *path, int *fd)
{
  int result = file_open(path, FILE_WRITE, fd);
  if (result == ERR_NO_FILES) {
    log_file_evict(LOG_FILE_EVICT_MORE);
    result = file_open(path, FILE_WRITE, fd);
  }
  if (result == ERR_READ_ONLY || result == ERR_PERMISSION) {
    result = file_open(path, FILE_READ, fd);
  }
  return result;
}

/// Closes up to `wanted` files: the hand passes over each at most twice, once to clear its mark.
static void log_file_evict(int wanted)
{
  while (wanted-- > 0) {
    struct log_file *victim = NULL;
    pthread_mutex_lock(&log_file_lock);
    int steps = 2 * atomic_load_explicit(&log_file_count, memory_order_relaxed);
    while (victim == NULL && steps-- > 0 && !list_is_empty(&log_file_ring)) {
      struct log_file *file = CONTAINER_OF(log_file_ring.next, struct log_file, ring);
      list_remove(&file->ring);
      int32_t alone = 1;
      if (atomic_exchange_explicit(&file->is_used, false, memory_order_relaxed) ||
          !atomic_compare_exchange_strong(&file->refs, &alone, 0)) {
        list_append(&log_file_ring, &file->ring);
        continue;
      }
      atomic_store(file->slot, NULL);
      file->slot = NULL;
      victim = file;
    }
    pthread_mutex_unlock(&log_file_lock);
    if (victim == NULL) {
      return;
    }
    log_file_end(victim);
  }
}

static void log_file_free(struct epoch_retired *retired)
{
  struct log_file *file = CONTAINER_OF(retired, struct log_file, retired);
  if (file->map != NULL) {
    munmap((void *)(uintptr_t)file->map, file->map_size);
  }
  for (int i = 0; i < LOG_FILE_WARM_CHUNKS; i++) {
    mem_free(atomic_load_explicit(&file->warmth[i], memory_order_relaxed));
  }
  mem_free(file);
}

/// Closes a file without references; its memory stays for those who just loaded the pointer.
static void log_file_end(struct log_file *file)
{
  file_close(file->fd);
  atomic_fetch_sub(&log_file_count, 1);
  epoch_retire(&file->retired, log_file_free);
}

// --- warmth ----------------------------------------------------------------------------------------------------------

static uint32_t log_file_now_s(void)
{
  return (uint32_t)(clock_mono_ms() / 1000) + 1;
}

/// The stamp of a MiB, or NULL: beyond 2 GiB, or never touched and `is_making` false.
static _Atomic(uint32_t) *log_file_stamp(struct log_file *file, int64_t mib, bool is_making)
{
  if (mib < 0 || mib >= (int64_t)LOG_FILE_WARM_CHUNK * LOG_FILE_WARM_CHUNKS) {
    return NULL;
  }
  _Atomic(struct log_file_warmth *) *place = &file->warmth[mib / LOG_FILE_WARM_CHUNK];
  struct log_file_warmth *chunk = atomic_load_explicit(place, memory_order_acquire);
  if (chunk == NULL && is_making) {
    struct log_file_warmth *fresh = mem_zalloc(sizeof *fresh);
    if (atomic_compare_exchange_strong(place, &chunk, fresh)) {
      chunk = fresh;
    } else {
      mem_free(fresh);
    }
  }
  return chunk == NULL ? NULL : &chunk->stamps[mib % LOG_FILE_WARM_CHUNK];
}

static bool log_file_is_fresh(const _Atomic(uint32_t) *stamp, uint32_t now_s)
{
  uint32_t then_s = stamp == NULL ? 0 : atomic_load_explicit(stamp, memory_order_relaxed);
  return then_s != 0 && now_s - then_s < LOG_FILE_WARM_SECONDS;
}

bool log_file_is_warm(struct log_file *file, int64_t pos, int64_t size)
{
  uint32_t now_s = log_file_now_s();
  int64_t last = (pos + size - 1) >> LOG_FILE_WARM_SHIFT;
  for (int64_t mib = pos >> LOG_FILE_WARM_SHIFT; mib <= last; mib++) {
    if (!log_file_is_fresh(log_file_stamp(file, mib, false), now_s)) {
      return false;
    }
  }
  return true;
}

/// True when all pages of a part of the mapping are in memory.
static bool log_file_is_map_resident(const struct log_file *file, size_t size)
{
  unsigned char resident[LOG_FILE_MINCORE_PAGES];
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (size_t at = 0; at < size; at += page * LOG_FILE_MINCORE_PAGES) {
    size_t step = size - at < page * LOG_FILE_MINCORE_PAGES ? size - at : page * LOG_FILE_MINCORE_PAGES;
    if (mincore((void *)(uintptr_t)(file->map + at), step, resident) != 0) {
      return false;
    }
    for (size_t i = 0; i < (step + page - 1) / page; i++) {
      if ((resident[i] & 1) == 0) {
        return false;
      }
    }
  }
  return true;
}

int log_file_warm_index(struct log_file *file, size_t size, bool may_wait)
{
  if (atomic_load_explicit(&file->is_map_failed, memory_order_relaxed)) {
    return log_file_fail_index(file);
  }
  uint32_t now_s = log_file_now_s();
  if (size == 0 || log_file_is_fresh(&file->map_stamp, now_s)) {
    return 0;
  }
  if (may_wait) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    map_guard_begin(file->map, file->map_size);
    for (size_t at = 0; at < size; at += page) {
      (void)*(const volatile uint8_t *)(file->map + at);
    }
    if (map_guard_end()) {
      return log_file_fail_index(file);
    }
  } else if (!log_file_is_map_resident(file, size)) {
    return ERR_AGAIN;
  }
  atomic_store_explicit(&file->map_stamp, now_s, memory_order_relaxed);
  return 0;
}

int log_file_fail_index(struct log_file *file)
{
  atomic_store_explicit(&file->is_map_failed, true, memory_order_relaxed);
  return error_set(ERR_IO, "an offset index of the log cannot be read");
}

/// Sets a stamp, unless it stands there already: the line is shared by all readers of the file.
static void log_file_set_stamp(struct log_file *file, int64_t mib, uint32_t now_s)
{
  _Atomic(uint32_t) *stamp = log_file_stamp(file, mib, true);
  if (stamp != NULL && atomic_load_explicit(stamp, memory_order_relaxed) != now_s) {
    atomic_store_explicit(stamp, now_s, memory_order_relaxed);
  }
}

void log_file_touch(struct log_file *file, int64_t pos, int64_t size)
{
  uint32_t now_s = log_file_now_s();
  int64_t last = (pos + size - 1) >> LOG_FILE_WARM_SHIFT;
  for (int64_t mib = pos >> LOG_FILE_WARM_SHIFT; mib <= last; mib++) {
    log_file_set_stamp(file, mib, now_s);
  }
}

void log_file_touch_written(struct log_file *file, int64_t pos, int64_t size)
{
  uint32_t now_s = log_file_now_s();
  int64_t last = (pos + size - 1) >> LOG_FILE_WARM_SHIFT;
  for (int64_t mib = pos >> LOG_FILE_WARM_SHIFT; mib <= last; mib++) {
    bool is_all_written = mib * ((int64_t)1 << LOG_FILE_WARM_SHIFT) >= file->unknown_end;
    if (is_all_written || log_file_is_fresh(log_file_stamp(file, mib, false), now_s)) {
      log_file_set_stamp(file, mib, now_s);
    }
  }
}

void log_file_round(int64_t *pos, int64_t *size)
{
  int64_t mask = ((int64_t)1 << LOG_FILE_WARM_SHIFT) - 1;
  int64_t end = (*pos + *size + mask) & ~mask;
  *pos &= ~mask;
  *size = end - *pos;
}
