// SPDX-License-Identifier: Apache-2.0
#include "policy/shared.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include "base/check.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "os/clock.h"

enum {
  SHARED_BUCKET_BYTES = 128,  ///< memory of a shard for each place in its table: about one small entry each
  SHARED_OVERHEAD_BYTES = 24, ///< what an entry costs beside itself: malloc, its place
  SHARED_EVICTED_MAX = 64,    ///< entries that a write takes out beyond those in its way
  SHARED_LOOKS = 2,           ///< entries, of those not used for long, that a write looks at for expired ones
};

/// One key with its value.
struct shared_entry {
  struct list used;          ///< in the shard's list
  struct shared_entry *next; ///< in its place of the table; freed ones: in a chain
  uint64_t hash;             ///< of dictionary and key
  int64_t expires_ms;        ///< monotonic time at which it is gone; INT64_MAX: never
  double number;             ///< of a number
  uint32_t dict;             ///< whose
  uint32_t text_size;        ///< of a text, bytes
  uint16_t key_size;         ///< bytes
  uint8_t type;              ///< enum shared_type
  bool boolean;              ///< of a boolean
  char bytes[];              ///< the key, then the text
};

_Static_assert(sizeof(struct shared_entry) + SHARED_KEY_MAX + SHARED_TEXT_MAX + SHARED_OVERHEAD_BYTES <=
                   SHARED_MEMORY_MIN / SHARED_SHARDS,
               "a shard has room for the largest entry");

/// A part of all keys.
struct shared_shard {
  pthread_mutex_t lock;         ///< guards all that follows; order: leaf
  struct shared_entry **places; ///< by hash; NULL until something is written, then of a size for the limit of that time
  size_t place_count;           ///< how many
  struct list used;             ///< entries, the one used last at the end
  int64_t bytes;                ///< of all entries, with their overhead
  int64_t limit_bytes;          ///< most of those
  int64_t entries;              ///< how many
  int64_t evicted;              ///< entries that had to go before their time
};

/// A name.
struct shared_dict {
  char *name;    ///< owned, for ever
  size_t length; ///< bytes
};

static struct shared_shard shared_shards[SHARED_SHARDS];
static pthread_once_t shared_once = PTHREAD_ONCE_INIT;
static uint64_t shared_seed;                                          // keys are what clients send
static pthread_mutex_t shared_names_lock = PTHREAD_MUTEX_INITIALIZER; // guards the two below; order: leaf
static struct shared_dict shared_dicts[SHARED_DICTS_MAX];
static uint32_t shared_dict_count;

static void shared_start(void)
{
  CHECK(getrandom(&shared_seed, sizeof shared_seed, 0) == (ssize_t)sizeof shared_seed);
  for (int i = 0; i < SHARED_SHARDS; i++) {
    struct shared_shard *shard = &shared_shards[i];
    pthread_mutex_init(&shard->lock, NULL);
    list_create(&shard->used);
    shard->limit_bytes = SHARED_MEMORY_DEFAULT / SHARED_SHARDS;
  }
}

int shared_open(const char *name, size_t length, uint32_t *dict)
{
  if (length == 0 || length > SHARED_NAME_MAX) {
    return ERR_INVALID;
  }
  int result = 0;
  pthread_mutex_lock(&shared_names_lock);
  uint32_t at = 0;
  while (at < shared_dict_count &&
         (shared_dicts[at].length != length || memcmp(shared_dicts[at].name, name, length) != 0)) {
    at++;
  }
  if (at == SHARED_DICTS_MAX) {
    result = ERR_LIMIT;
  } else if (at == shared_dict_count) {
    shared_dicts[at] = (struct shared_dict){.name = mem_dup(name, length), .length = length};
    shared_dict_count++;
  }
  pthread_mutex_unlock(&shared_names_lock);
  if (result == 0) {
    *dict = at;
  }
  return result;
}

// ---- entries ----

static struct shared_shard *shared_shard_of(const struct shared_key *key, uint64_t *hash)
{
  pthread_once(&shared_once, shared_start);
  *hash = hash_bytes(key->text, key->size, shared_seed ^ key->dict);
  return &shared_shards[*hash % SHARED_SHARDS];
}

static struct shared_entry **shared_place(const struct shared_shard *shard, uint64_t hash)
{
  return &shard->places[hash / SHARED_SHARDS % shard->place_count];
}

static int64_t shared_entry_bytes(const struct shared_entry *entry)
{
  return (int64_t)sizeof *entry + entry->key_size + entry->text_size + SHARED_OVERHEAD_BYTES;
}

/// An entry that is in no shard yet.
static struct shared_entry *shared_entry_new(const struct shared_key *key, uint64_t hash,
                                             const struct shared_value *value, int64_t ttl_ms)
{
  size_t text_size = value->type == SHARED_TEXT ? value->size : 0;
  struct shared_entry *entry = mem_alloc(sizeof *entry + key->size + text_size);
  *entry = (struct shared_entry){
      .hash = hash,
      .expires_ms = ttl_ms < 0 ? INT64_MAX : clock_mono_ms() + ttl_ms,
      .number = value->number,
      .dict = key->dict,
      .text_size = (uint32_t)text_size,
      .key_size = (uint16_t)key->size,
      .type = (uint8_t)value->type,
      .boolean = value->boolean,
  };
  memcpy(entry->bytes, key->text, key->size);
  if (text_size > 0) {
    memcpy(entry->bytes + key->size, value->text, text_size);
  }
  return entry;
}

/// Takes an entry out; it is put in front of a chain.
static void shared_take_out(struct shared_shard *shard, struct shared_entry *entry, struct shared_entry **chain)
{
  struct shared_entry **at = shared_place(shard, entry->hash);
  while (*at != entry) {
    at = &(*at)->next;
  }
  *at = entry->next;
  list_remove(&entry->used);
  shard->bytes -= shared_entry_bytes(entry);
  shard->entries--;
  entry->next = *chain;
  *chain = entry;
}

static void shared_free_chain(struct shared_entry *chain)
{
  while (chain != NULL) {
    struct shared_entry *next = chain->next;
    mem_free(chain);
    chain = next;
  }
}

/// The entry of a key, or NULL; one that has expired is taken out. With the lock.
static struct shared_entry *shared_find(struct shared_shard *shard, const struct shared_key *key, uint64_t hash,
                                        struct shared_entry **chain)
{
  struct shared_entry *entry = shard->places != NULL ? *shared_place(shard, hash) : NULL;
  while (entry != NULL && (entry->hash != hash || entry->dict != key->dict || entry->key_size != key->size ||
                           memcmp(entry->bytes, key->text, key->size) != 0)) {
    entry = entry->next;
  }
  if (entry != NULL && entry->expires_ms <= clock_mono_ms()) {
    shared_take_out(shard, entry, chain);
    return NULL;
  }
  return entry;
}

static void shared_touch(struct shared_shard *shard, struct shared_entry *entry)
{
  list_remove(&entry->used);
  list_append(&shard->used, &entry->used);
}

/// Takes out what has expired among those not used for long, and what stands in the way of `need` bytes. Of what is
/// beyond a limit that was lowered some goes with each write, so that none takes long. With the lock.
static void shared_make_room(struct shared_shard *shard, int64_t need, struct shared_entry **chain)
{
  int64_t now_ms = clock_mono_ms();
  for (int i = 0; i < SHARED_LOOKS && !list_is_empty(&shard->used); i++) {
    struct shared_entry *oldest = CONTAINER_OF(shard->used.next, struct shared_entry, used);
    if (oldest->expires_ms > now_ms) {
      break;
    }
    shared_take_out(shard, oldest, chain);
  }
  int64_t before = shard->bytes;
  for (int i = 0; shard->bytes + need > shard->limit_bytes && !list_is_empty(&shard->used); i++) {
    if (i >= SHARED_EVICTED_MAX && shard->bytes + need <= before) {
      break;
    }
    struct shared_entry *oldest = CONTAINER_OF(shard->used.next, struct shared_entry, used);
    shard->evicted += oldest->expires_ms > now_ms;
    shared_take_out(shard, oldest, chain);
  }
}

/// Puts a new entry in, for which there is no other of its key. With the lock.
static void shared_put(struct shared_shard *shard, struct shared_entry *entry, struct shared_entry **chain)
{
  int64_t need = shared_entry_bytes(entry);
  shared_make_room(shard, need, chain);
  if (shard->places == NULL) {
    shard->place_count = (size_t)(shard->limit_bytes / SHARED_BUCKET_BYTES);
    shard->places = mem_array(shard->place_count, sizeof(struct shared_entry *));
  }
  struct shared_entry **place = shared_place(shard, entry->hash);
  entry->next = *place;
  *place = entry;
  list_append(&shard->used, &entry->used);
  shard->bytes += need;
  shard->entries++;
}

// ---- what is asked of it ----

int shared_get(const struct shared_key *key, char *room, struct shared_value *value)
{
  uint64_t hash = 0;
  struct shared_shard *shard = shared_shard_of(key, &hash);
  struct shared_entry *gone = NULL;
  pthread_mutex_lock(&shard->lock);
  struct shared_entry *entry = shared_find(shard, key, hash, &gone);
  if (entry != NULL) {
    *value = (struct shared_value){.type = (enum shared_type)entry->type,
                                   .number = entry->number,
                                   .boolean = entry->boolean,
                                   .text = room,
                                   .size = entry->text_size};
    memcpy(room, entry->bytes + entry->key_size, entry->text_size);
    shared_touch(shard, entry);
  }
  pthread_mutex_unlock(&shard->lock);
  shared_free_chain(gone);
  return entry != NULL ? 0 : ERR_NOT_FOUND;
}

/// Writes a value; `is_new`: only where there is none.
static int shared_write(const struct shared_key *key, const struct shared_value *value, int64_t ttl_ms, bool is_new)
{
  uint64_t hash = 0;
  struct shared_shard *shard = shared_shard_of(key, &hash);
  struct shared_entry *fresh = shared_entry_new(key, hash, value, ttl_ms);
  struct shared_entry *gone = NULL;
  pthread_mutex_lock(&shard->lock);
  struct shared_entry *entry = shared_find(shard, key, hash, &gone);
  int result = entry != NULL && is_new ? ERR_EXISTS : 0;
  if (result == 0) {
    if (entry != NULL) {
      shared_take_out(shard, entry, &gone);
    }
    shared_put(shard, fresh, &gone);
    fresh = NULL;
  }
  pthread_mutex_unlock(&shard->lock);
  shared_free_chain(gone);
  mem_free(fresh);
  return result;
}

void shared_set(const struct shared_key *key, const struct shared_value *value, int64_t ttl_ms)
{
  shared_write(key, value, ttl_ms, false);
}

int shared_add(const struct shared_key *key, const struct shared_value *value, int64_t ttl_ms)
{
  return shared_write(key, value, ttl_ms, true);
}

int shared_increment(const struct shared_key *key, double by, const double *initial, int64_t ttl_ms, double *sum)
{
  uint64_t hash = 0;
  struct shared_shard *shard = shared_shard_of(key, &hash);
  struct shared_entry *fresh = NULL;
  if (initial != NULL) {
    struct shared_value value = {.type = SHARED_NUMBER, .number = *initial + by};
    fresh = shared_entry_new(key, hash, &value, ttl_ms);
  }
  struct shared_entry *gone = NULL;
  int result = 0;
  pthread_mutex_lock(&shard->lock);
  struct shared_entry *entry = shared_find(shard, key, hash, &gone);
  if (entry != NULL && entry->type != SHARED_NUMBER) {
    result = ERR_INVALID;
  } else if (entry != NULL) {
    entry->number += by;
    *sum = entry->number;
    shared_touch(shard, entry);
  } else if (fresh == NULL) {
    result = ERR_NOT_FOUND;
  } else {
    *sum = fresh->number;
    shared_put(shard, fresh, &gone);
    fresh = NULL;
  }
  pthread_mutex_unlock(&shard->lock);
  shared_free_chain(gone);
  mem_free(fresh);
  return result;
}

int shared_delete(const struct shared_key *key)
{
  uint64_t hash = 0;
  struct shared_shard *shard = shared_shard_of(key, &hash);
  struct shared_entry *gone = NULL;
  pthread_mutex_lock(&shard->lock);
  struct shared_entry *entry = shared_find(shard, key, hash, &gone);
  if (entry != NULL) {
    shared_take_out(shard, entry, &gone);
  }
  pthread_mutex_unlock(&shard->lock);
  shared_free_chain(gone);
  return entry != NULL ? 0 : ERR_NOT_FOUND;
}

// ---- all of it ----

/// The keys of one place, if they fit; returns bytes written. With the lock.
static size_t shared_keys_of(const struct shared_entry *entry, uint32_t dict, int64_t now_ms, char *out, size_t size)
{
  size_t used = 0;
  for (; entry != NULL; entry = entry->next) {
    if (entry->dict == dict && entry->expires_ms > now_ms && size - used >= sizeof entry->key_size + entry->key_size) {
      memcpy(out + used, &entry->key_size, sizeof entry->key_size);
      memcpy(out + used + sizeof entry->key_size, entry->bytes, entry->key_size);
      used += sizeof entry->key_size + entry->key_size;
    }
  }
  return used;
}

/// Bytes that the keys of one place need at most. With the lock.
static size_t shared_keys_need(const struct shared_entry *entry, uint32_t dict)
{
  size_t need = 0;
  for (; entry != NULL; entry = entry->next) {
    need += entry->dict == dict ? sizeof entry->key_size + entry->key_size : 0;
  }
  return need;
}

size_t shared_keys(uint32_t dict, struct shared_cursor *cursor, char *out, size_t size)
{
  enum { PLACES_MAX = 4096 }; // looked at under one lock
  pthread_once(&shared_once, shared_start);
  int64_t now_ms = clock_mono_ms();
  while (cursor->shard < SHARED_SHARDS) {
    struct shared_shard *shard = &shared_shards[cursor->shard];
    size_t used = 0;
    bool is_full = false;
    pthread_mutex_lock(&shard->lock);
    size_t count = shard->places != NULL ? shard->place_count : 0;
    for (int i = 0; i < PLACES_MAX && cursor->bucket < count && !is_full; i++) {
      const struct shared_entry *entry = shard->places[cursor->bucket];
      is_full = used > 0 && shared_keys_need(entry, dict) > size - used;
      if (!is_full) {
        used += shared_keys_of(entry, dict, now_ms, out + used, size - used);
        cursor->bucket++;
      }
    }
    bool is_through = cursor->bucket >= count;
    pthread_mutex_unlock(&shard->lock);
    if (is_through) {
      cursor->shard++;
      cursor->bucket = 0;
    }
    if (used > 0) {
      return used;
    }
  }
  return 0;
}

void shared_set_memory(int64_t bytes)
{
  pthread_once(&shared_once, shared_start);
  for (int i = 0; i < SHARED_SHARDS; i++) {
    pthread_mutex_lock(&shared_shards[i].lock);
    shared_shards[i].limit_bytes = (bytes < SHARED_MEMORY_MIN ? SHARED_MEMORY_MIN : bytes) / SHARED_SHARDS;
    pthread_mutex_unlock(&shared_shards[i].lock);
  }
}

void shared_collect(void *arg, struct metric_samples *out)
{
  static const struct metric memory = {"policy.shared_bytes", NULL, METRIC_GAUGE, "memory of shared dictionaries"};
  static const struct metric entries = {"policy.shared_entries", NULL, METRIC_GAUGE, "keys in shared dictionaries"};
  static const struct metric evicted = {"policy.shared_evictions", NULL, METRIC_COUNTER,
                                        "keys of shared dictionaries that went for want of memory"};
  (void)arg;
  pthread_once(&shared_once, shared_start);
  int64_t sums[3] = {0, 0, 0};
  for (int i = 0; i < SHARED_SHARDS; i++) {
    struct shared_shard *shard = &shared_shards[i];
    pthread_mutex_lock(&shard->lock);
    sums[0] += shard->bytes;
    sums[1] += shard->entries;
    sums[2] += shard->evicted;
    pthread_mutex_unlock(&shard->lock);
  }
  metrics_put(out, &memory, NULL, sums[0]);
  metrics_put(out, &entries, NULL, sums[1]);
  metrics_put(out, &evicted, NULL, sums[2]);
}
