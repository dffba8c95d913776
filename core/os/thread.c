// SPDX-License-Identifier: Apache-2.0
#include "os/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "base/error.h"

int thread_start(pthread_t *thread, const char *name, void *(*run)(void *arg), void *arg)
{
  sigset_t blocked;
  sigset_t before;
  sigfillset(&blocked);
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    sigdelset(&blocked, faults[i]);
  }
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  pthread_t started;
  int err = pthread_create(&started, NULL, run, arg);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (err != 0) {
    return error_set_errno(err, "cannot start thread %s", name);
  }
  char shortened[16];
  snprintf(shortened, sizeof shortened, "%s", name);
  pthread_setname_np(started, shortened);
  *thread = started;
  return 0;
}

int thread_set_batch(bool is_batch)
{
  int policy = sched_getscheduler(0); // Linux: 0 is the calling thread
  if (policy != (is_batch ? SCHED_OTHER : SCHED_BATCH)) {
    return error_set(ERR_INVALID, "the thread has scheduling policy %d", policy);
  }
  struct sched_param none = {.sched_priority = 0};
  if (sched_setscheduler(0, is_batch ? SCHED_BATCH : SCHED_OTHER, &none) != 0) {
    return error_set_errno(errno, "cannot set the scheduling policy");
  }
  return 0;
}

int thread_set_idle(pthread_t thread)
{
  struct sched_param none = {.sched_priority = 0};
  int err = pthread_setschedparam(thread, SCHED_IDLE, &none);
  return err != 0 ? error_set_errno(err, "cannot set the scheduling policy") : 0;
}

int64_t thread_used_ms(pthread_t thread)
{
  clockid_t id;
  struct timespec used;
  if (pthread_getcpuclockid(thread, &id) != 0 || clock_gettime(id, &used) != 0) {
    return 0;
  }
  return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}
