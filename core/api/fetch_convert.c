// SPDX-License-Identifier: Apache-2.0
//
// The answers of Fetch 0 to 3: what was found is in format 2, which those clients do not know. The pool reads it and
// writes it anew, as message sets of format 0 (Fetch 0 and 1) or 1; the answer is sent from that memory.
//
//   worker: fetch_convert() takes the slices, and memory -> pool: read, convert -> worker: fetch_send()
//
// What this takes is bounded: a partition gets as many bytes as the client takes of it, or its first batch, and all of
// them together what the request may have, or one batch; and when much has been unpacked, the rest is for the next
// fetch. Many such answers together keep to the memory of answers: each takes what it may come to before it is made,
// and waits in line for that. As in Apache Kafka 3.9, a batch that cannot be said in the old formats ends the records
// of its partition, and is an error only as the first; and where batches were read but none has anything to give
// (transaction markers alone), the answer is the head of a message too large to be whole, so that a client sees that
// its limit is too small for what comes next.
#include <string.h>

#include "api/api.h"
#include "api/errors.h"
#include "api/fetch_private.h"
#include "api/request.h"
#include "base/bytes.h"
#include "base/error.h"
#include "log/log.h"
#include "metadata/image.h"
#include "os/file.h"
#include "record/batch.h"
#include "record/down_convert.h"
#include "replica/manager.h"
#include "wire/error_codes.h"

enum {
  FETCH_TIMESTAMP_VERSION = 2,       // first version with messages of format 1
  FETCH_CHUNK_BYTES = 256 * 1024,    // read at a time, unless a batch is larger
  FETCH_WORK_BYTES = 256 << 20,      // unpacked for one request, and what the batch at hand takes beyond
  FETCH_MESSAGE_BYTES_MAX = 1 << 20, // for the topic that went away meanwhile
};

/// A partition's records on their way through the pool.
struct fetch_converted {
  struct fetch_item *item;  ///< whose they are; for the worker
  struct log_slice slice;   ///< what to read, owned
  struct record_buffer out; ///< the message set, owned
  int64_t first_offset;     ///< what the client asked for
  int64_t max_bytes;        ///< what the client takes of this partition
  size_t work_limit;        ///< bytes that any batch may take while it is converted; large ones get more
  int result;               ///< 0, or why there is nothing
};

/// The work of one request.
struct fetch_conversion {
  struct fetch_made made;        ///< memory for it; the worker's, but for `made.fetch`
  struct pool_job job;           ///< its turn on the pool
  struct fetch_converted *parts; ///< in the order of the answer
  int32_t count;                 ///< how many
  int magic;                     ///< format wanted
  int64_t left_bytes;            ///< what the answer may still grow by
  int64_t left_work;             ///< bytes of records that may still be unpacked
  struct down_convert convert;   ///< memory for one batch
  struct record_buffer raw;      ///< bytes read
};

/// Whether nobody waits for the answer any more. What is queued behind clients that have gone, or when the broker
/// stops, would keep the pool for minutes.
static bool fetch_convert_is_unwanted(const struct fetch_conversion *all)
{
  return atomic_load_explicit(&all->made.fetch->is_unwanted, memory_order_relaxed);
}

/// Gives a batch room by its size where max.message.bytes is less now than when it was written.
static void fetch_convert_make_room(struct fetch_conversion *all, struct fetch_converted *part, size_t size)
{
  size_t limit = size * BATCH_UNPACK_RATIO > part->work_limit ? size * BATCH_UNPACK_RATIO : part->work_limit;
  size_t out_limit = limit < INT32_MAX / 2 ? 2 * limit : INT32_MAX;
  all->convert.work_limit = limit;
  if (part->out.size == 0 && part->out.limit < out_limit) {
    part->out.limit = out_limit;
  }
}

/// Converts one batch; what is right so far stays.
///
/// @return 1 to go on, 0 when the records end here, ERR_*
static int fetch_convert_batch(struct fetch_conversion *all, struct fetch_converted *part, const uint8_t *bytes,
                               size_t size)
{
  bool is_first = part->out.size == 0;
  if (fetch_convert_is_unwanted(all)) {
    return 0;
  }
  fetch_convert_make_room(all, part, size);
  int result = down_convert_batch(&all->convert, bytes, size, all->magic, part->first_offset, &part->out);
  if (result < 0) {
    // An error is for the fetch that begins with it.
    return part->out.size > 0 ? 0 : (result == ERR_LIMIT ? ERR_BATCH_TOO_LARGE : result);
  }
  all->left_work -= (int64_t)all->convert.unpacked_bytes;
  if (is_first && part->out.size > 0) {
    int64_t limit = part->max_bytes < all->left_bytes ? part->max_bytes : all->left_bytes;
    record_buffer_trim(&part->out, (size_t)limit);
  }
  return part->out.size == 0 || all->left_work > 0 ? 1 : 0;
}

/// The head of a message that is not there.
static int fetch_put_overflow(struct record_buffer *out)
{
  enum { OVERFLOW_BYTES = 12, OVERFLOW_SIZE = BATCH_HEADER_SIZE };
  TRY(record_buffer_reserve(out, OVERFLOW_BYTES));
  bytes_put_u64(out->bytes, UINT64_MAX);
  bytes_put_u32(out->bytes + BATCH_LENGTH_POS, OVERFLOW_SIZE);
  out->size = OVERFLOW_BYTES;
  return 0;
}

/// Converts the whole batches at `bytes`.
///
/// @param[out] done  bytes of those
/// @return 1 to go on behind them, 0 when the records end here, ERR_*
static int fetch_convert_chunk(struct fetch_conversion *all, struct fetch_converted *part, const uint8_t *bytes,
                               size_t size, size_t *done)
{
  size_t at = 0;
  int64_t batch_bytes;
  while ((batch_bytes = fetch_batch_size(bytes + at, size - at)) > 0 && (size_t)batch_bytes <= size - at) {
    int more = fetch_convert_batch(all, part, bytes + at, (size_t)batch_bytes);
    if (more <= 0) {
      return more;
    }
    at += (size_t)batch_bytes;
  }
  if (batch_bytes < 0) {
    return part->out.size > 0 ? 0 : error_set(ERR_CORRUPT_BATCH, "a stored batch has an impossible size");
  }
  *done = at;
  return 1;
}

/// Reads a slice piece by piece, and converts the whole batches of each.
static int fetch_convert_slice(struct fetch_conversion *all, struct fetch_converted *part)
{
  int64_t pos = part->slice.pos;
  int64_t left = part->slice.length;
  int64_t wanted = FETCH_CHUNK_BYTES;
  // Room for a first batch of any kind; after that the limits of the request hold.
  record_buffer_init(&part->out, part->work_limit < INT32_MAX / 2 ? 2 * part->work_limit : INT32_MAX);
  while (left > 0) {
    size_t size = (size_t)(wanted < left ? wanted : left);
    record_buffer_reset(&all->raw, (size_t)part->slice.length);
    TRY(record_buffer_reserve(&all->raw, size));
    TRY(file_read_at(log_file_fd(part->slice.file), all->raw.bytes, size, pos));
    size_t done = 0;
    int more = fetch_convert_chunk(all, part, all->raw.bytes, size, &done);
    if (more <= 0) {
      return more;
    }
    pos += (int64_t)done;
    left -= (int64_t)done;
    wanted = FETCH_CHUNK_BYTES;
    if (done == 0) {
      wanted = fetch_batch_size(all->raw.bytes, size);
      if (wanted == 0 || wanted > left) {
        break; // a piece of a batch
      }
    }
  }
  return pos > part->slice.pos && part->out.size == 0 ? fetch_put_overflow(&part->out) : 0;
}

static void fetch_convert_work(struct pool_job *job)
{
  struct fetch_conversion *all = CONTAINER_OF(job, struct fetch_conversion, job);
  for (int32_t i = 0; i < all->count && (i == 0 || (all->left_bytes > 0 && all->left_work > 0)); i++) {
    struct fetch_converted *part = &all->parts[i];
    part->result = fetch_convert_slice(all, part);
    if (part->result < 0) {
      record_buffer_destroy(&part->out);
    } else {
      record_buffer_trim(&part->out, 0);
      all->left_bytes -= (int64_t)part->out.size;
    }
  }
  down_convert_destroy(&all->convert);
  record_buffer_destroy(&all->raw);
}

/// What a client is told of records that cannot be converted.
static int16_t fetch_convert_error(int result)
{
  switch (result) {
    case ERR_DECOMPRESS:
    case ERR_INVALID_RECORD:
    case ERR_TRUNCATED:
      return WIRE_CORRUPT_MESSAGE; // stored without a look into it
    default:
      return api_wire_error(result);
  }
}

static void fetch_convert_done(struct pool_job *job)
{
  struct fetch_conversion *all = CONTAINER_OF(job, struct fetch_conversion, job);
  for (int32_t i = 0; i < all->count; i++) {
    struct fetch_converted *part = &all->parts[i];
    struct fetch_item *item = part->item;
    item->read.slice.length = (int32_t)part->out.size;
    item->converted = part->out.bytes;
    if (part->result < 0) {
      item->error = fetch_convert_error(part->result);
      if (part->result == ERR_IO) {
        error_set(ERR_IO, "records to convert cannot be read"); // the pool's thread knows more, but that is another one
        replica_manager_read_failed(item->part->manager, item->part, &part->slice, part->result);
      }
    }
    log_slice_release(&part->slice);
  }
  fetch_made_send(&all->made);
}

static void fetch_convert_drop(struct fetch_made *made)
{
  struct fetch_conversion *all = CONTAINER_OF(made, struct fetch_conversion, made);
  for (int32_t i = 0; i < all->count; i++) {
    log_slice_release(&all->parts[i].slice);
  }
}

static void fetch_convert_begin(struct fetch_made *made)
{
  struct fetch_conversion *all = CONTAINER_OF(made, struct fetch_conversion, made);
  const struct request *req = made->fetch->req;
  pool_submit_long(req->api->pool, &all->job, fetch_convert_work, req->worker->loop, fetch_convert_done);
}

void fetch_convert_leave(struct fetch *fetch)
{
  fetch_made_leave(&fetch->conversion->made);
}

/// What the answer may come to, about: messages of old formats take more than records of today.
static int64_t fetch_convert_size(const struct fetch_conversion *all)
{
  int64_t total = 0;
  for (int32_t i = 0; i < all->count; i++) {
    const struct fetch_converted *part = &all->parts[i];
    int64_t most = 2 * (int64_t)part->slice.length;
    total += most < part->max_bytes ? most : part->max_bytes > 0 ? part->max_bytes : 0;
  }
  return total < all->left_bytes ? total : all->left_bytes;
}

bool fetch_convert_refuse(const struct metadata_topic *topic, struct fetch_item *item)
{
  if (topic == NULL || topic->config.compression_type != TOPIC_COMPRESSION_ZSTD ||
      metadata_topic_partition(topic, item->index) == NULL) {
    return false;
  }
  item->error = WIRE_UNSUPPORTED_COMPRESSION_TYPE;
  log_slice_release(&item->read.slice);
  return true;
}

/// Readies an item: takes its slice over, or says that its topic is not for clients of this age.
static void fetch_convert_item(struct fetch_conversion *all, const struct metadata_image *image,
                               struct fetch_item *item)
{
  const struct metadata_topic *topic = metadata_image_topic(image, item->topic, (size_t)item->topic_length);
  if (fetch_convert_refuse(topic, item)) {
    return;
  }
  if (item->error != WIRE_NONE || item->read.slice.length == 0) {
    return;
  }
  int32_t batch_max = topic != NULL ? topic->config.max_message_bytes : FETCH_MESSAGE_BYTES_MAX;
  struct fetch_converted *part = &all->parts[all->count++];
  part->item = item;
  part->slice = item->read.slice;
  part->first_offset = item->offset;
  part->max_bytes = item->max_bytes;
  part->work_limit = (size_t)(batch_max > BATCH_HEADER_SIZE ? batch_max : BATCH_HEADER_SIZE) * BATCH_UNPACK_RATIO;
  item->read.slice.file = NULL;
  item->read.slice.length = 0;
}

bool fetch_convert(struct fetch *fetch)
{
  struct request *req = fetch->req;
  struct fetch_conversion *all = arena_zalloc(&req->arena, sizeof *all);
  all->parts = request_array(req, fetch->set->count, sizeof *all->parts);
  all->made = (struct fetch_made){.fetch = fetch, .begin = fetch_convert_begin, .drop = fetch_convert_drop};
  all->magic = req->version >= FETCH_TIMESTAMP_VERSION ? 1 : 0;
  all->left_bytes = fetch->max_bytes > 0 ? fetch->max_bytes : 0;
  all->left_work = FETCH_WORK_BYTES;
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  LIST_EACH(&fetch->set->ready, node) {
    struct fetch_item *item = CONTAINER_OF(node, struct fetch_item, link);
    if (item->is_visited) {
      fetch_convert_item(all, image, item);
    }
  }
  if (all->count == 0) {
    return false;
  }
  fetch->conversion = all;
  fetch_made_start(&all->made, fetch_convert_size(all));
  return true;
}
