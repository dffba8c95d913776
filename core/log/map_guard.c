// SPDX-License-Identifier: Apache-2.0
#include "log/map_guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/// What this thread is reading; only this thread and its signal handler touch it.
struct map_guard {
  volatile uintptr_t from;         ///< first byte; 0: nothing
  volatile uintptr_t to;           ///< one past the last byte
  volatile sig_atomic_t is_failed; ///< a page was replaced
};

static _Thread_local struct map_guard map_guard_self;
static pthread_once_t map_guard_once = PTHREAD_ONCE_INIT;
static struct sigaction map_guard_previous;
static uintptr_t map_guard_page;

static void map_guard_handle(int number, siginfo_t *info, void *context)
{
  struct map_guard *guard = &map_guard_self;
  uintptr_t at = (uintptr_t)info->si_addr;
  if (at >= guard->from && at < guard->to) {
    void *page = (void *)(at & ~(map_guard_page - 1));
    if (mmap(page, map_guard_page, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == page) {
      guard->is_failed = 1;
      return;
    }
  }
  if ((map_guard_previous.sa_flags & SA_SIGINFO) != 0) {
    map_guard_previous.sa_sigaction(number, info, context);
    return;
  }
  // The load is run again on return and ends the process, with the right address in the core file.
  signal(SIGBUS, SIG_DFL);
}

static void map_guard_install(void)
{
  map_guard_page = (uintptr_t)sysconf(_SC_PAGESIZE);
  struct sigaction action = {.sa_sigaction = map_guard_handle, .sa_flags = SA_SIGINFO};
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &map_guard_previous);
}

void map_guard_begin(const void *map, size_t size)
{
  pthread_once(&map_guard_once, map_guard_install);
  struct map_guard *guard = &map_guard_self;
  guard->is_failed = 0;
  guard->to = (uintptr_t)map + size;
  guard->from = (uintptr_t)map;
}

bool map_guard_end(void)
{
  struct map_guard *guard = &map_guard_self;
  guard->to = 0;
  guard->from = 0;
  return guard->is_failed != 0;
}
