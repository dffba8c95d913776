// SPDX-License-Identifier: Apache-2.0
//
// Writes: the records that a change of state stands for, until they are on the log and replayed; and the requests that
// wait for that.
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "coordinator/group_request.h"
#include "coordinator/records.h"
#include "coordinator/shard_kinds.h"
#include "coordinator/shard_state.h"
#include "wire/codec.h"
#include "wire/error_codes.h"
#include "wire/writer.h"

enum { WRITE_RECORDS_FEW = 4 };

/// One record; its bytes lie in the write's buffer.
struct group_record {
  size_t at;          ///< where its key begins; the value follows
  int32_t key_size;   ///< bytes
  int32_t value_size; ///< bytes; -1: a tombstone
};

struct group_write {
  struct list link;                           ///< among the shard's writes
  struct group *group;                        ///< the group, which counts it
  group_written_fn written;                   ///< may be NULL
  void *arg;                                  ///< for it
  struct group_write *rest;                   ///< where it goes on; NULL: nowhere. Owned
  bool holds_up;                              ///< requests to the group wait
  char **gone;                                ///< topics that went while it was under way, or NULL; owned, as they are
  int32_t gone_count;                         ///< how many
  struct wire_writer bytes;                   ///< keys and values
  int32_t count;                              ///< records
  int32_t room;                               ///< of `records`
  struct group_record *records;               ///< `few`, or owned
  struct group_record few[WRITE_RECORDS_FEW]; ///< most writes have no more
};

// ---- making one ----

struct group_write *group_write_new(struct group *group, bool holds_up, group_written_fn written, void *arg)
{
  struct group_write *write = mem_zalloc(sizeof *write);
  list_create(&write->link);
  write->group = group;
  write->holds_up = holds_up;
  write->written = written;
  write->arg = arg;
  write->records = write->few;
  write->room = WRITE_RECORDS_FEW;
  group->flight_count++;
  group->write_count += holds_up ? 1 : 0;
  return write;
}

struct group_write *group_write_more(struct group_write *write)
{
  CHECK(write->rest == NULL);
  write->rest = group_write_new(write->group, write->holds_up, write->written, write->arg);
  write->written = NULL;
  return write->rest;
}

/// A place for one more record, which begins where the bytes end now.
static struct group_record *write_next(struct group_write *write)
{
  if (write->count == write->room) {
    size_t size = (size_t)write->room * sizeof *write->records;
    if (write->records == write->few) {
      write->records = mem_alloc(size * 2);
      memcpy(write->records, write->few, size);
    } else {
      write->records = mem_realloc(write->records, size * 2);
    }
    write->room *= 2;
  }
  struct group_record *record = &write->records[write->count++];
  *record = (struct group_record){.at = write->bytes.size, .value_size = -1};
  return record;
}

void group_write_add(struct group_write *write, const uint8_t *key, int32_t key_size, const uint8_t *value,
                     int32_t value_size)
{
  struct group_record *record = write_next(write);
  wire_writer_raw(&write->bytes, key, (size_t)key_size);
  record->key_size = key_size;
  if (value != NULL) {
    wire_writer_raw(&write->bytes, value, (size_t)value_size);
    record->value_size = value_size;
  }
}

void group_write_add_message(struct group_write *write, int16_t kind, const struct wire_codec *key_codec,
                             const void *key, const struct wire_codec *value_codec, const void *value,
                             int16_t value_version)
{
  struct group_record *record = write_next(write);
  struct wire_writer *w = &write->bytes;
  wire_writer_i16(w, kind);
  CHECK(key_codec->write(key, w, 0) == 0);
  record->key_size = (int32_t)(w->size - record->at);
  if (value_codec != NULL) {
    size_t start = w->size;
    wire_writer_i16(w, value_version);
    CHECK(value_codec->write(value, w, value_version) == 0);
    record->value_size = (int32_t)(w->size - start);
  }
}

size_t group_write_size(const struct group_write *write)
{
  return write->bytes.size;
}

bool group_write_record(const struct group_write *write, int32_t index, const uint8_t **key, int32_t *key_size,
                        const uint8_t **value, int32_t *value_size)
{
  if (index < 0 || index >= write->count) {
    return false;
  }
  const struct group_record *record = &write->records[index];
  *key = write->bytes.data + record->at;
  *key_size = record->key_size;
  *value = record->value_size >= 0 ? *key + record->key_size : NULL;
  *value_size = record->value_size;
  return true;
}

// ---- its way ----

void group_writes_note_gone(struct group_shard *shard, const char *const *names, int32_t count)
{
  struct list *last = list_is_empty(&shard->writes) ? &shard->taken : &shard->writes;
  if (count == 0 || list_is_empty(last)) {
    return;
  }
  struct group_write *write = CONTAINER_OF(last->prev, struct group_write, link);
  write->gone = mem_realloc(write->gone, ((size_t)write->gone_count + (size_t)count) * sizeof(char *));
  for (int32_t i = 0; i < count; i++) {
    write->gone[write->gone_count++] = mem_strdup(names[i]);
  }
}

/// Deletes what a write, and those before it, brought of topics that went meanwhile.
static void write_end_gone(struct group_shard *shard, char **gone, int32_t count, int64_t now_ms)
{
  if (!shard->is_stopped) {
    shard_delete_topics(shard, (const char *const *)gone, count, now_ms);
  }
  for (int32_t i = 0; i < count; i++) {
    mem_free(gone[i]);
  }
  mem_free(gone);
}

/// The write is over: tells who began it, and frees it. Its group may be gone afterwards.
static void write_end(struct group_write *write, int16_t error, int64_t now_ms)
{
  struct group *group = write->group;
  struct group_shard *shard = group->shard;
  char **gone = write->gone;
  int32_t gone_count = write->gone_count;
  struct group_write *rest = write->rest;
  group->use_count++;
  group->write_count -= write->holds_up ? 1 : 0;
  group->flight_count--;
  if (write->written != NULL) {
    write->written(group, write->arg, error, now_ms);
  }
  wire_writer_destroy(&write->bytes);
  if (write->records != write->few) {
    mem_free(write->records);
  }
  mem_free(write);
  if (rest != NULL && error == WIRE_NONE) {
    group_write_submit(rest, now_ms);
  } else if (rest != NULL) {
    write_end(rest, error, now_ms);
  }
  group_wake(group, now_ms);
  group->use_count--;
  group_release_if_unused(group);
  if (gone != NULL) {
    write_end_gone(shard, gone, gone_count, now_ms);
  }
}

void group_write_submit(struct group_write *write, int64_t now_ms)
{
  struct group_shard *shard = write->group->shard;
  if (write->count == 0) {
    write_end(write, WIRE_NONE, now_ms);
  } else if (shard->is_stopped) {
    write_end(write, shard->stop_error, now_ms);
  } else {
    list_append(&shard->writes, &write->link);
  }
}

struct group_write *group_shard_take_write(struct group_shard *shard)
{
  if (list_is_empty(&shard->writes)) {
    return NULL;
  }
  struct group_write *write = CONTAINER_OF(shard->writes.next, struct group_write, link);
  list_remove(&write->link);
  list_append(&shard->taken, &write->link);
  return write;
}

/// Makes state of the records of a write.
static void write_replay(struct group_shard *shard, const struct group_write *write)
{
  const uint8_t *key = NULL;
  const uint8_t *value = NULL;
  int32_t key_size = 0;
  int32_t value_size = 0;
  for (int32_t i = 0; group_write_record(write, i, &key, &key_size, &value, &value_size); i++) {
    if (group_shard_replay(shard, RECORD_NO_PRODUCER, key, key_size, value, value_size) < 0) {
      slog_error("group '%s': a record that was written cannot be read: %s", write->group->id, error_last()->message);
    }
  }
}

void group_shard_written(struct group_shard *shard, struct group_write *write, int16_t error, int64_t now_ms)
{
  CHECK(shard->taken.next == &write->link);
  list_remove(&write->link);
  if (error == WIRE_NONE) {
    write_replay(shard, write);
  }
  write_end(write, error, now_ms);
}

void group_writes_stop(struct group_shard *shard, int16_t error)
{
  struct list *lists[] = {&shard->taken, &shard->writes};
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    while (!list_is_empty(lists[i])) {
      struct group_write *write = CONTAINER_OF(lists[i]->next, struct group_write, link);
      list_remove(&write->link);
      write_end(write, error, 0);
    }
  }
}

// ---- waiting ----

/// Whether writes under way hold up a request, were it the first that waits.
static bool write_holds_up(const struct group *group, const struct group_request *request)
{
  const struct group_route *route = group_route_of(request->key);
  return group->write_count > 0 || (route != NULL && route->waits_for_all && group->flight_count > 0);
}

bool group_must_wait(struct group *group, struct group_request *request)
{
  if (!write_holds_up(group, request) && list_is_empty(&group->waiting)) {
    return false;
  }
  list_append(&group->waiting, &request->link);
  return true;
}

void group_wake(struct group *group, int64_t now_ms)
{
  if (list_is_empty(&group->waiting)) {
    return;
  }
  // All wait behind the first one. A stopped shard answers them whatever is under way.
  if (!group->shard->is_stopped &&
      write_holds_up(group, CONTAINER_OF(group->waiting.next, struct group_request, link))) {
    return;
  }
  struct group_shard *shard = group->shard;
  // Those that have to wait again come into the group's own list, in the same order.
  struct list again;
  again.next = group->waiting.next;
  again.prev = group->waiting.prev;
  again.next->prev = &again;
  again.prev->next = &again;
  list_create(&group->waiting);
  while (!list_is_empty(&again)) {
    struct group_request *request = CONTAINER_OF(again.next, struct group_request, link);
    list_remove(&request->link);
    group_handle(shard, request, now_ms);
  }
}

void group_shard_handle(struct group_shard *shard, struct group_request *request, int64_t now_ms)
{
  const struct group_route *route = group_route_of(request->key);
  if (route != NULL && route->waits_for_all && !shard->is_stopped) {
    group_shard_run_timers(shard, now_ms);
  }
  group_handle(shard, request, now_ms);
}

void group_handle(struct group_shard *shard, struct group_request *request, int64_t now_ms)
{
  request->state = NULL;
  const struct group_route *route = group_route_of(request->key);
  if (shard->is_stopped || route == NULL) {
    group_request_fail(request, shard->is_stopped ? shard->stop_error : WIRE_UNSUPPORTED_VERSION);
    group_answer(shard, request);
    return;
  }
  if (group_has_no_room(request)) {
    group_request_fail(request, WIRE_UNKNOWN_SERVER_ERROR);
    group_answer(shard, request);
    return;
  }
  struct group *group = request->group.length >= 0 ? group_find(shard, request->group) : NULL;
  if (group != NULL && route->waits && group_must_wait(group, request)) {
    return;
  }
  bool is_consumer = group != NULL && group->kind == GROUP_CONSUMER && route->consumer != NULL;
  (is_consumer ? route->consumer : route->serve)(shard, group, request, now_ms);
}

// ---- tombstones ----

struct group_tombstones {
  struct group *group;       ///< whose things go; it has a use_count for this
  struct group_write *write; ///< the one that takes the next tombstone
  group_written_fn done;     ///< may be NULL
  void *arg;                 ///< for it
  int pending;               ///< writes that are not done, and one while more may come
  int16_t error;             ///< the first one
};

static void tombstones_release(struct group_tombstones *tombstones, int64_t now_ms)
{
  if (--tombstones->pending > 0) {
    return;
  }
  struct group *group = tombstones->group;
  if (tombstones->done != NULL) {
    tombstones->done(group, tombstones->arg, tombstones->error, now_ms);
  }
  mem_free(tombstones);
  group->use_count--;
  group_release_if_unused(group);
}

static void tombstones_written(struct group *group, void *arg, int16_t error, int64_t now_ms)
{
  (void)group;
  struct group_tombstones *tombstones = arg;
  tombstones->error = tombstones->error != WIRE_NONE ? tombstones->error : error;
  tombstones_release(tombstones, now_ms);
}

struct group_tombstones *group_tombstones_new(struct group *group, group_written_fn done, void *arg)
{
  struct group_tombstones *tombstones = mem_zalloc(sizeof *tombstones);
  tombstones->group = group;
  tombstones->done = done;
  tombstones->arg = arg;
  tombstones->pending = 1;
  group->use_count++;
  return tombstones;
}

struct group *group_tombstones_group(const struct group_tombstones *tombstones)
{
  return tombstones->group;
}

struct group_write *group_tombstones_write(struct group_tombstones *tombstones, int64_t now_ms)
{
  if (tombstones->write != NULL && group_write_size(tombstones->write) > SHARD_TOMBSTONE_BYTES) {
    group_write_submit(tombstones->write, now_ms);
    tombstones->write = NULL;
  }
  if (tombstones->write == NULL) {
    tombstones->write = group_write_new(tombstones->group, true, tombstones_written, tombstones);
    tombstones->pending++;
  }
  return tombstones->write;
}

void group_tombstones_submit(struct group_tombstones *tombstones, int64_t now_ms)
{
  if (tombstones->write != NULL) {
    struct group_write *write = tombstones->write;
    tombstones->write = NULL;
    group_write_submit(write, now_ms);
  }
  tombstones_release(tombstones, now_ms);
}
