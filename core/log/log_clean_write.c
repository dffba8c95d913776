// SPDX-License-Identifier: Apache-2.0
//
// A group of segments written anew as one, <base>.log.cleaned with its indexes, and brought to disk; then it takes
// their place (log_clean_swap.c).
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "log/log_clean_private.h"
#include "log/log_transactions.h"
#include "os/dir.h"
#include "os/file.h"

enum { WRITE_BACK_BYTES = 4 * 1024 * 1024 }; // given to the disk at a time, so that the last sync is a short one

/// A segment that is being written.
struct clean_writer {
  struct log_clean *pass; ///< whose
  struct segment *fresh;  ///< the segment
  int fd;                 ///< its file; -1: none
  uint8_t *out;           ///< not written yet; owned
  size_t out_room;        ///< bytes allocated
  size_t out_size;        ///< bytes in it
  int64_t out_pos;        ///< where they belong in the file
  int64_t begun_pos;      ///< the disk was given what lies below
  bool is_changed;        ///< something is not as it was
};

static int writer_flush(struct clean_writer *writer)
{
  if (writer->out_size == 0) {
    return 0;
  }
  TRY(clean_pace(writer->pass, (int64_t)writer->out_size));
  TRY(file_write_at(writer->fd, writer->out, writer->out_size, writer->out_pos));
  writer->out_pos += (int64_t)writer->out_size;
  writer->out_size = 0;
  if (writer->out_pos - writer->begun_pos >= WRITE_BACK_BYTES) {
    file_start_write_back(writer->fd, writer->begun_pos, writer->out_pos - writer->begun_pos);
    writer->begun_pos = writer->out_pos;
  }
  return 0;
}

static int writer_add(struct clean_writer *writer, const struct batch_header *header, const struct clean_output *output)
{
  int64_t pos = writer->out_pos + (int64_t)writer->out_size;
  if (pos + (int64_t)output->size > INT32_MAX) {
    // Packed anew, batches may be larger than they were.
    return error_set(ERR_LIMIT, "%s/%020" PRId64 ".log: would have more than %d bytes once it is cleaned",
                     writer->pass->dir, writer->fresh->base_offset, INT32_MAX);
  }
  if (output->size > writer->out_room - writer->out_size) {
    TRY(writer_flush(writer));
  }
  if (output->size > writer->out_room) {
    TRY(clean_pace(writer->pass, (int64_t)output->size));
    TRY(file_write_at(writer->fd, output->bytes, output->size, writer->out_pos));
    writer->out_pos += (int64_t)output->size;
  } else {
    memcpy(writer->out + writer->out_size, output->bytes, output->size);
    writer->out_size += output->size;
  }
  segment_add(writer->fresh, writer->pass->dir, writer->pass->config.index_interval_bytes, pos, (int64_t)output->size,
              header->base_offset + header->last_offset_delta, output->timestamp);
  return 0;
}

/// Writes what stays of one segment.
static int write_segment(struct clean_writer *writer, const struct clean_segment *seg)
{
  struct log_clean *pass = writer->pass;
  struct batch_header header;
  const uint8_t *bytes = NULL;
  clean_txn_enter(&pass->txn, pass->log, seg);
  TRY(clean_reader_open(&pass->reader, seg));
  int more = 0;
  while ((more = clean_reader_next(&pass->reader, &header, &bytes)) > 0) {
    struct clean_output output;
    int result = clean_batch(pass, &header, bytes, &output);
    if (result < 0) {
      return clean_fail_batch(pass, &header, result);
    }
    writer->is_changed = writer->is_changed || output.is_changed;
    if (output.bytes != NULL) {
      TRY(writer_add(writer, &header, &output));
    }
  }
  pass->counts->read_bytes += more == 0 ? seg->size : 0;
  return more;
}

static char *cleaned_path(const struct log_clean *pass, int64_t base_offset, const char *suffix)
{
  char name[32];
  snprintf(name, sizeof name, "%s.cleaned", suffix);
  return segment_path(pass->dir, base_offset, name);
}

/// Makes an empty file.
static int create_file(const struct log_clean *pass, int64_t base_offset, const char *suffix, int *fd)
{
  char *path = cleaned_path(pass, base_offset, suffix);
  int result = file_open(path, FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, fd);
  mem_free(path);
  return result;
}

static int create_files(struct clean_writer *writer)
{
  int64_t base_offset = writer->fresh->base_offset;
  TRY(create_file(writer->pass, base_offset, ".log", &writer->fd));
  for (int i = 1; i < 3; i++) {
    int fd = -1;
    TRY(create_file(writer->pass, base_offset, segment_suffixes[i], &fd));
    TRY(file_close(fd));
  }
  return 0;
}

/// Whether one of the old segments has a list of aborted transactions: then the new one has one too, in its place.
static bool has_txn_index(const struct log_clean *pass, int first, int count)
{
  bool has = pass->txn.kept_count > 0;
  for (int i = first; i < first + count && !has; i++) {
    char *path = segment_path(pass->dir, pass->segs[i].base_offset, ".txnindex");
    has = access(path, F_OK) == 0;
    mem_free(path);
  }
  return has;
}

/// Writes the list of the aborted transactions of which something stays.
static int write_txn_index(const struct log_clean *pass, int64_t base_offset)
{
  size_t size = 0;
  uint8_t *bytes = log_transactions_pack(pass->txn.kept, pass->txn.kept_count, &size);
  int fd = -1;
  int result = create_file(pass, base_offset, ".txnindex", &fd);
  if (result == 0) {
    result = file_write_at(fd, bytes, size, 0);
  }
  if (result == 0) {
    result = file_sync(fd);
  }
  file_close(fd);
  mem_free(bytes);
  return result;
}

/// Brings all of the new segment to disk.
static int finish(struct clean_writer *writer, int first, struct clean_swap *swap)
{
  struct log_clean *pass = writer->pass;
  const struct clean_segment *last = &pass->segs[first + swap->count - 1];
  TRY(writer_flush(writer));
  TRY(segment_finish_indexes(writer->fresh, pass->dir, true));
  atomic_store(&writer->fresh->is_index_dirty, true); // also where there are no entries
  TRY(segment_sync_indexes(writer->fresh, pass->dir));
  swap->has_txn_index = has_txn_index(pass, first, swap->count);
  if (swap->has_txn_index) {
    TRY(write_txn_index(pass, writer->fresh->base_offset));
  }
  // By its time retention goes where records have none.
  atomic_store(&writer->fresh->modified_ms, last->modified_ms);
  if (pass->reader.seg != NULL) {
    TRY(file_copy_modified(pass->reader.fd, writer->fd));
  }
  log_count_sync();
  return file_sync(writer->fd);
}

int clean_group(struct log_clean *pass, int first, int count)
{
  int64_t bytes = 0;
  for (int i = first; i < first + count; i++) {
    bytes += pass->segs[i].size;
  }
  if (pass->settings->check_space != NULL) {
    TRY(pass->settings->check_space(pass->settings->arg, bytes));
  }
  struct clean_writer writer = {
      .pass = pass,
      .fresh = segment_new(pass->segs[first].base_offset, &pass->config, pass->now_ms),
      .fd = -1,
      .out_room = pass->settings->io_bytes,
      .is_changed = count > 1,
  };
  struct clean_swap swap = {.fresh = writer.fresh, .first = first, .count = count};
  writer.out = mem_alloc(writer.out_room);
  writer.fresh->name_suffix = ".cleaned";
  pass->txn.kept_count = 0;
  int result = create_files(&writer);
  for (int i = first; i < first + count && result == 0; i++) {
    result = write_segment(&writer, &pass->segs[i]);
  }
  if (result == 0 && writer.is_changed) {
    result = finish(&writer, first, &swap);
  }
  clean_reader_close(&pass->reader);
  file_close(writer.fd);
  mem_free(writer.out);
  int64_t size = atomic_load(&writer.fresh->size);
  if (result < 0 || !writer.is_changed) {
    clean_swap_discard(pass, &swap);
    segment_free(writer.fresh);
  } else {
    result = clean_swap(pass, &swap);
  }
  if (result == 0) {
    pass->counts->written_bytes += size;
    pass->counts->segments_before += count;
    pass->counts->segments_after++;
  }
  return result;
}
