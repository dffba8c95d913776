// SPDX-License-Identifier: Apache-2.0
//
// What the files of a pass of the log cleaner share:
//
//   log_clean.c         look, the pass                log_clean_txn.c    transactions on the way
//   log_clean_read.c    the batches of a segment      log_clean_batch.c  what of a batch stays
//   log_clean_write.c   a group of segments anew      log_clean_swap.c   new segments in the place of old ones
#pragma once

#include "log/cleaner_offset_map.h"
#include "log/log_clean.h"
#include "log/log_private.h"
#include "record/batch.h"
#include "record/buffer.h"
#include "record/iterate.h"

struct log_clean;

/// A segment as it was when the pass began; closed, so it does not change.
struct clean_segment {
  int64_t base_offset; ///< first offset it can hold
  int64_t next_base;   ///< where the next one begins
  int64_t size;        ///< bytes of batches
  int64_t index_bytes; ///< of the larger index
  int64_t modified_ms; ///< wall time of its last append
};

/// A producer that the log knows.
struct clean_producer {
  int64_t id;          ///< producer id
  int64_t last_offset; ///< of its last record; -1: it has only written markers
  int16_t epoch;       ///< its latest epoch
};

// --- log_clean_read.c ------------------------------------------------------------------------------------------------

/// Reads the batches of one segment after the other. All zero: none is open.
struct clean_reader {
  struct log_clean *pass;          ///< whose
  const struct clean_segment *seg; ///< at hand
  int fd;                          ///< its file; -1: none
  int64_t pos;                     ///< of the next batch
  int64_t next_offset;             ///< the least that it may begin with
  uint8_t *window;                 ///< bytes of the segment; owned
  size_t window_room;              ///< bytes allocated
  size_t window_size;              ///< bytes in it
  int64_t window_pos;              ///< where they are in the segment
};

int clean_reader_open(struct clean_reader *reader, const struct clean_segment *seg);

/// Gives the next batch, checked: CRC, and offsets that rise within the segment.
///
/// @param[out] bytes  borrowed until the next call
/// @return 1; 0 at the end; ERR_CORRUPT_BATCH ... ERR_IO, or what pace() gave
int clean_reader_next(struct clean_reader *reader, struct batch_header *header, const uint8_t **bytes);

/// Closes the segment's file; the memory stays for the next one.
void clean_reader_close(struct clean_reader *reader);

// --- log_clean_txn.c -------------------------------------------------------------------------------------------------

struct clean_txn_open;

enum { CLEAN_TXN_SLOTS = 1024 }; ///< of the table of open transactions

/// The transactions that are open at a place of the log, known by what came before (Kafka's
/// CleanedTransactionMetadata).
struct clean_txn {
  struct aborted_entry *waiting; ///< aborted ones that begin later, by first offset; owned
  size_t waiting_count;          ///< how many
  size_t waiting_next;           ///< the first that was not taken yet
  struct clean_txn_open **slots; ///< open ones with records so far, and aborted ones; by producer id; owned
  struct aborted_entry *kept;    ///< aborted ones of which something stays, by last offset; owned
  size_t kept_count;             ///< how many
};

/// Forgets all.
void clean_txn_reset(struct clean_txn *txn);

/// Adds the aborted transactions that have something in a segment.
void clean_txn_enter(struct clean_txn *txn, const struct log *log, const struct clean_segment *seg);

/// Takes a batch with records. @return true: it was aborted, so that its records may go
bool clean_txn_take_data(struct clean_txn *txn, const struct batch_header *header);

/// Takes a control batch. @return true: nothing of its transaction came before it, so that it may go in time
bool clean_txn_take_control(struct clean_txn *txn, const struct batch_header *header, const uint8_t *bytes);

void clean_txn_destroy(struct clean_txn *txn);

// --- log_clean_batch.c -----------------------------------------------------------------------------------------------

/// What stays of a batch.
struct clean_output {
  const uint8_t *bytes; ///< borrowed until the next batch; NULL: nothing
  size_t size;          ///< bytes
  int64_t timestamp;    ///< largest, -1: none
  bool is_changed;      ///< it is not as it was
};

/// Decides about a batch, and makes what stays of it.
int clean_batch(struct log_clean *pass, const struct batch_header *header, const uint8_t *bytes,
                struct clean_output *output);

/// Largest size that the records of a batch may unpack to.
size_t clean_unpack_limit(const struct log_clean *pass, const struct batch_header *header);

// --- log_clean_write.c -----------------------------------------------------------------------------------------------

/// Writes segments `first` to `first` + `count` - 1 anew, as one, and puts that in their place.
int clean_group(struct log_clean *pass, int first, int count);

// --- log_clean_swap.c ------------------------------------------------------------------------------------------------

/// A new segment for the place of old ones.
struct clean_swap {
  struct segment *fresh; ///< owned until it is put in place
  int first;             ///< of the old segments
  int count;             ///< of these
  bool has_txn_index;    ///< there is a .txnindex.cleaned
  bool is_given_up;      ///< it is not to be put in place after all
  bool is_in_list;       ///< it was put in place: it is the log's
};

/// Puts a segment whose files are called *.cleaned, and are on disk, in the place of the old ones.
///
/// @return 0; the segment is the log's. Or ERR_*: it is not, and its files are gone
int clean_swap(struct log_clean *pass, struct clean_swap *swap);

/// Removes the files of a segment that is not needed, whatever they are called by now.
void clean_swap_discard(const struct log_clean *pass, const struct clean_swap *swap);

// --- log_clean.c -----------------------------------------------------------------------------------------------------

/// A pass.
struct log_clean {
  struct log *log;                           ///< borrowed
  const struct log_clean_settings *settings; ///< borrowed
  struct log_clean_counts *counts;           ///< borrowed
  struct log_config config;                  ///< the log's when it began
  char *dir;                                 ///< the log's folder; owned
  int64_t now_ms;                            ///< wall time of the pass
  int64_t first_offset;                      ///< first dirty one
  int64_t limit_offset;                      ///< first one that may not be cleaned
  int64_t mapped_offset;                     ///< what lies below is in the map; first dirty offset afterwards
  uint64_t cuts;                             ///< of the log when it began, and through swaps of its own
  struct clean_segment *segs;                ///< those below `limit_offset`, oldest first; owned
  int seg_count;                             ///< how many
  struct clean_producer *producers;          ///< by id; owned
  int32_t producer_count;                    ///< how many
  struct cleaner_offset_map map;             ///< the newest offsets
  struct clean_txn txn;                      ///< open transactions at the place at hand
  struct clean_reader reader;                ///< where that is
  struct batch_iterator records;             ///< of the batch at hand
  struct record_buffer plain;                ///< what stays of it
  struct record_buffer packed;               ///< the same, compressed
  struct clean_swap *swap;                   ///< at hand, for the appender
  int result;                                ///< of a step that the appender made
};

/// Waits as long as reading or writing so many bytes would be too much. May leave the epoch.
int clean_pace(struct log_clean *pass, int64_t bytes);

/// Names the batch in a failure that comes from within it. @return `result`, whatever it is
int clean_fail_batch(const struct log_clean *pass, const struct batch_header *header, int result);

/// Runs a step while holding the appender. @return its result, or ERR_AGAIN when the log is gone
int clean_with_appender(struct log_clean *pass, int (*run)(struct log_clean *pass));
