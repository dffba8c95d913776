// SPDX-License-Identifier: Apache-2.0
//
// Topics with a compression.type of their own: a batch that comes in another codec is unpacked and packed again, on the
// pool, because that takes long. While it is under way the connection's next Produce is held back, so that it does not
// overtake this one.
#include <string.h>

#include "api/api.h"
#include "api/errors.h"
#include "api/produce_private.h"
#include "api/request.h"
#include "base/error.h"
#include "base/list.h"
#include "metadata/topic_config.h"
#include "network/connection.h"
#include "network/frame.h"
#include "record/codec.h"
#include "record/iterate.h"
#include "record/recompress.h"
#include "replica/partition.h"
#include "wire/error_codes.h"

void produce_choose_codec(struct produce_part *part, const struct topic_config *config)
{
  part->level = CODEC_LEVEL_DEFAULT;
  switch (config->compression_type) {
    case TOPIC_COMPRESSION_UNCOMPRESSED:
      part->codec = CODEC_NONE;
      break;
    case TOPIC_COMPRESSION_ZSTD:
      part->codec = CODEC_ZSTD;
      part->level = config->compression_zstd_level;
      break;
    case TOPIC_COMPRESSION_LZ4:
      part->codec = CODEC_LZ4;
      part->level = config->compression_lz4_level;
      break;
    case TOPIC_COMPRESSION_SNAPPY:
      part->codec = CODEC_SNAPPY;
      break;
    case TOPIC_COMPRESSION_GZIP:
      part->codec = CODEC_GZIP;
      part->level = config->compression_gzip_level >= 1 ? config->compression_gzip_level : CODEC_LEVEL_DEFAULT;
      break;
    default:
      part->codec = -1;
      break;
  }
}

bool produce_needs_recompress(const struct produce_part *part)
{
  return part->codec >= 0 && part->records.length >= BATCH_HEADER_SIZE &&
         batch_needs_recompress(part->records.data, part->codec);
}

static size_t produce_unpack_limit(const struct produce_part *part)
{
  return (size_t)part->max_message_bytes * BATCH_UNPACK_RATIO;
}

static void produce_recompress_work(struct pool_job *job)
{
  struct produce_part *part = CONTAINER_OF(job, struct produce_part, pool);
  record_buffer_init(&part->packed, produce_unpack_limit(part) + BATCH_HEADER_SIZE);
  int result = batch_recompress(part->records.data, part->verdict.header.size, part->codec, part->level,
                                produce_unpack_limit(part), &part->packed);
  if (result == 0 && part->packed.size > (size_t)part->max_message_bytes) {
    result = ERR_BATCH_TOO_LARGE;
  }
  if (result < 0) {
    part->error = result == ERR_LIMIT ? WIRE_MESSAGE_TOO_LARGE : api_wire_error(result);
  }
}

static void produce_recompress_done(struct pool_job *job)
{
  struct produce_part *part = CONTAINER_OF(job, struct produce_part, pool);
  struct produce *produce = part->produce;
  struct request *req = produce->req;
  struct partition *found = part->found;
  part->found = NULL;
  if (part->error == WIRE_NONE) {
    produce_append(part, found, part->packed.bytes, part->packed.size);
  } else {
    record_buffer_destroy(&part->packed);
  }
  partition_unref(found);
  if (req->client != NULL && --req->client->hold_count == 0) {
    connection_resume(req->frame->conn);
  }
  produce_release(produce);
}

void produce_recompress(struct produce_part *part, struct partition *found)
{
  struct produce *produce = part->produce;
  struct request *req = produce->req;
  part->found = partition_ref(found);
  produce->pending++;
  req->client->hold_count++;
  pool_submit(req->api->pool, &part->pool, produce_recompress_work, req->worker->loop, produce_recompress_done);
}
