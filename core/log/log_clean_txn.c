// SPDX-License-Identifier: Apache-2.0
//
// Transactions as a pass of the cleaner meets them, from the log's start on: which batches were aborted, by the list
// that the log has (log_transactions.h), and which markers have nothing left in front of them.
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "log/log_clean_private.h"

enum {
  MARKER_KEY_SIZE = 4, ///< version 2, type 2
  MARKER_ABORT = 0,
  MARKER_COMMIT = 1,
};

/// A transaction that is open where the pass is.
struct clean_txn_open {
  struct clean_txn_open *next; ///< in its slot
  int64_t producer_id;         ///< whose it is; in no more than one of each kind
  bool is_aborted;             ///< it will be aborted: `entry` says where it ends
  bool has_records;            ///< a batch of it was met
  struct aborted_entry entry;  ///< aborted: what the log knows of it
};

static struct clean_txn_open **find(struct clean_txn *txn, int64_t producer_id, bool is_aborted)
{
  if (txn->slots == NULL) {
    txn->slots = mem_array(CLEAN_TXN_SLOTS, sizeof(struct clean_txn_open *));
  }
  // Producer ids are given out one after the other.
  struct clean_txn_open **link = &txn->slots[(uint64_t)producer_id % CLEAN_TXN_SLOTS];
  while (*link != NULL && ((*link)->producer_id != producer_id || (*link)->is_aborted != is_aborted)) {
    link = &(*link)->next;
  }
  return link;
}

static struct clean_txn_open *find_or_add(struct clean_txn *txn, int64_t producer_id, bool is_aborted)
{
  struct clean_txn_open **link = find(txn, producer_id, is_aborted);
  if (*link == NULL) {
    *link = mem_zalloc(sizeof **link);
    (*link)->producer_id = producer_id;
    (*link)->is_aborted = is_aborted;
  }
  return *link;
}

static void remove_open(struct clean_txn_open **link)
{
  struct clean_txn_open *gone = *link;
  *link = gone->next;
  mem_free(gone);
}

void clean_txn_reset(struct clean_txn *txn)
{
  for (int i = 0; i < CLEAN_TXN_SLOTS && txn->slots != NULL; i++) {
    while (txn->slots[i] != NULL) {
      remove_open(&txn->slots[i]);
    }
  }
  txn->waiting_count = txn->waiting_next = 0;
  txn->kept_count = 0;
}

void clean_txn_destroy(struct clean_txn *txn)
{
  clean_txn_reset(txn);
  mem_free(txn->waiting);
  mem_free(txn->slots);
  mem_free(txn->kept);
  *txn = (struct clean_txn){0};
}

static int compare_first(const void *a, const void *b)
{
  const struct aborted_entry *left = a;
  const struct aborted_entry *right = b;
  return (left->first_offset > right->first_offset) - (left->first_offset < right->first_offset);
}

void clean_txn_enter(struct clean_txn *txn, const struct log *log, const struct clean_segment *seg)
{
  const struct log_aborted_list *list = atomic_load_explicit(&log->aborted, memory_order_acquire);
  size_t count = 0;
  size_t left = txn->waiting_count - txn->waiting_next;
  for (int32_t i = 0; list != NULL && i < list->count; i++) {
    const struct aborted_entry *entry = &list->entries[i];
    count += entry->last_offset >= seg->base_offset && entry->first_offset < seg->next_base;
  }
  struct aborted_entry *waiting = mem_array(left + count + 1, sizeof *waiting);
  if (left > 0) {
    memcpy(waiting, txn->waiting + txn->waiting_next, left * sizeof *waiting);
  }
  for (int32_t i = 0; count > 0 && i < list->count; i++) {
    const struct aborted_entry *entry = &list->entries[i];
    if (entry->last_offset >= seg->base_offset && entry->first_offset < seg->next_base) {
      waiting[left++] = *entry;
    }
  }
  mem_free(txn->waiting);
  qsort(waiting, left, sizeof *waiting, compare_first);
  txn->waiting = waiting;
  txn->waiting_count = left;
  txn->waiting_next = 0;
}

/// Takes up the aborted transactions that begin at or before an offset.
static void take_up(struct clean_txn *txn, int64_t offset)
{
  while (txn->waiting_next < txn->waiting_count && txn->waiting[txn->waiting_next].first_offset <= offset) {
    const struct aborted_entry *entry = &txn->waiting[txn->waiting_next++];
    struct clean_txn_open *open = find_or_add(txn, entry->producer_id, true);
    if (open->entry.last_offset == 0) {
      open->entry = *entry; // else it began in an earlier segment, and is known from there
    }
  }
}

bool clean_txn_take_data(struct clean_txn *txn, const struct batch_header *header)
{
  take_up(txn, header->base_offset + header->last_offset_delta);
  if ((header->attributes & BATCH_TRANSACTIONAL) == 0) {
    return false;
  }
  struct clean_txn_open *aborted = *find(txn, header->producer_id, true);
  if (aborted != NULL) {
    aborted->has_records = true;
    return true;
  }
  find_or_add(txn, header->producer_id, false);
  return false;
}

static void keep(struct clean_txn *txn, const struct aborted_entry *entry)
{
  if ((txn->kept_count & (txn->kept_count - 1)) == 0) {
    size_t room = txn->kept_count == 0 ? 1 : txn->kept_count * 2;
    txn->kept = mem_realloc(txn->kept, room * sizeof *txn->kept);
  }
  txn->kept[txn->kept_count++] = *entry;
}

/// The type of a marker; -1: the batch is empty, INT32_MAX: it is none of a transaction.
static int32_t marker_type(const struct batch_header *header, const uint8_t *bytes)
{
  struct batch_iterator records = {0};
  struct record_view record;
  int32_t type = INT32_MAX;
  if (header->record_count == 0) {
    return -1;
  }
  if (batch_iterator_open(&records, bytes, header->size, header->size * BATCH_UNPACK_RATIO) == 0 &&
      batch_iterator_next(&records, &record) > 0 && record.key_size >= MARKER_KEY_SIZE) {
    type = bytes_get_u16(record.key + 2);
  }
  batch_iterator_close(&records);
  return type;
}

bool clean_txn_take_control(struct clean_txn *txn, const struct batch_header *header, const uint8_t *bytes)
{
  take_up(txn, header->base_offset + header->last_offset_delta);
  int32_t type = marker_type(header, bytes);
  if (type == -1) {
    return true; // emptied by an earlier pass
  }
  if (type != MARKER_ABORT && type != MARKER_COMMIT) {
    return false;
  }
  struct clean_txn_open **link = find(txn, header->producer_id, type == MARKER_ABORT);
  if (*link == NULL) {
    return true;
  }
  bool has_records = type == MARKER_COMMIT || (*link)->has_records;
  if (type == MARKER_ABORT && has_records) {
    keep(txn, &(*link)->entry);
  }
  remove_open(link);
  return !has_records;
}
