// SPDX-License-Identifier: Apache-2.0
//
// Threads: named, and with signals blocked, so that the main thread alone receives them. SIGPIPE is blocked too, which
// is what keeps sendfile(2) to a closed socket from ending the process; faults (SIGSEGV, SIGBUS ...) are not.
#pragma once

#include <pthread.h>

/// Starts a thread. Owned: pthread_join().
///
/// @param name        up to 15 characters, for logs and debuggers
/// @param[out] thread  the thread
/// @return 0, ERR_AGAIN (no more threads), ERR_NOMEM
int thread_start(pthread_t *thread, const char *name, void *(*run)(void *arg), void *arg);
