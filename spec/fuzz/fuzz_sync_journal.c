// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader of sync journals: whatever lies in the file, each entry that it gives lies in the file as a whole,
// is of some topic, and comes in an order. The checksums of the groups are made right first, so that what they protect
// is looked at too.
//
//   byte 0   0: the bytes as they are  else: groups with right checksums
//   rest     the file, spread over blocks
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc.h"
#include "base/slog.h"
#include "log/sync_journal.h"
#include "os/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_BLOCKS = 9, FUZZ_SIZE = FUZZ_BLOCKS * SYNC_JOURNAL_ALIGN };

static int fuzz_visit(void *arg, const struct sync_entry *entry)
{
  (void)arg;
  CHECK(entry->partition >= 0 && !uuid_is_zero(&entry->topic_id));
  CHECK(entry->kind == SYNC_ENTRY_FORGET || (entry->end_offset > entry->base_offset && entry->base_offset >= 0));
  CHECK(entry->pos > SYNC_JOURNAL_ALIGN && entry->pos + entry->length <= FUZZ_SIZE);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static char path[256];
  static uint8_t bytes[FUZZ_SIZE];
  if (path[0] == '\0') {
    slog_setup(SLOG_ERROR, false);
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/fuzz_sync_journal.%d", base == NULL ? "/tmp" : base, (int)getpid());
  }
  if (size < 1 + FUZZ_BLOCKS) {
    return 0;
  }
  bool is_repaired = data[0] != 0;
  size_t share = (size - 1) / FUZZ_BLOCKS < SYNC_JOURNAL_ALIGN ? (size - 1) / FUZZ_BLOCKS : SYNC_JOURNAL_ALIGN;
  memset(bytes, 0, sizeof bytes);
  for (size_t i = 0; i < FUZZ_BLOCKS; i++) {
    memcpy(bytes + i * SYNC_JOURNAL_ALIGN, data + 1 + i * share, share);
  }
  for (size_t i = 1; i < FUZZ_BLOCKS && is_repaired; i++) {
    uint8_t *group = bytes + i * SYNC_JOURNAL_ALIGN;
    uint32_t length = bytes_get_u32(group + 8) % (2 * SYNC_JOURNAL_ALIGN);
    if (length >= SYNC_JOURNAL_GROUP_HEADER && length <= FUZZ_SIZE - i * SYNC_JOURNAL_ALIGN) {
      memcpy(group, "LSGR", 4);
      bytes_put_u32(group + 8, length);
      bytes_put_u32(group + 4, crc32c(group + 8, length - 8));
    }
  }
  int fd = -1;
  CHECK(file_open(path, FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &fd) == 0);
  CHECK(file_write_at(fd, bytes, sizeof bytes, 0) == 0);
  file_close(fd);
  struct sync_journal journal;
  struct sync_reading reading;
  int opened = sync_journal_open(path, &journal);
  CHECK(opened == 0 || journal.fd >= 0);
  CHECK(sync_journal_read(&journal, fuzz_visit, NULL, &reading) == 0);
  sync_journal_close(&journal);
  unlink(path);
  return 0;
}
