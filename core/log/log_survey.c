// SPDX-License-Identifier: Apache-2.0
#include "log/log_survey.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "log/header_scan.h"
#include "log/leader_epochs.h"
#include "log/producer_state.h"
#include "log/segment.h"
#include "os/dir.h"
#include "os/file.h"
#include "record/iterate.h"

enum {
  SURVEY_SNAPSHOT_MAX = 64 * 1024 * 1024, ///< bytes of a snapshot that is still read
  SURVEY_STEP_BYTES = 64 * 1024,          ///< read at a time for a CRC
  SURVEY_BATCH_MAX = 16 * 1024 * 1024,    ///< bytes of a batch of __transaction_state that is still looked into
  SURVEY_VALUE_ID_POS = 2,                ///< producer id in a value of __transaction_state, after its version
  SURVEY_VALUE_SIZE = SURVEY_VALUE_ID_POS + 8,
};

static const int64_t producer_id_end = INT64_C(1) << 62;

/// A survey under way.
struct survey_work {
  const char *dir;          ///< the folder
  bool has_transactions;    ///< records are looked at
  bool has_metadata;        ///< it has a partition.metadata
  bool has_epochs;          ///< it has a list of leader epochs
  int64_t *bases;           ///< base offsets of its segments, ascending; owned
  size_t base_count;        ///< how many
  int64_t *snapshots;       ///< offsets of its snapshots, ascending; owned
  size_t snapshot_count;    ///< how many
  struct log_survey survey; ///< what was found so far
};

static void add_offset(int64_t **offsets, size_t *count, int64_t offset)
{
  if ((*count & (*count - 1)) == 0) {
    *offsets = mem_realloc(*offsets, (*count == 0 ? 1 : *count * 2) * sizeof **offsets);
  }
  (*offsets)[(*count)++] = offset;
}

static int take_name(void *arg, const char *name, bool is_dir)
{
  struct survey_work *work = arg;
  int64_t offset = 0;
  if (is_dir) {
    return 0;
  }
  if (segment_parse_name(name, ".log", &offset)) {
    add_offset(&work->bases, &work->base_count, offset);
  } else if (segment_parse_name(name, ".snapshot", &offset)) {
    add_offset(&work->snapshots, &work->snapshot_count, offset);
  }
  work->has_metadata = work->has_metadata || strcmp(name, "partition.metadata") == 0;
  return 0;
}

static int compare_offsets(const void *left, const void *right)
{
  int64_t a = *(const int64_t *)left;
  int64_t b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

static bool is_higher(const struct survey_work *work, int64_t producer_id)
{
  return producer_id > work->survey.producer_id && producer_id < producer_id_end;
}

// --- leader epochs and snapshots -------------------------------------------------------------------------------------

static int take_epochs(struct survey_work *work)
{
  struct leader_epochs epochs;
  leader_epochs_create(&epochs);
  int result = leader_epochs_load(&epochs, work->dir, &work->has_epochs);
  work->survey.leader_epoch = leader_epochs_latest(&epochs);
  leader_epochs_destroy(&epochs);
  return result;
}

/// Takes one snapshot's producers. @return 1; 0 when it is no good; ERR_IO ...
static int take_snapshot(struct survey_work *work, int64_t offset)
{
  char *path = segment_path(work->dir, offset, ".snapshot");
  char *bytes = NULL;
  size_t size = 0;
  int result = file_read_all(path, SURVEY_SNAPSHOT_MAX, &bytes, &size);
  mem_free(path);
  if (result < 0) {
    return result == ERR_LIMIT || result == ERR_NOT_FOUND || result == ERR_TRUNCATED ? 0 : result;
  }
  struct producers producers;
  producers_create(&producers);
  result = producers_unpack(&producers, (const uint8_t *)bytes, size, 0);
  LIST_EACH(&producers.by_age, node) {
    const struct producer *producer = CONTAINER_OF(node, struct producer, node);
    if (is_higher(work, producer->id)) {
      work->survey.producer_id = producer->id;
    }
  }
  producers_destroy(&producers);
  mem_free(bytes);
  return result == 0 ? 1 : 0;
}

/// Takes all snapshots. @param[out] newest  offset of the newest good one, -1: none
static int take_snapshots(struct survey_work *work, int64_t *newest)
{
  *newest = -1;
  for (size_t i = 0; i < work->snapshot_count; i++) {
    int result = take_snapshot(work, work->snapshots[i]);
    TRY(result);
    if (result > 0) {
      *newest = work->snapshots[i];
    }
  }
  return 0;
}

// --- batches ---------------------------------------------------------------------------------------------------------

/// Whether a batch's CRC is right.
static int check_crc(int fd, const struct batch_header *header, int64_t pos, bool *is_right)
{
  uint8_t *buffer = mem_alloc(SURVEY_STEP_BYTES);
  int64_t end = pos + (int64_t)header->size;
  uint32_t crc = 0;
  int result = 0;
  for (pos += BATCH_ATTRIBUTES_POS; pos < end && result == 0;) {
    size_t step = end - pos < SURVEY_STEP_BYTES ? (size_t)(end - pos) : SURVEY_STEP_BYTES;
    result = file_read_at(fd, buffer, step, pos);
    crc = result == 0 ? crc32c_update(crc, buffer, step) : crc;
    pos += (int64_t)step;
  }
  mem_free(buffer);
  *is_right = result == 0 && crc == header->crc;
  return result == ERR_TRUNCATED ? 0 : result;
}

/// Takes the producer ids in the records of a batch of __transaction_state.
static int take_transactions(struct survey_work *work, int fd, const struct batch_header *header, int64_t pos)
{
  if (header->size > SURVEY_BATCH_MAX || (header->attributes & BATCH_CONTROL) != 0) {
    return 0;
  }
  uint8_t *bytes = mem_alloc(header->size);
  int result = file_read_at(fd, bytes, header->size, pos);
  if (result == 0 && batch_check(bytes, header->size, NULL) == 0) {
    struct batch_iterator records = {0};
    struct record_view record;
    int more = batch_iterator_open(&records, bytes, header->size, SURVEY_BATCH_MAX);
    while (more == 0 && batch_iterator_next(&records, &record) > 0) {
      int64_t id =
          record.value_size >= SURVEY_VALUE_SIZE ? (int64_t)bytes_get_u64(record.value + SURVEY_VALUE_ID_POS) : -1;
      if (is_higher(work, id)) {
        work->survey.producer_id = id;
      }
    }
    batch_iterator_close(&records);
  }
  mem_free(bytes);
  return result == ERR_TRUNCATED ? 0 : result;
}

static int take_batch(struct survey_work *work, int fd, const struct batch_header *header, int64_t pos)
{
  if (header->leader_epoch > work->survey.leader_epoch && header->leader_epoch <= LOG_SURVEY_EPOCH_MAX) {
    work->survey.leader_epoch = header->leader_epoch;
  }
  if (is_higher(work, header->producer_id)) {
    bool is_right = false;
    TRY(check_crc(fd, header, pos, &is_right));
    if (is_right) {
      work->survey.producer_id = header->producer_id;
    }
  }
  return work->has_transactions ? take_transactions(work, fd, header, pos) : 0;
}

static int take_segment(struct survey_work *work, int64_t base)
{
  char *path = segment_path(work->dir, base, ".log");
  int fd = -1;
  int64_t size = 0;
  int result = file_open(path, FILE_READ, &fd);
  if (result == 0) {
    result = file_size(fd, &size);
  }
  struct header_scan scan;
  struct batch_header header;
  int64_t pos = 0;
  header_scan_begin(&scan, fd, 0, size, true);
  while (result == 0 && (result = header_scan_next_any(&scan, &header, &pos)) > 0) {
    result = header.magic == BATCH_FORMAT_MAX ? take_batch(work, fd, &header, pos) : 0;
  }
  file_close(fd);
  mem_free(path);
  bool is_end = result == ERR_CORRUPT_BATCH || result == ERR_TRUNCATED;
  return is_end ? 0 : result;
}

/// The number of the segment from which on batches are looked at.
static size_t first_segment(const struct survey_work *work, int64_t snapshot)
{
  size_t first = 0;
  if (work->has_transactions || snapshot < 0) {
    return 0;
  }
  while (first + 1 < work->base_count && work->bases[first + 1] <= snapshot) {
    first++;
  }
  // The newest one may be empty, and an epoch must be found.
  return work->has_epochs || first == 0 ? first : first - 1;
}

static int survey_folder(struct survey_work *work)
{
  TRY(dir_list(work->dir, take_name, work));
  work->survey.is_log = work->base_count > 0 || work->has_metadata;
  if (!work->survey.is_log) {
    return 0;
  }
  if (work->base_count > 0) {
    qsort(work->bases, work->base_count, sizeof *work->bases, compare_offsets);
  }
  if (work->snapshot_count > 0) {
    qsort(work->snapshots, work->snapshot_count, sizeof *work->snapshots, compare_offsets);
  }
  int64_t newest = -1;
  TRY(take_epochs(work));
  TRY(take_snapshots(work, &newest));
  for (size_t i = first_segment(work, newest); i < work->base_count; i++) {
    TRY(take_segment(work, work->bases[i]));
  }
  return 0;
}

int log_survey(const char *dir, bool has_transactions, struct log_survey *survey)
{
  struct survey_work work = {.dir = dir, .has_transactions = has_transactions};
  work.survey = (struct log_survey){.leader_epoch = -1, .producer_id = -1};
  int result = survey_folder(&work);
  mem_free(work.bases);
  mem_free(work.snapshots);
  TRY(result);
  *survey = work.survey;
  return 0;
}
