// SPDX-License-Identifier: Apache-2.0
#include "log/sync_journal.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc.h"
#include "base/error.h"
#include "base/mem.h"
#include "log/log_private.h"
#include "os/dir.h"
#include "os/errinj.h"
#include "os/file.h"

enum {
  JOURNAL_VERSION = 1,
  JOURNAL_HEADER_BYTES = SYNC_JOURNAL_ALIGN, // the block that says what the file is
  JOURNAL_HEADER_USED = 40,
  JOURNAL_STEP_BYTES = 1024 * 1024, // zeros written at a time
  GROUP_CRC_FROM = 8,               // what the checksum of a group covers begins here
};

static const uint32_t JOURNAL_MAGIC = 0x4c53594eU; // "LSYN"
static const uint32_t GROUP_MAGIC = 0x4c534752U;   // "LSGR"

/// A group found in the file.
struct found_group {
  int64_t pos;       ///< of its first byte in the file
  uint64_t sequence; ///< its number
  uint32_t length;   ///< bytes
  uint32_t count;    ///< entries
};

/// Those found so far.
struct found_groups {
  struct found_group *items; ///< owned
  size_t count;              ///< how many
  size_t room;               ///< slots
};

static int64_t half_pos(const struct sync_journal *journal, int half)
{
  return JOURNAL_HEADER_BYTES + half * journal->half_bytes;
}

static int64_t align(int64_t size)
{
  return (size + SYNC_JOURNAL_ALIGN - 1) / SYNC_JOURNAL_ALIGN * SYNC_JOURNAL_ALIGN;
}

// --- the file --------------------------------------------------------------------------------------------------------

/// magic 4 | crc 4 (of what follows) | version 4 | unused 4 | half bytes 8 | id 16
static int write_header(struct sync_journal *journal)
{
  uint8_t block[JOURNAL_HEADER_BYTES] = {0};
  bytes_put_u32(block, JOURNAL_MAGIC);
  bytes_put_u32(block + 8, JOURNAL_VERSION);
  bytes_put_u64(block + 16, (uint64_t)journal->half_bytes);
  memcpy(block + 24, journal->id.bytes, sizeof journal->id.bytes);
  bytes_put_u32(block + 4, crc32c(block + 8, JOURNAL_HEADER_USED - 8));
  TRY(file_write_at(journal->fd, block, sizeof block, 0));
  return file_sync_data(journal->fd);
}

static void begin_life(struct sync_journal *journal)
{
  uuid_random(&journal->id);
  journal->sequence = 1;
  journal->half = 0;
  journal->pos = 0;
}

/// Writes zeros over all of it: its blocks are there from now on, and no flush has to note that they were written.
static int fill(struct sync_journal *journal)
{
  int64_t size = JOURNAL_HEADER_BYTES + 2 * journal->half_bytes;
  TRY(file_reserve(journal->fd, 0, size));
  uint8_t *zeros = mem_zalloc(JOURNAL_STEP_BYTES);
  int result = 0;
  for (int64_t pos = 0; pos < size && result == 0; pos += JOURNAL_STEP_BYTES) {
    int64_t step = size - pos < JOURNAL_STEP_BYTES ? size - pos : JOURNAL_STEP_BYTES;
    result = file_write_at(journal->fd, zeros, (size_t)step, pos);
  }
  mem_free(zeros);
  return result;
}

int sync_journal_create(const char *path, int64_t half_bytes, struct sync_journal *journal)
{
  struct sync_journal made = {.fd = -1, .half_bytes = half_bytes};
  CHECK(half_bytes > 0 && half_bytes % SYNC_JOURNAL_ALIGN == 0);
  begin_life(&made);
  char *temporary = mem_printf("%s.tmp", path);
  int result = file_open(temporary, FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &made.fd);
  result = result < 0 ? result : fill(&made);
  result = result < 0 ? result : write_header(&made);
  result = result < 0 ? result : file_sync(made.fd);
  result = result < 0 ? result : dir_rename(temporary, path);
  if (result == 0) {
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? mem_strdup(".") : mem_printf("%.*s/", (int)(slash - path), path);
    result = dir_sync(folder);
    mem_free(folder);
  }
  if (result < 0) {
    struct error_detail detail = *error_last();
    file_close(made.fd);
    dir_remove_file(temporary);
    error_record(result, 0, detail.file, detail.line, "%.*s", ERROR_MESSAGE_SIZE - 1, detail.message);
  } else {
    *journal = made;
  }
  mem_free(temporary);
  return result;
}

static int read_header(struct sync_journal *journal, const char *path)
{
  uint8_t block[JOURNAL_HEADER_USED];
  int64_t size = 0;
  TRY(file_size(journal->fd, &size));
  // What a damaged header is thought to have said: the size of the file says it too.
  journal->half_bytes = (size - JOURNAL_HEADER_BYTES) / 2 / SYNC_JOURNAL_ALIGN * SYNC_JOURNAL_ALIGN;
  if (size < JOURNAL_HEADER_BYTES || journal->half_bytes > SYNC_JOURNAL_HALF_MAX) {
    journal->half_bytes = 0;
    return error_set(ERR_CORRUPT, "%s has %lld bytes, which no sync journal has", path, (long long)size);
  }
  TRY(file_read_at(journal->fd, block, sizeof block, 0));
  if (bytes_get_u32(block) != JOURNAL_MAGIC || bytes_get_u32(block + 4) != crc32c(block + 8, sizeof block - 8) ||
      bytes_get_u32(block + 8) != JOURNAL_VERSION || (int64_t)bytes_get_u64(block + 16) != journal->half_bytes) {
    return error_set(ERR_CORRUPT, "%s does not begin as a sync journal does", path);
  }
  memcpy(journal->id.bytes, block + 24, sizeof journal->id.bytes);
  return 0;
}

int sync_journal_open(const char *path, struct sync_journal *journal)
{
  *journal = (struct sync_journal){.fd = -1};
  TRY(file_open(path, FILE_WRITE, &journal->fd));
  int result = read_header(journal, path);
  if (result < 0 && result != ERR_CORRUPT) {
    sync_journal_close(journal);
  }
  return result;
}

int sync_journal_reset(struct sync_journal *journal)
{
  begin_life(journal);
  return write_header(journal);
}

void sync_journal_close(struct sync_journal *journal)
{
  file_close(journal->fd);
  journal->fd = -1;
}

// --- groups ----------------------------------------------------------------------------------------------------------

uint8_t *sync_group_reserve(struct sync_group *group, size_t length)
{
  group->size = group->size == 0 ? SYNC_JOURNAL_GROUP_HEADER : group->size;
  size_t needed = group->size + SYNC_JOURNAL_ENTRY_HEADER + length;
  if (needed + SYNC_JOURNAL_ALIGN > group->room) {
    // With room for the zeros that fill the last block.
    group->room = needed + needed / 2 + SYNC_JOURNAL_ALIGN;
    group->bytes = mem_realloc(group->bytes, group->room);
  }
  return group->bytes + group->size + SYNC_JOURNAL_ENTRY_HEADER;
}

void sync_group_add(struct sync_group *group, const struct sync_entry *entry)
{
  uint8_t *at = group->bytes + group->size;
  memcpy(at, entry->topic_id.bytes, sizeof entry->topic_id.bytes);
  bytes_put_u32(at + 16, (uint32_t)entry->partition);
  bytes_put_u32(at + 20, entry->kind);
  bytes_put_u64(at + 24, (uint64_t)entry->base_offset);
  bytes_put_u64(at + 32, (uint64_t)entry->end_offset);
  bytes_put_u64(at + 40, (uint64_t)entry->log_start_offset);
  bytes_put_u32(at + 48, entry->length);
  group->size += SYNC_JOURNAL_ENTRY_HEADER + entry->length;
  group->count++;
}

void sync_group_destroy(struct sync_group *group)
{
  mem_free(group->bytes);
  *group = (struct sync_group){0};
}

bool sync_journal_fits(const struct sync_journal *journal, const struct sync_group *group)
{
  return journal->pos + align((int64_t)group->size) <= journal->half_bytes;
}

void sync_journal_turn(struct sync_journal *journal)
{
  journal->half = 1 - journal->half;
  journal->pos = 0;
}

/// magic 4 | crc 4 (of what follows) | length 4 | count 4 | sequence 8 | id 16 | entries
int sync_journal_write(struct sync_journal *journal, struct sync_group *group)
{
  CHECK(group->count > 0 && group->size <= SYNC_JOURNAL_GROUP_MAX && sync_journal_fits(journal, group));
  size_t size = (size_t)align((int64_t)group->size);
  uint8_t *bytes = group->bytes;
  memset(bytes + group->size, 0, size - group->size);
  bytes_put_u32(bytes, GROUP_MAGIC);
  bytes_put_u32(bytes + 8, (uint32_t)group->size);
  bytes_put_u32(bytes + 12, group->count);
  bytes_put_u64(bytes + 16, journal->sequence);
  memcpy(bytes + 24, journal->id.bytes, sizeof journal->id.bytes);
  bytes_put_u32(bytes + 4, crc32c(bytes + GROUP_CRC_FROM, group->size - GROUP_CRC_FROM));
  TRY(file_write_at(journal->fd, bytes, size, half_pos(journal, journal->half) + journal->pos));
  int injected = errinj_check(ERRINJ_LOG_FLUSH);
  if (injected != 0) {
    return error_set(ERR_IO, "cannot sync a sync journal: %s", strerror(injected));
  }
  log_count_sync();
  TRY(file_sync_data(journal->fd));
  journal->pos += (int64_t)size;
  journal->sequence++;
  return 0;
}

// --- reading ---------------------------------------------------------------------------------------------------------

/// Looks whether a group lies there. The buffer has SYNC_JOURNAL_GROUP_MAX bytes, and holds it then.
///
/// @return 1, 0: none, ERR_IO
static int read_group(const struct sync_journal *journal, int64_t pos, int64_t end, uint8_t *buffer,
                      struct found_group *group)
{
  TRY(file_read_at(journal->fd, buffer, SYNC_JOURNAL_GROUP_HEADER, pos));
  uint32_t length = bytes_get_u32(buffer + 8);
  if (bytes_get_u32(buffer) != GROUP_MAGIC || length < SYNC_JOURNAL_GROUP_HEADER || length > SYNC_JOURNAL_GROUP_MAX ||
      length > end - pos) {
    return 0;
  }
  TRY(file_read_at(journal->fd, buffer + SYNC_JOURNAL_GROUP_HEADER, length - SYNC_JOURNAL_GROUP_HEADER,
                   pos + SYNC_JOURNAL_GROUP_HEADER));
  if (bytes_get_u32(buffer + 4) != crc32c(buffer + GROUP_CRC_FROM, length - GROUP_CRC_FROM)) {
    return 0;
  }
  *group = (struct found_group){
      .pos = pos, .sequence = bytes_get_u64(buffer + 16), .length = length, .count = bytes_get_u32(buffer + 12)};
  return 1;
}

/// Finds the groups of a half: those of this life, with rising numbers.
static int find_groups(const struct sync_journal *journal, int half, uint8_t *buffer, struct found_groups *groups)
{
  int64_t pos = half_pos(journal, half);
  int64_t end = pos + journal->half_bytes;
  uint64_t last = 0;
  while (pos < end) {
    struct found_group group;
    int found = read_group(journal, pos, end, buffer, &group);
    TRY(found);
    bool is_ours = found > 0 && memcmp(buffer + 24, journal->id.bytes, sizeof journal->id.bytes) == 0;
    if (!is_ours || group.sequence <= last) {
      // Perhaps one that is damaged: others may follow it.
      pos += SYNC_JOURNAL_ALIGN;
      continue;
    }
    if (groups->count == groups->room) {
      groups->room = groups->room == 0 ? 64 : groups->room * 2;
      groups->items = mem_realloc(groups->items, groups->room * sizeof *groups->items);
    }
    groups->items[groups->count++] = group;
    last = group.sequence;
    pos += align(group.length);
  }
  return 0;
}

static int compare_groups(const void *left, const void *right)
{
  const struct found_group *a = left;
  const struct found_group *b = right;
  return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

/// Gives the entries of a group that is in the buffer; stops where one makes no sense.
static int visit_entries(const struct found_group *group, const uint8_t *buffer,
                         int (*visit)(void *arg, const struct sync_entry *entry), void *arg)
{
  uint32_t at = SYNC_JOURNAL_GROUP_HEADER;
  for (uint32_t i = 0; i < group->count && group->length - at >= SYNC_JOURNAL_ENTRY_HEADER; i++) {
    const uint8_t *bytes = buffer + at;
    struct sync_entry entry = {
        .partition = (int32_t)bytes_get_u32(bytes + 16),
        .kind = bytes_get_u32(bytes + 20),
        .base_offset = (int64_t)bytes_get_u64(bytes + 24),
        .end_offset = (int64_t)bytes_get_u64(bytes + 32),
        .log_start_offset = (int64_t)bytes_get_u64(bytes + 40),
        .length = bytes_get_u32(bytes + 48),
        .pos = group->pos + at + SYNC_JOURNAL_ENTRY_HEADER,
    };
    memcpy(entry.topic_id.bytes, bytes, sizeof entry.topic_id.bytes);
    at += SYNC_JOURNAL_ENTRY_HEADER;
    if (entry.length > group->length - at) {
      break;
    }
    at += entry.length;
    bool is_forget = entry.kind == SYNC_ENTRY_FORGET;
    bool is_records = entry.kind == SYNC_ENTRY_RECORDS && entry.base_offset >= 0 &&
                      entry.end_offset > entry.base_offset && entry.length > 0;
    if (entry.partition < 0 || uuid_is_zero(&entry.topic_id) || !(is_forget || is_records)) {
      continue;
    }
    int result = visit(arg, &entry);
    if (result != 0) {
      return result;
    }
  }
  return 0;
}

/// The id of a file whose header does not say it. A life of it begins with the first half, which so has a group of the
/// newest life first, unless that is being written over: by then the second half has groups of it. Sequence numbers say
/// nothing, as each life begins with 1.
static int guess_id(struct sync_journal *journal, uint8_t *buffer)
{
  int found = 0;
  for (int half = 0; half < 2 && found == 0; half++) {
    struct found_group group;
    int64_t pos = half_pos(journal, half);
    found = journal->half_bytes == 0 ? 0 : read_group(journal, pos, pos + journal->half_bytes, buffer, &group);
    TRY(found);
    if (found > 0) {
      memcpy(journal->id.bytes, buffer + 24, sizeof journal->id.bytes);
    }
  }
  return 0;
}

int sync_journal_read(const struct sync_journal *journal, int (*visit)(void *arg, const struct sync_entry *entry),
                      void *arg, struct sync_reading *reading)
{
  struct sync_journal known = *journal;
  struct found_groups groups = {0};
  uint8_t *buffer = mem_alloc(SYNC_JOURNAL_GROUP_MAX);
  *reading = (struct sync_reading){0};
  int result = uuid_is_zero(&known.id) ? guess_id(&known, buffer) : 0;
  for (int half = 0; half < 2 && result == 0; half++) {
    result = find_groups(&known, half, buffer, &groups);
  }
  if (result == 0 && groups.count > 0) {
    qsort(groups.items, groups.count, sizeof *groups.items, compare_groups);
    reading->groups = groups.count;
    reading->missing = groups.items[groups.count - 1].sequence - groups.items[0].sequence + 1 - groups.count;
  }
  for (size_t i = 0; i < groups.count && result == 0; i++) {
    struct found_group again;
    int found = read_group(&known, groups.items[i].pos, groups.items[i].pos + groups.items[i].length, buffer, &again);
    result = found > 0 ? visit_entries(&groups.items[i], buffer, visit, arg) : found;
  }
  mem_free(buffer);
  mem_free(groups.items);
  return result;
}
