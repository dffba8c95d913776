// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the small text files of a data directory: what is read, if it is, is written again, and is then read as the
// same.
//
//   byte 0   0: a checkpoint of offsets  1: meta.properties  2: partition.metadata
//   rest     the file
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/slog.h"
#include "log/checkpoint.h"
#include "log/meta_properties.h"
#include "log/partition_metadata.h"
#include "os/dir.h"
#include "os/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char fuzz_dir[256];

static void fuzz_setup(void)
{
  if (fuzz_dir[0] != '\0') {
    return;
  }
  slog_setup(SLOG_ERROR, false);
  // In memory where that is to be had: each run syncs files.
  const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
  snprintf(fuzz_dir, sizeof fuzz_dir, "%s/fuzz_log_dir.%d", base == NULL ? "/tmp" : base, (int)getpid());
}

static void fuzz_checkpoint(const char *path)
{
  struct checkpoint first;
  if (checkpoint_read(path, &first) < 0) {
    return;
  }
  CHECK(checkpoint_write(path, first.entries, first.count) == 0);
  struct checkpoint second;
  CHECK(checkpoint_read(path, &second) == 0);
  CHECK(second.count == first.count);
  for (size_t i = 0; i < first.count; i++) {
    int64_t offset = -1;
    CHECK(checkpoint_find(&second, first.entries[i].topic, first.entries[i].partition, &offset));
    CHECK(offset == first.entries[i].offset && offset >= 0);
  }
  checkpoint_destroy(&first);
  checkpoint_destroy(&second);
}

static bool fuzz_is_same(const char *a, const char *b)
{
  return (a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0);
}

static void fuzz_meta_properties(const char *path)
{
  struct meta_properties first;
  struct meta_properties second;
  meta_properties_create(&first);
  meta_properties_create(&second);
  if (meta_properties_read(path, &first) == 0) {
    CHECK(meta_properties_write(path, &first) == 0);
    CHECK(meta_properties_read(path, &second) == 0);
    CHECK(first.node_id == second.node_id && uuid_equal(&first.directory_id, &second.directory_id));
    CHECK(fuzz_is_same(first.cluster_id, second.cluster_id) && fuzz_is_same(first.metadata, second.metadata));
  }
  meta_properties_destroy(&first);
  meta_properties_destroy(&second);
}

static void fuzz_partition_metadata(void)
{
  struct uuid first = {0};
  struct uuid second = {0};
  if (partition_metadata_read(fuzz_dir, &first) == 0) {
    CHECK(partition_metadata_write(fuzz_dir, &first) == 0);
    CHECK(partition_metadata_read(fuzz_dir, &second) == 0);
    CHECK(uuid_equal(&first, &second) && !uuid_is_zero(&first));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  fuzz_setup();
  if (size < 1) {
    return 0;
  }
  static const char *const names[3] = {"checkpoint", "meta.properties", "partition.metadata"};
  int which = data[0] % 3;
  char path[512];
  snprintf(path, sizeof path, "%s/%s", fuzz_dir, names[which]);
  CHECK(dir_make(fuzz_dir) == 0);
  int fd = -1;
  CHECK(file_open(path, FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &fd) == 0);
  CHECK(file_write_at(fd, data + 1, size - 1, 0) == 0);
  file_close(fd);
  if (which == 0) {
    fuzz_checkpoint(path);
  } else if (which == 1) {
    fuzz_meta_properties(path);
  } else {
    fuzz_partition_metadata();
  }
  CHECK(dir_remove_all(fuzz_dir) == 0);
  return 0;
}
