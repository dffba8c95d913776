// SPDX-License-Identifier: Apache-2.0
//
// Early write-back: what is appended is given to the disk some MiB at a time, soon after it was written, by the pool.
// Left alone the kernel lets a busy broker fill a fifth of the memory first. Then it makes those who write wait for the
// disk (balance_dirty_pages), which are the workers; and it writes a segment in large pieces that are done in no order,
// so that the file system keeps its extents in a tree that grows and shrinks, while appends wait for the inode.
//
//   appender: a piece is full -> the directory's queue -> pool: sync_file_range(), one log, then the next
//
// What is not a whole piece yet is left alone: the kernel would lock the page that is being appended to. Nothing is
// promised by it: flushes are what they were, they only find less to do. One job for each directory, as a slow disk
// makes it wait, and no other disk's write-back is to wait with it.
#include <stddef.h>

#include "base/epoch.h"
#include "base/list.h"
#include "base/mem.h"
#include "log/log.h"
#include "log/log_manager_private.h"
#include "log/log_private.h"
#include "os/file.h"

static void write_back_run(struct pool_job *job);

void log_write_back(struct log *log)
{
  struct segment *seg = log_active(log);
  int64_t size = atomic_load_explicit(&seg->size, memory_order_acquire);
  int64_t end_pos = size - size % LOG_WRITE_BACK_BYTES;
  // Beyond the end when the log was cut: what is there now is new.
  int64_t pos = atomic_load_explicit(&seg->written_back_pos, memory_order_relaxed);
  struct log_file *file = NULL;
  if (pos < end_pos && log_open_segment(log, seg, &file) == 0) {
    for (; pos < end_pos; pos += LOG_WRITE_BACK_BYTES) {
      file_start_write_back(log_file_fd(file), pos, LOG_WRITE_BACK_BYTES);
    }
    log_file_unref(file);
  }
  atomic_store_explicit(&seg->written_back_pos, end_pos, memory_order_relaxed);
}

void log_manager_on_filled(void *arg)
{
  struct log_entry *entry = arg;
  struct log_manager *mgr = entry->mgr;
  if (mgr->pool == NULL || atomic_exchange(&entry->is_filled, true)) {
    return;
  }
  pthread_mutex_lock(&mgr->lock);
  struct log_write_back *queue = &mgr->write_backs[log_entry_dir(entry) - mgr->dirs];
  if (mgr->is_running) {
    entry->refs++;
    list_append(&queue->waiting, &entry->write_back_node);
    if (!queue->is_running) {
      queue->is_running = true;
      pool_submit_long(mgr->pool, &queue->job, write_back_run, NULL, NULL);
    }
  } else {
    atomic_store(&entry->is_filled, false); // log_close() flushes
  }
  pthread_mutex_unlock(&mgr->lock);
}

/// Takes the log that waits longest, of those that are there.
static struct log_entry *write_back_take(struct log_write_back *queue)
{
  struct log_entry *entry = CONTAINER_OF(queue->waiting.next, struct log_entry, write_back_node);
  list_remove(&entry->write_back_node);
  // What is filled from now on asks again.
  atomic_store(&entry->is_filled, false);
  return entry;
}

/// On the pool: one log, then other long jobs have their turn.
static void write_back_run(struct pool_job *job)
{
  struct log_write_back *queue = CONTAINER_OF(job, struct log_write_back, job);
  struct log_manager *mgr = queue->mgr;
  pthread_mutex_lock(&mgr->lock);
  struct log_entry *entry = write_back_take(queue);
  pthread_mutex_unlock(&mgr->lock);
  struct log *log = log_manager_log_of(mgr, entry);
  if (log != NULL) {
    log_write_back(log);
  }
  pthread_mutex_lock(&mgr->lock);
  log_entry_unref(entry);
  while (!mgr->is_running && !list_is_empty(&queue->waiting)) {
    log_entry_unref(write_back_take(queue));
  }
  queue->is_running = !list_is_empty(&queue->waiting);
  if (queue->is_running) {
    pool_submit_long(mgr->pool, &queue->job, write_back_run, NULL, NULL);
  }
  pthread_mutex_unlock(&mgr->lock);
}

void log_write_backs_create(struct log_manager *mgr, size_t dir_count)
{
  mgr->write_backs = mem_array(dir_count, sizeof *mgr->write_backs);
  for (size_t i = 0; i < dir_count; i++) {
    mgr->write_backs[i].mgr = mgr;
    list_create(&mgr->write_backs[i].waiting);
  }
}

void log_write_backs_destroy(struct log_manager *mgr)
{
  mem_free(mgr->write_backs);
}
