// SPDX-License-Identifier: Apache-2.0
//
// Segments that a Kafka before 0.11 wrote, or a later one with a message.format.version below that: messages of formats
// 0 and 1. Recovery comes upon them when a log is opened, and each such segment is written anew in format 2, once; the
// rest of the program knows batches only.
//
//   <base>.log.cleaned    written, with what is left of the segment behind the messages that can be read, and synced
//   <base>.index ...      removed, synced: recovery makes them anew
//   <base>.log            replaced by the first, synced
//
// A crash in between leaves the segment as it was, or whole in the new form; Kafka and log_folder.c both remove
// *.cleaned at the next start, as a segment that was not finished. Nothing is judged here: where a message cannot be
// read, the bytes from there on are copied as they are, and recovery finds them at its place, cuts and keeps them as it
// does with any damage. Batches of format 2, which follow where message.format.version was raised, are copied as they
// are. The new file has the old one's time, by which retention goes where messages have none.
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/mem.h"
#include "log/header_scan.h"
#include "log/log_private.h"
#include "os/dir.h"
#include "os/file.h"
#include "record/message_batches.h"

enum {
  OLD_STEP_BYTES = 256 * 1024,          ///< read and written at a time
  OLD_UNPACKED_MAX = 256 * 1024 * 1024, ///< bytes that a wrapper may hold; Kafka's own default is a 250th of that
};

/// A segment that is written anew.
struct old_segment {
  const struct log_recovery *recovery; ///< of the whole log
  int64_t base_offset;                 ///< of the segment
  int64_t next_base;                   ///< of the next one
  int from_fd;                         ///< the segment
  int to_fd;                           ///< the new file
  int64_t size;                        ///< bytes of the segment
  struct message_batches batches;      ///< makes batches of its messages
  uint8_t *window;                     ///< bytes of the segment; owned
  size_t window_room;                  ///< bytes allocated
  size_t window_size;                  ///< bytes in it
  int64_t window_pos;                  ///< where they are in the segment
  uint8_t *out;                        ///< OLD_STEP_BYTES, not written yet; owned
  size_t out_size;                     ///< bytes in it
  int64_t out_pos;                     ///< where they belong in the new file
};

static int convert(struct old_segment *work);
static int convert_message(struct old_segment *work, const struct batch_header *header, int64_t pos);
static int check_crc(int fd, int64_t pos, int64_t size, uint8_t *step, bool *is_right);
static int load(struct old_segment *work, int64_t pos, size_t size, const uint8_t **bytes);
static int copy(struct old_segment *work, int64_t pos, int64_t end);
static int write_out(void *arg, const uint8_t *bytes, size_t size);
static int flush_out(struct old_segment *work);
static int put_in_place(const char *dir, int64_t base_offset, const char *from, const char *to);

int log_check_old_message(int fd, int64_t pos, int64_t end, bool *is_old)
{
  *is_old = false;
  if (end - pos < BATCH_LENGTH_MIN + BATCH_OVERHEAD_SIZE) {
    return 0;
  }
  uint8_t prefix[BATCH_PREFIX_SIZE];
  TRY(file_read_at(fd, prefix, sizeof prefix, pos));
  int32_t length = (int32_t)bytes_get_u32(prefix + BATCH_LENGTH_POS);
  int8_t magic = batch_magic(prefix);
  if ((magic != 0 && magic != 1) || length < BATCH_LENGTH_MIN || length > end - pos - BATCH_OVERHEAD_SIZE) {
    return 0;
  }
  uint8_t *step = mem_alloc(OLD_STEP_BYTES);
  int result = check_crc(fd, pos, (int64_t)length + BATCH_OVERHEAD_SIZE, step, is_old);
  mem_free(step);
  return result;
}

int log_convert_segment(struct log_recovery *recovery, int64_t base_offset, int64_t next_base)
{
  const char *dir = log_dir(recovery->log);
  char *path = segment_path(dir, base_offset, ".log");
  char *fresh = segment_path(dir, base_offset, ".log.cleaned");
  struct old_segment work = {
      .recovery = recovery,
      .base_offset = base_offset,
      .next_base = next_base,
      .from_fd = -1,
      .to_fd = -1,
      .out = mem_alloc(OLD_STEP_BYTES),
  };
  message_batches_init(&work.batches, base_offset, !recovery->is_contiguous, OLD_UNPACKED_MAX, write_out, &work);
  int result = file_open(path, FILE_READ, &work.from_fd);
  if (result == 0) {
    result = file_size(work.from_fd, &work.size);
  }
  if (result == 0) {
    result = file_open(fresh, FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &work.to_fd);
  }
  if (result == 0) {
    result = convert(&work);
  }
  int64_t records = work.batches.record_count;
  if (result == 0 && records > 0) {
    result = file_copy_modified(work.from_fd, work.to_fd);
  }
  if (result == 0 && records > 0) {
    result = file_sync(work.to_fd);
  }
  bool was_made = work.to_fd >= 0;
  file_close(work.from_fd);
  file_close(work.to_fd);
  message_batches_destroy(&work.batches);
  mem_free(work.window);
  mem_free(work.out);
  if (result == 0 && records > 0) {
    result = put_in_place(dir, base_offset, fresh, path);
  }
  if (result < 0) {
    struct error_detail detail = *error_last();
    error_record(result, 0, detail.file, detail.line, "%s: cannot be converted from record format 0 or 1: %.*s", path,
                 ERROR_MESSAGE_SIZE / 2, detail.message);
  }
  if (was_made && (result < 0 || records == 0)) {
    struct error_detail detail = *error_last();
    dir_remove_file(fresh); // What cannot be removed now is at the next start.
    if (result < 0) {
      error_record(result, 0, detail.file, detail.line, "%s", detail.message);
    }
  }
  if (result == 0) {
    recovery->is_converted = true;
    recovery->converted_segments += records > 0;
    recovery->converted_records += records;
  }
  mem_free(path);
  mem_free(fresh);
  return result;
}

/// Whether a message cannot be read: what recovery is to find.
static bool is_damage(int result)
{
  return result == ERR_CORRUPT_BATCH || result == ERR_TRUNCATED || result == ERR_MALFORMED ||
         result == ERR_DECOMPRESS || result == ERR_INVALID_RECORD;
}

/// Writes the new file: what can be read, converted where it has to be, and the rest as it is.
static int convert(struct old_segment *work)
{
  struct header_scan scan;
  struct batch_header header;
  int64_t pos = 0;
  int64_t rest = 0;
  int result = 0;
  header_scan_begin(&scan, work->from_fd, 0, work->size, true);
  while ((result = header_scan_next_any(&scan, &header, &pos)) > 0) {
    if (header.magic < BATCH_FORMAT_MAX) {
      result = convert_message(work, &header, pos);
    } else {
      result = message_batches_flush(&work->batches);
      result = result == 0 ? copy(work, pos, scan.pos) : result;
      work->batches.next_offset = header.base_offset + header.last_offset_delta + 1;
    }
    if (result < 0) {
      break;
    }
    rest = scan.pos;
  }
  if (result < 0 && !is_damage(result)) {
    return result;
  }
  TRY(message_batches_flush(&work->batches));
  TRY(copy(work, rest, work->size));
  return flush_out(work);
}

/// Adds a message to the batches. One that does not belong in the segment is left for recovery to judge.
static int convert_message(struct old_segment *work, const struct batch_header *header, int64_t pos)
{
  if (header->base_offset >= work->next_base || header->base_offset - work->base_offset > INT32_MAX) {
    return error_set(ERR_CORRUPT_BATCH, "a message at offset %" PRId64 " in the segment at %" PRId64,
                     header->base_offset, work->base_offset);
  }
  const uint8_t *bytes = NULL;
  if (header->size > OLD_STEP_BYTES) {
    // Nothing is allocated for a size that damage made.
    bool is_right = false;
    TRY(load(work, pos, OLD_STEP_BYTES, &bytes));
    TRY(check_crc(work->from_fd, pos, (int64_t)header->size, work->window, &is_right));
    work->window_size = 0;
    if (!is_right) {
      return error_set(ERR_CORRUPT_BATCH, "a message at offset %" PRId64 " with a wrong CRC", header->base_offset);
    }
  }
  TRY(load(work, pos, header->size, &bytes));
  struct message message;
  const uint8_t *at = bytes;
  int found = message_next(&at, bytes + header->size, &message);
  return found <= 0 ? ERR_CORRUPT_BATCH : message_batches_add(&work->batches, &message);
}

/// Compares the CRC-32 of a message in a file.
///
/// @param step  OLD_STEP_BYTES to read into
static int check_crc(int fd, int64_t pos, int64_t size, uint8_t *step, bool *is_right)
{
  int64_t end = pos + size;
  uint8_t stored[sizeof(uint32_t)];
  TRY(file_read_at(fd, stored, sizeof stored, pos + MESSAGE_CRC_POS));
  uLong crc = crc32(0, NULL, 0);
  for (pos += MESSAGE_MAGIC_POS; pos < end;) {
    size_t wanted = end - pos < OLD_STEP_BYTES ? (size_t)(end - pos) : OLD_STEP_BYTES;
    TRY(file_read_at(fd, step, wanted, pos));
    crc = crc32(crc, step, (uInt)wanted);
    pos += (int64_t)wanted;
  }
  *is_right = crc == bytes_get_u32(stored);
  return 0;
}

/// Makes bytes of the segment readable, and some more with them.
///
/// @param[out] bytes  borrowed until the next call
static int load(struct old_segment *work, int64_t pos, size_t size, const uint8_t **bytes)
{
  if (pos < work->window_pos || pos + (int64_t)size > work->window_pos + (int64_t)work->window_size) {
    size_t wanted = size > OLD_STEP_BYTES ? size : OLD_STEP_BYTES;
    if (work->window_room < wanted) {
      mem_free(work->window);
      work->window = mem_alloc(wanted);
      work->window_room = wanted;
    }
    wanted = work->size - pos < (int64_t)wanted ? (size_t)(work->size - pos) : wanted;
    work->window_size = 0;
    TRY(file_read_at(work->from_fd, work->window, wanted, pos));
    work->window_size = wanted;
    work->window_pos = pos;
  }
  *bytes = work->window + (pos - work->window_pos);
  return 0;
}

/// Copies a part of the segment.
static int copy(struct old_segment *work, int64_t pos, int64_t end)
{
  while (pos < end) {
    const uint8_t *bytes = NULL;
    size_t step = end - pos < OLD_STEP_BYTES ? (size_t)(end - pos) : OLD_STEP_BYTES;
    TRY(load(work, pos, step, &bytes));
    TRY(write_out(work, bytes, step));
    pos += (int64_t)step;
  }
  return 0;
}

/// Appends to the new file.
static int write_out(void *arg, const uint8_t *bytes, size_t size)
{
  struct old_segment *work = arg;
  if (size > (size_t)(INT32_MAX - work->out_pos - (int64_t)work->out_size)) {
    return error_set(ERR_LIMIT, "it would have more than %d bytes", INT32_MAX);
  }
  if (size > OLD_STEP_BYTES - work->out_size) {
    TRY(flush_out(work));
  }
  if (size > OLD_STEP_BYTES) {
    TRY(file_write_at(work->to_fd, bytes, size, work->out_pos));
    work->out_pos += (int64_t)size;
    return 0;
  }
  memcpy(work->out + work->out_size, bytes, size);
  work->out_size += size;
  return 0;
}

static int flush_out(struct old_segment *work)
{
  if (work->out_size == 0) {
    return 0;
  }
  TRY(file_write_at(work->to_fd, work->out, work->out_size, work->out_pos));
  work->out_pos += (int64_t)work->out_size;
  work->out_size = 0;
  return 0;
}

/// Puts the new file in the place of the segment. The indexes go before, for sure: they must not be found beside a file
/// that they do not fit.
static int put_in_place(const char *dir, int64_t base_offset, const char *from, const char *to)
{
  static const char *const indexes[] = {".index", ".timeindex"};
  for (int i = 0; i < 2; i++) {
    char *path = segment_path(dir, base_offset, indexes[i]);
    int result = dir_remove_file(path);
    mem_free(path);
    if (result < 0 && result != ERR_NOT_FOUND) {
      return result;
    }
  }
  TRY(dir_sync(dir));
  TRY(dir_rename(from, to));
  return dir_sync(dir);
}
