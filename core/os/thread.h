// SPDX-License-Identifier: Apache-2.0
//
// Threads: named, and with signals blocked, so that the main thread alone receives them. SIGPIPE is blocked too, which
// is what keeps sendfile(2) to a closed socket from ending the process; faults (SIGSEGV, SIGBUS ...) are not.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/// Starts a thread. Owned: pthread_join().
///
/// @param name        up to 15 characters, for logs and debuggers
/// @param[out] thread  the thread
/// @return 0, ERR_AGAIN (no more threads), ERR_NOMEM
int thread_start(pthread_t *thread, const char *name, void *(*run)(void *arg), void *arg);

/// Has the scheduler treat the calling thread as one that does much work (SCHED_BATCH): when it is woken it does not
/// interrupt who runs, but gets its equal share as before. Or as any other (SCHED_OTHER).
///
/// @return 0; ERR_INVALID when the policy is not the one to change from, as when the broker was started with another,
/// which stays; ERR_PERMISSION and others where the system refuses
int thread_set_batch(bool is_batch);

/// Has the scheduler give a thread only what nobody else wants (SCHED_IDLE); it has not ended yet.
///
/// @return 0, ERR_PERMISSION ...
int thread_set_idle(pthread_t thread);

/// Milliseconds of processor time that a thread has used; it has not ended yet.
int64_t thread_used_ms(pthread_t thread);
