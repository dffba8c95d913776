// SPDX-License-Identifier: Apache-2.0
#include "log/leader_epochs.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slog.h"
#include "os/file.h"

enum {
  LEADER_EPOCHS_FILE_MAX = 16 * 1024 * 1024, ///< bytes of a file that is still read
  LEADER_EPOCHS_LINE_MAX = 33,               ///< "2147483647 9223372036854775807\n" and a NUL
};

static const char leader_epochs_name[] = "leader-epoch-checkpoint";

static struct leader_epoch_list *leader_epochs_new_list(int32_t room)
{
  return mem_zalloc(sizeof(struct leader_epoch_list) + (size_t)room * sizeof(struct leader_epoch));
}

void leader_epochs_create(struct leader_epochs *epochs)
{
  atomic_init(&epochs->list, leader_epochs_new_list(0));
  atomic_init(&epochs->written, 0);
  pthread_mutex_init(&epochs->write_lock, NULL);
}

void leader_epochs_destroy(struct leader_epochs *epochs)
{
  mem_free(atomic_load_explicit(&epochs->list, memory_order_relaxed));
  pthread_mutex_destroy(&epochs->write_lock);
}

static const struct leader_epoch_list *leader_epochs_get(const struct leader_epochs *epochs)
{
  return atomic_load_explicit(&epochs->list, memory_order_acquire);
}

static void leader_epochs_free_list(struct epoch_retired *retired)
{
  mem_free(CONTAINER_OF(retired, struct leader_epoch_list, retired));
}

/// Puts a new version in the place of the old one.
static void leader_epochs_replace(struct leader_epochs *epochs, struct leader_epoch_list *fresh)
{
  struct leader_epoch_list *old = atomic_load_explicit(&epochs->list, memory_order_relaxed);
  fresh->version = old->version + 1;
  atomic_store(&epochs->list, fresh);
  epoch_retire(&old->retired, leader_epochs_free_list);
}

/// Parses one line of two numbers; NULL when it is none.
static const char *leader_epochs_parse_line(const char *at, struct leader_epoch *entry)
{
  char *rest = NULL;
  long long epoch = strtoll(at, &rest, 10);
  if (rest == at || *rest != ' ' || epoch < 0 || epoch > INT32_MAX) {
    return NULL;
  }
  at = rest + 1;
  long long start_offset = strtoll(at, &rest, 10);
  if (rest == at || (*rest != '\n' && *rest != '\0') || start_offset < 0) {
    return NULL;
  }
  *entry = (struct leader_epoch){.epoch = (int32_t)epoch, .start_offset = start_offset};
  return *rest == '\n' ? rest + 1 : rest;
}

/// Parses the file; NULL when it makes no sense.
static struct leader_epoch_list *leader_epochs_parse(const char *text, size_t size)
{
  char *at_count = NULL;
  if (strncmp(text, "0\n", 2) != 0) {
    return NULL;
  }
  long long count = strtoll(text + 2, &at_count, 10);
  if (at_count == text + 2 || *at_count != '\n' || count < 0 || (unsigned long long)count > size / 4) {
    return NULL;
  }
  struct leader_epoch_list *list = leader_epochs_new_list((int32_t)count);
  const char *at = at_count + 1;
  for (; list->count < count; list->count++) {
    struct leader_epoch *entry = &list->entries[list->count];
    at = leader_epochs_parse_line(at, entry);
    if (at == NULL ||
        (list->count > 0 && (entry->epoch <= entry[-1].epoch || entry->start_offset < entry[-1].start_offset))) {
      mem_free(list);
      return NULL;
    }
  }
  return list;
}

int leader_epochs_load(struct leader_epochs *epochs, const char *dir, bool *is_found)
{
  char *path = mem_printf("%s/%s", dir, leader_epochs_name);
  char *text = NULL;
  size_t size = 0;
  int result = file_read_all(path, LEADER_EPOCHS_FILE_MAX, &text, &size);
  *is_found = false;
  if (result == 0) {
    struct leader_epoch_list *list = leader_epochs_parse(text, size);
    if (list == NULL) {
      slog_warn("%s cannot be read as a list of leader epochs: it is made anew from the batches", path);
    } else {
      leader_epochs_replace(epochs, list);
      atomic_store(&epochs->written, list->version);
      *is_found = true;
    }
  }
  mem_free(text);
  mem_free(path);
  return result == ERR_NOT_FOUND ? 0 : result;
}

/// Writes one version of the list.
static int leader_epochs_write_list(const struct leader_epoch_list *list, const char *dir)
{
  size_t room = 32 + (size_t)list->count * LEADER_EPOCHS_LINE_MAX;
  char *text = mem_alloc(room);
  size_t size = (size_t)snprintf(text, room, "0\n%" PRId32 "\n", list->count);
  for (int32_t i = 0; i < list->count; i++) {
    const struct leader_epoch *entry = &list->entries[i];
    size += (size_t)snprintf(text + size, room - size, "%" PRId32 " %" PRId64 "\n", entry->epoch, entry->start_offset);
  }
  char *path = mem_printf("%s/%s", dir, leader_epochs_name);
  int result = file_replace(path, text, size);
  mem_free(path);
  mem_free(text);
  return result;
}

int leader_epochs_write(struct leader_epochs *epochs, const char *dir)
{
  pthread_mutex_lock(&epochs->write_lock);
  const struct leader_epoch_list *list = leader_epochs_get(epochs);
  int result = 0;
  if (list->version != atomic_load(&epochs->written)) {
    result = leader_epochs_write_list(list, dir);
    if (result == 0) {
      atomic_store(&epochs->written, list->version);
    }
  }
  pthread_mutex_unlock(&epochs->write_lock);
  return result;
}

int leader_epochs_write_copy(struct leader_epochs *epochs, const char *dir)
{
  return leader_epochs_write_list(leader_epochs_get(epochs), dir);
}

void leader_epochs_set_unwritten(struct leader_epochs *epochs)
{
  atomic_store(&epochs->written, UINT64_MAX);
}

void leader_epochs_assign(struct leader_epochs *epochs, int32_t epoch, int64_t start_offset)
{
  const struct leader_epoch_list *old = leader_epochs_get(epochs);
  if (epoch < 0 || (old->count > 0 && old->entries[old->count - 1].epoch == epoch)) {
    return;
  }
  int32_t kept = old->count;
  while (kept > 0 && (old->entries[kept - 1].epoch >= epoch || old->entries[kept - 1].start_offset >= start_offset)) {
    kept--;
  }
  struct leader_epoch_list *fresh = leader_epochs_new_list(kept + 1);
  memcpy(fresh->entries, old->entries, (size_t)kept * sizeof *fresh->entries);
  fresh->entries[kept] = (struct leader_epoch){.epoch = epoch, .start_offset = start_offset};
  fresh->count = kept + 1;
  leader_epochs_replace(epochs, fresh);
}

void leader_epochs_truncate_end(struct leader_epochs *epochs, int64_t end_offset)
{
  const struct leader_epoch_list *old = leader_epochs_get(epochs);
  int32_t kept = old->count;
  while (kept > 0 && old->entries[kept - 1].start_offset >= end_offset) {
    kept--;
  }
  if (kept == old->count) {
    return;
  }
  struct leader_epoch_list *fresh = leader_epochs_new_list(kept);
  memcpy(fresh->entries, old->entries, (size_t)kept * sizeof *fresh->entries);
  fresh->count = kept;
  leader_epochs_replace(epochs, fresh);
}

void leader_epochs_truncate_start(struct leader_epochs *epochs, int64_t start_offset)
{
  const struct leader_epoch_list *old = leader_epochs_get(epochs);
  int32_t gone = 0;
  while (gone < old->count && old->entries[gone].start_offset <= start_offset) {
    gone++;
  }
  // The last of them may reach beyond the offset.
  gone = gone > 0 ? gone - 1 : 0;
  if (old->count == 0 || old->entries[gone].start_offset >= start_offset) {
    return;
  }
  struct leader_epoch_list *fresh = leader_epochs_new_list(old->count - gone);
  fresh->count = old->count - gone;
  memcpy(fresh->entries, old->entries + gone, (size_t)fresh->count * sizeof *fresh->entries);
  fresh->entries[0].start_offset = start_offset;
  leader_epochs_replace(epochs, fresh);
}

int32_t leader_epochs_latest(const struct leader_epochs *epochs)
{
  const struct leader_epoch_list *list = leader_epochs_get(epochs);
  return list->count > 0 ? list->entries[list->count - 1].epoch : -1;
}

void leader_epochs_end_offset(const struct leader_epochs *epochs, int32_t epoch, int64_t log_end, int32_t *found,
                              int64_t *end_offset)
{
  const struct leader_epoch_list *list = leader_epochs_get(epochs);
  *found = -1;
  *end_offset = -1;
  int32_t higher = 0;
  while (higher < list->count && list->entries[higher].epoch <= epoch) {
    higher++;
  }
  if (epoch == -1 || list->count == 0) {
    return;
  }
  if (higher == list->count) {
    // At or beyond the latest: known only if it is the latest.
    if (list->entries[higher - 1].epoch == epoch) {
      *found = epoch;
      *end_offset = log_end;
    }
    return;
  }
  *found = higher > 0 ? list->entries[higher - 1].epoch : epoch;
  *end_offset = list->entries[higher].start_offset;
}

int32_t leader_epochs_for_offset(const struct leader_epochs *epochs, int64_t offset)
{
  const struct leader_epoch_list *list = leader_epochs_get(epochs);
  int32_t after = list->count;
  while (after > 0 && list->entries[after - 1].start_offset > offset) {
    after--;
  }
  return after > 0 ? list->entries[after - 1].epoch : -1;
}
