// SPDX-License-Identifier: Apache-2.0
#include "load_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "load_client.h"
#include "load_options.h"
#include "record/batch.h"
#include "record/iterate.h"
#include "wire/apis.h"
#include "wire/error_codes.h"
#include "wire/fetch.h"

enum {
  SOURCE_SHIFT = 36,  ///< bits of a number that count; above them stand run and connection
  NUMBER_DIGITS = 16, ///< hexadecimal digits at the start of a value
  LINES_MAX = 100000000,
};

/// An acknowledged batch.
struct acked {
  int32_t partition;    ///< where
  int32_t count;        ///< records
  int64_t base_offset;  ///< offset of the first
  uint64_t first_value; ///< number of the first
};

/// The newest number seen of a run and connection in the partition that is being read.
struct source {
  uint64_t key;  ///< run and connection
  uint64_t last; ///< newest number
};

struct check {
  const struct load_options *options; ///< of the run
  struct acked *acked;                ///< by partition, then offset
  size_t count;                       ///< of `acked`
  size_t next;                        ///< first that is not found yet
  int32_t found_of_next;              ///< its records found so far
  struct source *sources;             ///< of the current partition
  size_t source_count;                ///< of `sources`
  int64_t records;                    ///< records read
  int64_t found;                      ///< acknowledged records found in their places
  int64_t lost;                       ///< acknowledged records that are not there
  int64_t wrong;                      ///< other records in their places
  int64_t disordered;                 ///< records that stand after a later one of their connection, or twice
  int64_t corrupt;                    ///< bad batches
};

static int compare_acked(const void *left, const void *right)
{
  const struct acked *a = left;
  const struct acked *b = right;
  int order = (a->partition > b->partition) - (a->partition < b->partition);
  return order != 0 ? order : (a->base_offset > b->base_offset) - (a->base_offset < b->base_offset);
}

/// Parses "<partition> <base offset> <records> <number of the first, in hexadecimal>".
static bool parse_line(const char *line, struct acked *acked)
{
  char *at = NULL;
  errno = 0;
  long long partition = strtoll(line, &at, 10);
  acked->base_offset = strtoll(at, &at, 10);
  long long count = strtoll(at, &at, 10);
  acked->first_value = strtoull(at, &at, 16);
  acked->partition = (int32_t)partition;
  acked->count = (int32_t)count;
  return errno == 0 && *at == '\n' && partition >= 0 && partition <= INT32_MAX && count > 0 && count <= INT32_MAX &&
         acked->base_offset >= 0;
}

static int read_file(struct check *check)
{
  FILE *file = fopen(check->options->acked_path, "re");
  if (file == NULL) {
    return error_set(ERR_NOT_FOUND, "cannot open %s", check->options->acked_path);
  }
  char line[256];
  size_t room = 0;
  int result = 0;
  while (result == 0 && fgets(line, sizeof line, file) != NULL) {
    struct acked one;
    if (line[0] == '#') {
      continue;
    }
    if (strchr(line, '\n') == NULL) {
      break; // the writer was killed in the middle of a line
    }
    if (check->count >= LINES_MAX || !parse_line(line, &one)) {
      result = error_set(ERR_MALFORMED, "%s: what is '%.40s'?", check->options->acked_path, line);
      break;
    }
    if (check->count == room) {
      room = room == 0 ? 1024 : room * 2;
      check->acked = mem_realloc(check->acked, room * sizeof *check->acked);
    }
    check->acked[check->count++] = one;
  }
  fclose(file);
  if (check->count > 0) {
    qsort(check->acked, check->count, sizeof *check->acked, compare_acked);
  }
  return result;
}

static void take_order(struct check *check, uint64_t number)
{
  uint64_t key = number >> SOURCE_SHIFT;
  for (size_t i = 0; i < check->source_count; i++) {
    if (check->sources[i].key == key) {
      check->disordered += number <= check->sources[i].last;
      check->sources[i].last = number;
      return;
    }
  }
  check->sources = mem_realloc(check->sources, (check->source_count + 1) * sizeof *check->sources);
  check->sources[check->source_count++] = (struct source){.key = key, .last = number};
}

/// Acknowledged batches that lie wholly below an offset and were not met are lost.
static void pass_over(struct check *check, int32_t partition, int64_t offset)
{
  while (check->next < check->count) {
    const struct acked *acked = &check->acked[check->next];
    if (acked->partition > partition || (acked->partition == partition && acked->base_offset + acked->count > offset)) {
      return;
    }
    check->lost += acked->count - check->found_of_next;
    check->found_of_next = 0;
    check->next++;
  }
}

static void take_record(struct check *check, int32_t partition, const struct record_view *record)
{
  char digits[NUMBER_DIGITS + 1] = "";
  char *end = digits;
  if (record->value_size >= NUMBER_DIGITS) {
    memcpy(digits, record->value, NUMBER_DIGITS);
  }
  uint64_t number = strtoull(digits, &end, 16);
  bool is_numbered = end == digits + NUMBER_DIGITS;
  check->records++;
  if (is_numbered) {
    take_order(check, number);
  }
  pass_over(check, partition, record->offset);
  if (check->next == check->count) {
    return;
  }
  const struct acked *acked = &check->acked[check->next];
  if (acked->partition != partition || record->offset < acked->base_offset) {
    return;
  }
  if (is_numbered && number == acked->first_value + (uint64_t)(record->offset - acked->base_offset)) {
    check->found++;
  } else {
    check->wrong++;
  }
  check->found_of_next++;
}

/// Takes the batches of one answer; the last may be cut.
static void take_batches(struct check *check, int32_t partition, const struct wire_records *records, int64_t *offset)
{
  struct batch_iterator iterator = {0};
  struct batch_header header;
  size_t size = records->length > 0 ? (size_t)records->length : 0;
  for (size_t at = 0; at < size; at += header.size) {
    int result = batch_check(records->data + at, size - at, &header);
    if (result == ERR_TRUNCATED) {
      break;
    }
    struct record_view record;
    int more =
        result < 0 ? result : batch_iterator_open(&iterator, records->data + at, header.size, LOAD_BATCH_BYTES_MAX);
    while (more == 0 && (more = batch_iterator_next(&iterator, &record)) > 0) {
      if (record.offset >= *offset) {
        take_record(check, partition, &record);
      }
      more = 0;
    }
    if (more < 0) {
      check->corrupt++;
      break;
    }
    *offset = header.base_offset + header.last_offset_delta + 1;
  }
  batch_iterator_close(&iterator);
}

static int read_partition(struct check *check, int fd, int32_t partition, const struct load_partition *where)
{
  struct arena arena = {0};
  int64_t offset = where->start_offset;
  int result = 0;
  while (result == 0 && offset < where->end_offset && check->corrupt == 0) {
    struct wire_fetch_request_fetch_partition part;
    wire_fetch_request_fetch_partition_init(&part);
    part.partition = partition;
    part.fetch_offset = offset;
    part.partition_max_bytes = check->options->partition_max_bytes;
    struct wire_fetch_request_fetch_topic topic;
    wire_fetch_request_fetch_topic_init(&topic);
    topic.topic = wire_string_from(check->options->topic);
    topic.partitions = &part;
    topic.partitions_count = 1;
    struct wire_fetch_request request;
    wire_fetch_request_init(&request);
    request.max_bytes = check->options->max_bytes;
    request.session_epoch = -1;
    request.topics = &topic;
    request.topics_count = 1;
    request.rack_id = wire_string_from("");
    struct wire_fetch_response response;
    result = client_call(fd, WIRE_API_FETCH, LOAD_VERSION_FETCH, &request, &response, &arena);
    if (result == 0 && (response.responses_count != 1 || response.responses[0].partitions_count != 1 ||
                        response.responses[0].partitions[0].error_code != WIRE_NONE)) {
      result = error_set(ERR_INVALID, "cannot fetch partition %d from offset %" PRId64, partition, offset);
    }
    int64_t before = offset;
    if (result == 0) {
      take_batches(check, partition, &response.responses[0].partitions[0].records, &offset);
    }
    if (result == 0 && offset == before && check->corrupt == 0) {
      result = error_set(ERR_INVALID, "partition %d gives nothing from offset %" PRId64 ", its end is %" PRId64,
                         partition, offset, where->end_offset);
    }
    arena_reset(&arena);
  }
  arena_destroy(&arena);
  return result;
}

int load_check(const struct load_options *options, const struct load_cluster *cluster)
{
  struct check check = {.options = options};
  int result = read_file(&check);
  for (int32_t p = 0; result == 0 && p < cluster->partition_count; p++) {
    int fd = -1;
    pass_over(&check, p - 1, INT64_MAX);
    check.source_count = 0;
    result = client_connect(&cluster->brokers[cluster->partitions[p].broker].address, &fd);
    if (result == 0) {
      result = read_partition(&check, fd, p, &cluster->partitions[p]);
      close(fd);
    }
  }
  if (result == 0) {
    pass_over(&check, INT32_MAX, INT64_MAX);
    int64_t acked = 0;
    for (size_t i = 0; i < check.count; i++) {
      acked += check.acked[i].count;
    }
    printf("{\"check\":{\"acked\":%" PRId64 ",\"found\":%" PRId64 ",\"lost\":%" PRId64 ",\"wrong\":%" PRId64
           ",\"disordered\":%" PRId64 ",\"corrupt\":%" PRId64 ",\"records\":%" PRId64 "}}\n",
           acked, check.found, check.lost, check.wrong, check.disordered, check.corrupt, check.records);
    result = check.found != acked || check.wrong + check.disordered + check.corrupt > 0;
  }
  mem_free(check.acked);
  mem_free(check.sources);
  return result;
}
