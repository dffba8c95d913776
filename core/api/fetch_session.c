// SPDX-License-Identifier: Apache-2.0
//
// Fetch sessions (KIP-227), one cache per worker. A session remembers which partitions a client reads and where, so
// that a request names only what changed, and the answer too. It belongs to the connection that made it and ends with
// it; asked for on another worker it is not found, and the client starts a new one, as after any
// FETCH_SESSION_ID_NOT_FOUND.
//
//   epoch  0   full fetch, makes a session (closing the one named); without room for one, a fetch without a session
//   epoch -1   full fetch, without a session (closing the one named)
//   epoch  n   goes on with a session; n must be the one after the last
#include <string.h>
#include <sys/random.h>

#include "api/api.h"
#include "api/authorize.h"
#include "api/fetch_private.h"
#include "api/key_set.h"
#include "api/request.h"
#include "base/check.h"
#include "base/mem.h"
#include "metadata/broker_config.h"
#include "metadata/image.h"
#include "network/server.h"
#include "os/clock.h"
#include "wire/error_codes.h"
#include "wire/fetch.h"

enum {
  FETCH_EPOCH_FINAL = -1,
  FETCH_EPOCH_INITIAL = 0,
  FETCH_SESSION_VERSION = 7,     // first version with sessions
  FETCH_TOPIC_ID_VERSION = 13,   // first version with topic ids instead of names
  FETCH_EVICT_AFTER_MS = 120000, // a session used lately is not evicted for a new one
  FETCH_SLOTS_MIN = 8,
  FETCH_ITEMS_MAX = 200000, // partitions that the sessions of a worker remember in all
};

struct fetch_session {
  struct list link;          ///< in the cache, least recently used first
  struct api_client *client; ///< connection that made it
  struct fetch_set set;      ///< what the client reads
  struct fetch *fetch;       ///< the request under way, or NULL
  int64_t used_ms;           ///< monotonic time of the last request
  int32_t id;                ///< positive
  int32_t next_epoch;        ///< what the next request must say
  uint64_t rights_mark;      ///< api_rights_mark() when its partitions were decided about; 0: not all of them were
  bool uses_topic_ids;       ///< topics are named by id
  bool is_closed;            ///< deleted when its request is answered
};

struct fetch_sessions {
  struct api_worker *worker; ///< borrowed
  struct list list;          ///< struct fetch_session, least recently used first
  int32_t count;             ///< sessions
  int64_t items;             ///< partitions in all of them
};

// ---- sets of partitions ----

static void fetch_set_create(struct fetch_set *set)
{
  memset(set, 0, sizeof *set);
  list_create(&set->ready);
  list_create(&set->idle);
}

static bool fetch_item_is(const struct fetch_item *item, const struct wire_string *topic, const struct uuid *topic_id,
                          int32_t index)
{
  if (item->index != index) {
    return false;
  }
  if (topic == NULL) {
    return uuid_equal(&item->topic_id, topic_id);
  }
  return item->topic_length == topic->length && memcmp(item->topic, topic->data, (size_t)topic->length) == 0;
}

/// Marks the slot of a removed item; found by nobody, passed by every search.
static struct fetch_item fetch_removed = {.index = -1};

/// The slot of an item, or the free one where it would go.
static struct fetch_item **fetch_set_slot(struct fetch_set *set, const struct wire_string *topic,
                                          const struct uuid *topic_id, int32_t index)
{
  static const struct uuid no_id;
  uint32_t hash =
      topic != NULL ? key_hash(*topic, &no_id, index) : key_hash((struct wire_string){NULL, -1}, topic_id, index);
  for (uint32_t at = hash & set->mask;; at = (at + 1) & set->mask) {
    struct fetch_item *item = set->slots[at];
    if (item == NULL || (item != &fetch_removed && fetch_item_is(item, topic, topic_id, index))) {
      return &set->slots[at];
    }
  }
}

static struct fetch_item **fetch_set_slot_of(struct fetch_set *set, const struct fetch_item *item)
{
  struct wire_string topic = {item->topic, item->topic_length};
  return fetch_set_slot(set, item->topic != NULL ? &topic : NULL, &item->topic_id, item->index);
}

/// Makes room for `more` items, dropping the marks of removed ones.
static void fetch_set_grow(struct fetch_set *set, int32_t more)
{
  uint32_t want = (uint32_t)(set->count + more);
  if (set->slots != NULL && (want + (uint32_t)set->removed) * 2 <= set->mask + 1) {
    return;
  }
  uint32_t slots = FETCH_SLOTS_MIN;
  while (slots < want * 2) {
    slots *= 2;
  }
  struct fetch_item **old = set->slots;
  uint32_t old_count = old != NULL ? set->mask + 1 : 0;
  set->slots = mem_array(slots, sizeof *set->slots);
  set->mask = slots - 1;
  set->removed = 0;
  for (uint32_t i = 0; i < old_count; i++) {
    if (old[i] != NULL && old[i] != &fetch_removed) {
      *fetch_set_slot_of(set, old[i]) = old[i];
    }
  }
  mem_free(old);
}

static void fetch_item_delete(struct fetch_item *item)
{
  if (item->set->total != NULL) {
    --*item->set->total;
  }
  watch_disarm(&item->watch);
  fetch_item_release(item);
  list_remove(&item->link);
  mem_free(item->topic);
  mem_free(item);
}

static void fetch_set_remove(struct fetch_set *set, const struct wire_string *topic, const struct uuid *topic_id,
                             int32_t index)
{
  if (set->count == 0) {
    return;
  }
  struct fetch_item **slot = fetch_set_slot(set, topic, topic_id, index);
  if (*slot != NULL) {
    fetch_item_delete(*slot);
    *slot = &fetch_removed;
    set->count--;
    set->removed++;
  }
}

static void fetch_set_destroy(struct fetch_set *set)
{
  struct list *lists[] = {&set->ready, &set->idle};
  for (int i = 0; i < 2; i++) {
    while (!list_is_empty(lists[i])) {
      fetch_item_delete(CONTAINER_OF(lists[i]->next, struct fetch_item, link));
    }
  }
  mem_free(set->slots);
  set->slots = NULL;
  set->count = 0;
}

/// Adds a partition or changes what is wanted of it; it is ready either way.
static void fetch_set_put(struct fetch_set *set, const struct wire_string *topic, const struct uuid *topic_id,
                          const struct wire_fetch_request_fetch_partition *wanted)
{
  fetch_set_grow(set, 1);
  struct fetch_item **slot = fetch_set_slot(set, topic, topic_id, wanted->partition);
  struct fetch_item *item = *slot;
  if (item == NULL) {
    item = mem_zalloc(sizeof *item);
    item->set = set;
    item->index = wanted->partition;
    if (topic != NULL) {
      item->topic = mem_dup(topic->data, (size_t)topic->length + (topic->length == 0));
      item->topic_length = topic->length;
    } else {
      item->topic_id = *topic_id;
    }
    item->sent_high_watermark = -1;
    item->sent_log_start = -1;
    list_create(&item->link);
    *slot = item;
    set->count++;
    if (set->total != NULL) {
      ++*set->total;
    }
  }
  item->offset = wanted->fetch_offset;
  item->max_bytes = wanted->partition_max_bytes;
  item->leader_epoch = wanted->current_leader_epoch;
  item->last_fetched_epoch = wanted->last_fetched_epoch;
  list_remove(&item->link);
  list_append(&set->ready, &item->link);
}

/// Applies a request's topics and forgotten topics to a set.
static void fetch_set_apply(struct fetch_set *set, const struct wire_fetch_request *body, int16_t version)
{
  bool by_id = version >= FETCH_TOPIC_ID_VERSION;
  for (int32_t i = 0; i < body->topics_count; i++) {
    const struct wire_fetch_request_fetch_topic *topic = &body->topics[i];
    fetch_set_grow(set, topic->partitions_count > 0 ? topic->partitions_count : 0);
    for (int32_t j = 0; j < topic->partitions_count; j++) {
      fetch_set_put(set, by_id ? NULL : &topic->topic, &topic->topic_id, &topic->partitions[j]);
    }
  }
  for (int32_t i = 0; i < body->forgotten_topics_data_count; i++) {
    const struct wire_fetch_request_forgotten_topic *topic = &body->forgotten_topics_data[i];
    for (int32_t j = 0; j < topic->partitions_count; j++) {
      fetch_set_remove(set, by_id ? NULL : &topic->topic, &topic->topic_id, topic->partitions[j]);
    }
  }
}

// ---- the cache ----

struct fetch_sessions *fetch_sessions_new(struct api_worker *worker)
{
  struct fetch_sessions *sessions = mem_zalloc(sizeof *sessions);
  sessions->worker = worker;
  list_create(&sessions->list);
  return sessions;
}

static void fetch_session_delete(struct fetch_sessions *sessions, struct fetch_session *session)
{
  CHECK(session->fetch == NULL);
  if (session->client != NULL && session->client->session == session) {
    session->client->session = NULL;
  }
  list_remove(&session->link);
  sessions->count--;
  fetch_set_destroy(&session->set);
  mem_free(session);
}

/// Ends a session; one with a request under way (of another connection) ends with that request's answer.
static void fetch_session_close(struct fetch_sessions *sessions, struct fetch_session *session)
{
  if (session->fetch != NULL) {
    session->is_closed = true;
    fetch_finish(session->fetch);
  } else {
    fetch_session_delete(sessions, session);
  }
}

void fetch_sessions_client_closed(struct fetch_sessions *sessions, struct api_client *client)
{
  LIST_EACH_SAFE(&sessions->list, node) {
    struct fetch_session *session = CONTAINER_OF(node, struct fetch_session, link);
    if (session->client == client) {
      session->client = NULL;
      fetch_session_close(sessions, session);
    }
  }
}

void fetch_sessions_delete(struct fetch_sessions *sessions)
{
  while (!list_is_empty(&sessions->list)) {
    fetch_session_delete(sessions, CONTAINER_OF(sessions->list.next, struct fetch_session, link));
  }
  mem_free(sessions);
}

/// Finds an open session; the one that the connection used last is looked at first.
static struct fetch_session *fetch_session_find(struct fetch_sessions *sessions, const struct api_client *client,
                                                int32_t id)
{
  if (client != NULL && client->session != NULL && client->session->id == id && !client->session->is_closed) {
    return client->session;
  }
  LIST_EACH(&sessions->list, node) {
    struct fetch_session *session = CONTAINER_OF(node, struct fetch_session, link);
    if (session->id == id && !session->is_closed) {
      return session;
    }
  }
  return NULL;
}

static int32_t fetch_session_new_id(struct fetch_sessions *sessions)
{
  for (;;) {
    uint32_t random = 0;
    CHECK(getrandom(&random, sizeof random, 0) == (ssize_t)sizeof random);
    int32_t id = (int32_t)(random & INT32_MAX);
    if (id != 0 && fetch_session_find(sessions, NULL, id) == NULL) {
      return id;
    }
  }
}

/// How many there may be: this worker's share of max.incremental.fetch.session.cache.slots.
static int32_t fetch_session_max(const struct api_worker *worker)
{
  int32_t slots = api_config(worker->api)->max_incremental_fetch_session_cache_slots;
  int32_t workers = server_worker_count(worker->worker->server);
  return slots / workers + (slots % workers > 0);
}

/// A new session, or NULL when the cache is full of sessions in use.
static struct fetch_session *fetch_session_new(struct fetch_sessions *sessions, struct api_client *client,
                                               bool uses_topic_ids)
{
  int64_t now_ms = clock_mono_ms();
  // More than one where there may be fewer than there were.
  while (sessions->count >= fetch_session_max(sessions->worker)) {
    if (list_is_empty(&sessions->list)) {
      return NULL;
    }
    struct fetch_session *oldest = CONTAINER_OF(sessions->list.next, struct fetch_session, link);
    if (oldest->fetch != NULL || now_ms - oldest->used_ms < FETCH_EVICT_AFTER_MS) {
      return NULL;
    }
    fetch_session_delete(sessions, oldest);
  }
  struct fetch_session *session = mem_zalloc(sizeof *session);
  session->client = client;
  session->used_ms = now_ms;
  session->id = fetch_session_new_id(sessions);
  session->uses_topic_ids = uses_topic_ids;
  fetch_set_create(&session->set);
  session->set.total = &sessions->items;
  client->session = session;
  list_append(&sessions->list, &session->link);
  sessions->count++;
  return session;
}

int64_t fetch_session_count(const struct wire_fetch_request *body)
{
  int64_t count = 0;
  for (int32_t i = 0; i < body->topics_count; i++) {
    count += body->topics[i].partitions_count;
  }
  for (int32_t i = 0; i < body->forgotten_topics_data_count; i++) {
    count += body->forgotten_topics_data[i].partitions_count;
  }
  return count;
}

int32_t fetch_session_id(const struct fetch_session *session)
{
  return session->is_closed ? 0 : session->id;
}

/// Ties a fetch to a session and moves the session's epoch on.
static void fetch_session_use(struct fetch_sessions *sessions, struct fetch_session *session, struct fetch *fetch)
{
  fetch->session = session;
  fetch->set = &session->set;
  session->fetch = fetch;
  session->next_epoch = session->next_epoch == INT32_MAX ? 1 : session->next_epoch + 1;
  session->used_ms = clock_mono_ms();
  list_remove(&session->link);
  list_append(&sessions->list, &session->link);
}

/// A request with an epoch of 0 or -1, or of a version without sessions: all partitions are in it.
static void fetch_session_begin_full(struct fetch *fetch, const struct wire_fetch_request *body)
{
  struct request *req = fetch->req;
  struct fetch_sessions *sessions = req->worker->sessions;
  fetch->is_full = true;
  fetch->set = &fetch->own;
  if (req->version >= FETCH_SESSION_VERSION) {
    struct fetch_session *old =
        body->session_id != 0 ? fetch_session_find(sessions, req->client, body->session_id) : NULL;
    if (old != NULL) {
      fetch_session_close(sessions, old);
    }
    if (body->session_epoch == FETCH_EPOCH_INITIAL && sessions->items + fetch_session_count(body) <= FETCH_ITEMS_MAX) {
      struct fetch_session *session = fetch_session_new(sessions, req->client, req->version >= FETCH_TOPIC_ID_VERSION);
      if (session != NULL) {
        fetch_session_use(sessions, session, fetch);
      }
    }
  }
  if (fetch->session == NULL) {
    fetch_set_create(&fetch->own);
  }
}

int16_t fetch_session_begin(struct fetch *fetch, const struct wire_fetch_request *body)
{
  struct request *req = fetch->req;
  struct fetch_sessions *sessions = req->worker->sessions;
  bool is_full = req->version < FETCH_SESSION_VERSION || body->session_epoch == FETCH_EPOCH_FINAL ||
                 body->session_epoch == FETCH_EPOCH_INITIAL;
  if (is_full) {
    fetch_session_begin_full(fetch, body);
  } else {
    struct fetch_session *session = fetch_session_find(sessions, req->client, body->session_id);
    if (session == NULL) {
      return WIRE_FETCH_SESSION_ID_NOT_FOUND;
    }
    if (body->session_epoch != session->next_epoch || session->fetch != NULL) {
      return WIRE_INVALID_FETCH_SESSION_EPOCH;
    }
    if (session->uses_topic_ids != (req->version >= FETCH_TOPIC_ID_VERSION)) {
      return WIRE_FETCH_SESSION_TOPIC_ID_ERROR;
    }
    if (sessions->items + fetch_session_count(body) > FETCH_ITEMS_MAX) {
      fetch_session_close(sessions, session); // the client goes on without one
      return WIRE_FETCH_SESSION_ID_NOT_FOUND;
    }
    fetch_session_use(sessions, session, fetch);
  }
  fetch->set->fetch = fetch;
  fetch_set_apply(fetch->set, body, req->version);
  return WIRE_NONE;
}

// ---- rights ----

/// The session that a request goes on with, or NULL: its partitions are all in the request, or there is none.
static struct fetch_session *fetch_session_of(const struct request *req)
{
  const struct wire_fetch_request *body = req->body;
  if (req->version < FETCH_SESSION_VERSION || body->session_epoch == FETCH_EPOCH_FINAL ||
      body->session_epoch == FETCH_EPOCH_INITIAL) {
    return NULL;
  }
  return fetch_session_find(req->worker->sessions, req->client, body->session_id);
}

/// The name of a topic that a Fetch has, by name or id; null: it is not known.
static struct wire_string fetch_topic_name(const struct metadata_image *image, const char *name, int32_t length,
                                           const struct uuid *id)
{
  if (name != NULL) {
    return (struct wire_string){name, length};
  }
  const struct metadata_topic *topic = metadata_image_topic_by_id(image, id);
  return topic != NULL ? (struct wire_string){topic->name, topic->name_length} : (struct wire_string){NULL, -1};
}

static struct wire_string fetch_item_name(const struct metadata_image *image, const struct fetch_item *item)
{
  return fetch_topic_name(image, item->topic, item->topic_length, &item->topic_id);
}

static void fetch_list_items(struct request *req, const struct metadata_image *image, const struct list *items,
                             bool is_all)
{
  LIST_EACH(items, node) {
    const struct fetch_item *item = CONTAINER_OF(node, struct fetch_item, link);
    if (is_all || item->right == FETCH_RIGHT_OPEN) {
      authorize_need(req, RIGHT_READ, RIGHT_TOPIC, fetch_item_name(image, item));
    }
  }
}

void fetch_list_rights(struct request *req)
{
  const struct wire_fetch_request *body = req->body;
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  bool by_id = req->version >= FETCH_TOPIC_ID_VERSION;
  for (int32_t i = 0; i < body->topics_count; i++) {
    const struct wire_fetch_request_fetch_topic *topic = &body->topics[i];
    authorize_need(req, RIGHT_READ, RIGHT_TOPIC,
                   by_id ? fetch_topic_name(image, NULL, 0, &topic->topic_id) : topic->topic);
  }
  const struct fetch_session *session = fetch_session_of(req);
  if (session != NULL) {
    // What has no decision has an error, and is not idle.
    bool is_all = session->rights_mark == 0 || session->rights_mark != api_rights_mark(req);
    fetch_list_items(req, image, &session->set.ready, is_all);
    if (is_all) {
      fetch_list_items(req, image, &session->set.idle, true);
    }
  }
}

/// @return whether there is a decision
static bool fetch_take_right(struct request *req, const struct metadata_image *image, struct fetch_item *item)
{
  struct wire_string name = fetch_item_name(image, item);
  const struct right *right = name.length >= 0 ? api_right(req, RIGHT_TOPIC, name) : NULL;
  if (right != NULL) {
    item->right = (right->allowed_operations >> RIGHT_READ & 1) != 0 ? FETCH_RIGHT_GIVEN : FETCH_RIGHT_DENIED;
  }
  return right != NULL;
}

void fetch_take_rights(struct fetch *fetch)
{
  struct request *req = fetch->req;
  const struct metadata_image *image = metadata_cache_get(req->api->metadata);
  LIST_EACH(&fetch->set->ready, node) {
    fetch_take_right(req, image, CONTAINER_OF(node, struct fetch_item, link));
  }
  if (fetch->session == NULL) {
    return;
  }
  uint64_t mark = api_rights_mark(req);
  if (mark == 0 || mark != fetch->session->rights_mark) {
    LIST_EACH_SAFE(&fetch->set->idle, node) {
      struct fetch_item *item = CONTAINER_OF(node, struct fetch_item, link);
      if (fetch_take_right(req, image, item) && item->right == FETCH_RIGHT_DENIED) {
        list_remove(&item->link);
        list_append(&fetch->set->ready, &item->link); // the client is told
      }
    }
  }
  fetch->session->rights_mark = mark;
}

void fetch_session_end(struct fetch *fetch)
{
  struct fetch_session *session = fetch->session;
  fetch->set->fetch = NULL;
  if (session == NULL) {
    fetch_set_destroy(&fetch->own);
    return;
  }
  session->fetch = NULL;
  if (session->is_closed) {
    fetch_session_delete(fetch->req->worker->sessions, session);
  }
}
