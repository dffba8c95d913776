// SPDX-License-Identifier: Apache-2.0
//
// The log cleaner of a manager: threads of its own, as a pass over a log may take minutes and is slowed down on
// purpose.
//
//   cleaner.c          threads, their settings
//   cleaner_pace.c     the limit of what they read and write together
//   cleaner_work.c     which log is dirtiest, a pass over it, what became of it
//
// A log is one of its entry's users while it is cleaned, so that a deletion waits for the pass; the pass looks at every
// step whether it is still wanted, and gives up when its log is deleted or moves, when its directory has failed, when
// the topic is not compacted any more, and when its thread is to end.
//
// Locks: `lock` is a leaf, never held over I/O. What entries have is guarded by the manager's.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "log/cleaner_pace.h"
#include "log/log_clean.h"
#include "log/log_manager_private.h"

enum { CLEANER_THREADS_MAX = 64 }; ///< more count as so many

/// What became of a log. Guarded by the manager's lock but for what says otherwise.
struct log_entry_cleaning {
  bool is_running;                     ///< a thread is at it
  bool is_uncleanable;                 ///< it holds what cannot be read
  int64_t not_before_ms;               ///< monotonic: after a failure that may pass it is left alone until then
  int64_t finished_ms;                 ///< wall time when the last pass ended, -1: none did
  int64_t took_ms;                     ///< how long that was
  struct log_clean_counts counts;      ///< of that pass
  int64_t failed_ms;                   ///< wall time of the last failure, -1: none since the last pass that ended
  char error[LOG_CLEANING_ERROR_SIZE]; ///< what it was
  _Atomic(int64_t) done_bytes;         ///< read and written by the pass on its way. Its thread
  _Atomic(int64_t) total_bytes;        ///< to read and write, at most. Its thread
};

/// One of the threads.
struct cleaner_thread {
  struct cleaner *cleaner; ///< whose
  pthread_t thread;        ///< started
  int number;              ///< its place: it ends when there are not to be so many any more
  bool is_started;         ///< to be joined. Control loop, or start-up thread
  bool is_over;            ///< it has ended, or is about to. Guarded by the cleaner's lock
};

/// Counts since the start.
struct cleaner_counts {
  _Atomic(int64_t) passes;          ///< that ended
  _Atomic(int64_t) failures;        ///< that failed
  _Atomic(int64_t) read_bytes;      ///< bytes read, for maps and for new segments
  _Atomic(int64_t) written_bytes;   ///< of new segments
  _Atomic(int64_t) read_records;    ///< records in segments that were written anew
  _Atomic(int64_t) kept_records;    ///< records that stayed
  _Atomic(int64_t) keyless_records; ///< records that went because they have no key
  _Atomic(int64_t) full_maps;       ///< passes that ended early because the map was full
  _Atomic(int64_t) busy_ms;         ///< time in passes, of all threads
  _Atomic(int64_t) paced_ns;        ///< of that, time waited for log.cleaner.io.max.bytes.per.second
  _Atomic(int64_t) busy_threads;    ///< threads that are at a log now
  _Atomic(int64_t) dirtiest;        ///< dirty share of the dirtiest log that was last looked at, in percent
};

struct cleaner {
  pthread_mutex_t lock;                               ///< guards the following
  pthread_cond_t changed;                             ///< any of it, or a step of an appender is done; monotonic clock
  struct log_cleaner_config config;                   ///< as it was last given
  bool is_running;                                    ///< threads may be started
  bool is_ending;                                     ///< they end
  struct cleaner_pace pace;                           ///< the limit of what all threads read and write
  struct log_manager *mgr;                            ///< whose; never changes
  struct cleaner_counts counts;                       ///< what was done
  struct cleaner_thread threads[CLEANER_THREADS_MAX]; ///< the first `config.threads` of them
};

/// True when a thread is to end. Any thread.
bool cleaner_is_over(struct cleaner_thread *thread);

/// Counts bytes that are about to be read or written. @return from when on that may be
struct cleaner_turn cleaner_charge(struct cleaner_thread *thread, int64_t bytes);

/// Waits for a turn, a moment at most; not when the thread is to end. Not inside the epoch.
///
/// @return whether the turn has come
bool cleaner_wait(struct cleaner_thread *thread, const struct cleaner_turn *turn);

/// Cleans the dirtiest log, if there is one. On a thread of the cleaner, inside the epoch, which it leaves in between.
///
/// @return false: there is nothing to clean
bool cleaner_work(struct cleaner_thread *thread);
