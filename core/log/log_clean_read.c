// SPDX-License-Identifier: Apache-2.0
//
// Reading a closed segment for the cleaner: through a descriptor of its own, some hundred KiB at a time, so that a
// deletion meanwhile does no harm, and no epoch has to be kept. Every batch is checked before anything is decided by
// it.
#include <inttypes.h>

#include "base/bytes.h"
#include "base/crc.h"
#include "base/error.h"
#include "base/mem.h"
#include "log/log_clean_private.h"
#include "os/file.h"

int clean_reader_open(struct clean_reader *reader, const struct clean_segment *seg)
{
  char *path = segment_path(reader->pass->dir, seg->base_offset, ".log");
  clean_reader_close(reader);
  int result = file_open(path, FILE_READ, &reader->fd);
  mem_free(path);
  if (result < 0) {
    reader->fd = -1;
    // Retention has deleted it meanwhile.
    return result == ERR_NOT_FOUND ? ERR_AGAIN : result;
  }
  reader->seg = seg;
  reader->pos = 0;
  reader->next_offset = seg->base_offset;
  reader->window_size = 0;
  return 0;
}

void clean_reader_close(struct clean_reader *reader)
{
  if (reader->seg != NULL) {
    file_close(reader->fd);
    reader->seg = NULL;
    reader->fd = -1;
  }
}

/// Whether so many bytes of the segment at the reader's position are in the window.
static bool has_bytes(const struct clean_reader *reader, size_t size)
{
  return reader->window_size > 0 && reader->pos >= reader->window_pos &&
         reader->pos + (int64_t)size <= reader->window_pos + (int64_t)reader->window_size;
}

/// Reads on from the reader's position: `size` bytes at least, which the segment has.
static int load(struct clean_reader *reader, size_t size)
{
  size_t wanted = reader->pass->settings->io_bytes;
  wanted = wanted < BATCH_HEADER_SIZE ? BATCH_HEADER_SIZE : wanted;
  wanted = wanted < size ? size : wanted;
  if (reader->window_room < wanted || reader->window_room / 4 > wanted) {
    mem_free(reader->window);
    reader->window = mem_alloc(wanted);
    reader->window_room = wanted;
  }
  int64_t left = reader->seg->size - reader->pos;
  wanted = left < (int64_t)wanted ? (size_t)left : wanted;
  reader->window_size = 0;
  TRY(clean_pace(reader->pass, (int64_t)wanted));
  TRY(file_read_at(reader->fd, reader->window, wanted, reader->pos));
  reader->window_size = wanted;
  reader->window_pos = reader->pos;
  return 0;
}

static int fail(const struct clean_reader *reader, const char *why)
{
  return error_set(ERR_CORRUPT_BATCH, "%s/%020" PRId64 ".log: %s at byte %" PRId64, reader->pass->dir,
                   reader->seg->base_offset, why, reader->pos);
}

/// Checks the CRC of a batch that is larger than what is read at a time: nothing is allocated for a size that damage
/// made.
static int check_large(struct clean_reader *reader, const struct batch_header *header)
{
  int64_t pos = reader->pos + BATCH_ATTRIBUTES_POS;
  int64_t end = reader->pos + (int64_t)header->size;
  uint32_t crc = 0;
  reader->window_size = 0;
  while (pos < end) {
    size_t step = end - pos < (int64_t)reader->window_room ? (size_t)(end - pos) : reader->window_room;
    TRY(file_read_at(reader->fd, reader->window, step, pos));
    crc = crc32c_update(crc, reader->window, step);
    pos += (int64_t)step;
  }
  return crc == header->crc ? 0 : fail(reader, "a batch with a wrong CRC");
}

int clean_reader_next(struct clean_reader *reader, struct batch_header *header, const uint8_t **bytes)
{
  int64_t left = reader->seg->size - reader->pos;
  if (left == 0) {
    return 0;
  }
  if (left < BATCH_HEADER_SIZE) {
    return fail(reader, "no whole batch");
  }
  if (!has_bytes(reader, BATCH_HEADER_SIZE)) {
    TRY(load(reader, BATCH_HEADER_SIZE));
  }
  const uint8_t *at = reader->window + (reader->pos - reader->window_pos);
  if (batch_header_peek(at, BATCH_HEADER_SIZE, header) < 0 || (int64_t)header->size > left) {
    return fail(reader, "no batch begins");
  }
  if (!has_bytes(reader, header->size)) {
    if (header->size > reader->pass->settings->io_bytes) {
      TRY(check_large(reader, header));
    }
    TRY(load(reader, header->size));
    at = reader->window + (reader->pos - reader->window_pos);
  }
  if (batch_check(at, header->size, header) < 0) {
    struct error_detail detail = *error_last();
    return fail(reader, detail.message);
  }
  int64_t last_offset = header->base_offset + header->last_offset_delta;
  if (header->base_offset < reader->next_offset || last_offset >= reader->seg->next_base) {
    return fail(reader, "a batch whose offsets do not belong there");
  }
  reader->next_offset = last_offset + 1;
  reader->pos += (int64_t)header->size;
  *bytes = at;
  return 1;
}
