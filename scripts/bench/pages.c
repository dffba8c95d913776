// SPDX-License-Identifier: Apache-2.0
//
// The page cache before and during a measurement. All commands print one line of JSON.
//   pages touch BYTES       takes that much memory page by page and gives it back
//   pages drop FILE...      writes the files' dirty pages and drops them from the cache, so that reading is cold
//   pages resident FILE...  how much of the files is in the cache, by mincore(2), which looks and does not read
//
// In a virtual machine the first use of a page makes the host find memory for it, which costs many times what writing
// it does; a page that the guest has used before stays with it, whatever it is used for next. So anonymous memory does
// as well as files, and needs no disk. Small pages: a huge one is touched once.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW_PAGES = 16384 }; ///< pages that mincore(2) looks at together

static int fail(const char *what)
{
  fprintf(stderr, "pages: %s: %s\n", what, strerror(errno));
  return 1;
}

/// In pieces, so that a machine with less memory than asked for says so and is not out of memory at once.
static int touch(const char *text)
{
  enum { PIECE = 64 * 1024 * 1024 };
  char *end = NULL;
  int64_t wanted = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || wanted <= 0) {
    fprintf(stderr, "pages: touch BYTES, not '%s'\n", text);
    return 2;
  }
  size_t count = (size_t)((wanted + PIECE - 1) / PIECE);
  char **pieces = calloc(count, sizeof *pieces);
  size_t have = 0;
  for (; pieces != NULL && have < count; have++) {
    pieces[have] = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pieces[have] == MAP_FAILED) {
      break;
    }
    if (madvise(pieces[have], PIECE, MADV_NOHUGEPAGE) != 0 && errno != EINVAL) { // EINVAL: no huge pages at all
      break;
    }
    if (madvise(pieces[have], PIECE, MADV_POPULATE_WRITE) != 0) {
      break;
    }
  }
  int result = have < count ? fail("cannot take the memory") : 0;
  while (have > 0) {
    munmap(pieces[--have], PIECE);
  }
  free(pieces);
  if (result != 0) {
    return result;
  }
  printf("{\"touched_bytes\":%" PRId64 "}\n", (int64_t)count * PIECE);
  return 0;
}

static int drop(int fd)
{
  if (fdatasync(fd) != 0) {
    return -1;
  }
  errno = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  return errno == 0 ? 0 : -1;
}

/// Adds the bytes of the file that are in the page cache.
static int count_resident(int fd, const struct stat *status, int64_t *resident)
{
  int64_t page = sysconf(_SC_PAGESIZE);
  static unsigned char states[WINDOW_PAGES];
  for (int64_t at = 0; at < status->st_size; at += WINDOW_PAGES * page) {
    int64_t left = status->st_size - at;
    int64_t size = left < WINDOW_PAGES * page ? left : WINDOW_PAGES * page;
    void *map = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, at);
    if (map == MAP_FAILED) {
      return -1;
    }
    int result = mincore(map, (size_t)size, states);
    munmap(map, (size_t)size);
    if (result != 0) {
      return -1;
    }
    for (int64_t i = 0; i * page < size; i++) {
      int64_t bytes = size - i * page < page ? size - i * page : page;
      *resident += states[i] & 1 ? bytes : 0;
    }
  }
  return 0;
}

int main(int argc, char **argv)
{
  const char *word = argc > 1 ? argv[1] : "";
  if (strcmp(word, "touch") == 0 && argc == 3) {
    return touch(argv[2]);
  }
  if ((strcmp(word, "drop") != 0 && strcmp(word, "resident") != 0) || argc < 3) {
    fprintf(stderr, "usage: pages touch BYTES | drop FILE... | resident FILE...\n");
    return 2;
  }
  int64_t resident = 0;
  int64_t total = 0;
  for (int i = 2; i < argc; i++) {
    struct stat status;
    int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) {
      return fail(argv[i]);
    }
    if (*word == 'd' && drop(fd) != 0) {
      return fail(argv[i]);
    }
    if (count_resident(fd, &status, &resident) != 0) {
      return fail(argv[i]);
    }
    total += status.st_size;
    close(fd);
  }
  printf("{\"resident_bytes\":%" PRId64 ",\"total_bytes\":%" PRId64 "}\n", resident, total);
  return 0;
}
