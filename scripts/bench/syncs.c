// SPDX-License-Identifier: Apache-2.0
//
// Counts a broker's fdatasync(2) and fsync(2), preloaded into Luka and into Kafka's Java alike: strace would slow down
// what is counted. The count is the first 8 bytes of the file that LUKA_BENCH_SYNCS names, which scripts/bench reads.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic int64_t *count; ///< shared with the runner; NULL without a file

__attribute__((constructor)) static void open_count(void)
{
  const char *path = getenv("LUKA_BENCH_SYNCS");
  int fd = path != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (fd >= 0 && ftruncate(fd, sizeof *count) == 0) {
    void *shared = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    count = shared != MAP_FAILED ? shared : NULL;
  }
  if (fd >= 0) {
    close(fd);
  }
}

static int count_and_call(const char *name, int fd)
{
  int (*next)(int) = (int (*)(int))(intptr_t)dlsym(RTLD_NEXT, name);
  if (count != NULL) {
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
  }
  return next(fd);
}

int fdatasync(int fd)
{
  return count_and_call("fdatasync", fd);
}

int fsync(int fd)
{
  return count_and_call("fsync", fd);
}
