// SPDX-License-Identifier: Apache-2.0
//
// Room is taken before memory: counts may pass their bounds by as many as there are workers, for a moment. Who posts to
// the script thread says so first (`posting`), and closing waits for those, so that no mail comes to a loop that has
// ended.
#include "policy/probes.h"

#include <sched.h>
#include <string.h>

#include "base/mem.h"
#include "base/list.h"
#include "base/metrics.h"
#include "event/loop.h"

bool probe_watch_asks(const struct probe_watch *watch, int16_t key)
{
  return key >= 0 && key < PROBES_KEYS_MAX && (watch->asked[key / 64] >> (key % 64) & 1) != 0;
}

bool probe_watch_traces(const struct probe_watch *watch, const char *client_id, int length)
{
  size_t size = length > 0 ? (size_t)length : 0;
  for (int i = 0; i < watch->trace_count; i++) {
    size_t part = strlen(watch->traces[i]);
    if (part == 0 || (size >= part && memmem(client_id, size, watch->traces[i], part) != NULL)) {
      return true;
    }
  }
  return false;
}

/// Room for things and bytes of a bounded number.
struct probes_room {
  _Atomic(int64_t) *count; ///< things that have room
  _Atomic(int64_t) *bytes; ///< their bytes
  int64_t count_max;       ///< most of them
  int64_t bytes_max;       ///< most of their bytes
};

static void probes_give_back(const struct probes_room *room, size_t size)
{
  atomic_fetch_sub(room->bytes, (int64_t)size);
  atomic_fetch_sub(room->count, 1);
}

static bool probes_take(const struct probes_room *room, size_t size)
{
  int64_t count = atomic_fetch_add(room->count, 1) + 1;
  int64_t bytes = atomic_fetch_add(room->bytes, (int64_t)size) + (int64_t)size;
  if (count <= room->count_max && bytes <= room->bytes_max) {
    return true;
  }
  probes_give_back(room, size);
  return false;
}

static struct probes_room probes_ask_room(struct probes *probes)
{
  return (struct probes_room){&probes->ask_count, &probes->ask_bytes, PROBES_ASKS_MAX, PROBES_ASKS_BYTES_MAX};
}

static struct probes_room probes_note_room(struct probes *probes)
{
  return (struct probes_room){&probes->note_count, &probes->note_bytes, PROBES_NOTES_MAX, PROBES_NOTES_BYTES_MAX};
}

/// Bytes of a body that are handed on: none of one that is too large.
static size_t probes_kept(const uint8_t *body, size_t size, size_t most)
{
  return body != NULL && size <= most ? size : 0;
}

/// A copy of a body, NULL for one that is too large.
static uint8_t *probes_copy(const uint8_t *body, size_t size, size_t most)
{
  if (body == NULL || size > most) {
    return NULL;
  }
  uint8_t *copy = mem_alloc(size + 1);
  memcpy(copy, body, size);
  return copy;
}

/// Posts a mail to the script thread. @return false: it takes none
static bool probes_post(struct probes *probes, struct mail *mail)
{
  atomic_fetch_add(&probes->posting, 1);
  bool is_open = atomic_load(&probes->is_open);
  if (is_open) {
    event_loop_post(probes->loop, mail);
  }
  atomic_fetch_sub(&probes->posting, 1);
  return is_open;
}

// ---- questions ----

struct probe_ask *probes_ask_new(struct probes *probes, const uint8_t *body, size_t body_size)
{
  struct probes_room room = probes_ask_room(probes);
  size_t kept = probes_kept(body, body_size, PROBES_BODY_MAX);
  if (!probes_take(&room, kept)) {
    atomic_fetch_add(&probes->unasked, 1);
    return NULL;
  }
  struct probe_ask *ask = mem_zalloc(sizeof *ask);
  ask->probes = probes;
  ask->body = probes_copy(body, body_size, PROBES_BODY_MAX);
  ask->body_size = kept;
  ask->has_room = true;
  list_create(&ask->node);
  list_create(&ask->owner_node);
  return ask;
}

bool probes_ask(struct probe_ask *ask)
{
  struct probes *probes = ask->probes; // the question is the script thread's as soon as it is posted
  ask->mail.run = probes->on_ask;
  if (!probes_post(probes, &ask->mail)) {
    return false;
  }
  atomic_fetch_add_explicit(&probes->asked, 1, memory_order_relaxed);
  return true;
}

/// Functions have it no more: its body and its room are for others.
static void probe_ask_release(struct probe_ask *ask)
{
  if (ask->has_room) {
    struct probes_room room = probes_ask_room(ask->probes);
    probes_give_back(&room, ask->body_size);
    mem_free(ask->body);
    ask->body = NULL;
    ask->has_room = false;
  }
}

void probe_ask_delete(struct probe_ask *ask)
{
  if (ask != NULL) {
    probe_ask_release(ask);
    mem_free(ask->answer);
    mem_free(ask);
  }
}

static void probe_ask_came_back(struct mail *mail)
{
  struct probe_ask *ask = CONTAINER_OF(mail, struct probe_ask, mail);
  ask->is_back = true;
  probe_ask_release(ask);
  ask->returned(ask);
}

void probes_answer(struct probe_ask *ask)
{
  ask->mail.run = probe_ask_came_back;
  event_loop_post(ask->home, &ask->mail);
}

// ---- notes ----

struct probe_note *probes_note_new(struct probes *probes, const uint8_t *body, size_t body_size)
{
  struct probes_room room = probes_note_room(probes);
  size_t kept = probes_kept(body, body_size, PROBES_NOTE_BODY_MAX);
  if (!probes_take(&room, kept)) {
    atomic_fetch_add(&probes->dropped, 1);
    return NULL;
  }
  struct probe_note *note = mem_zalloc(sizeof *note);
  note->probes = probes;
  note->body = probes_copy(body, body_size, PROBES_NOTE_BODY_MAX);
  note->body_size = kept;
  return note;
}

void probes_note(struct probe_note *note)
{
  note->mail.run = note->probes->on_note;
  if (!probes_post(note->probes, &note->mail)) {
    probe_note_delete(note);
  }
}

void probe_note_delete(struct probe_note *note)
{
  struct probes_room room = probes_note_room(note->probes);
  probes_give_back(&room, note->body_size);
  mem_free(note->body);
  mem_free(note);
}

// ---- the script thread's side ----

void probes_open(struct probes *probes, struct event_loop *loop, mail_fn on_ask, mail_fn on_note, void *arg)
{
  probes->loop = loop;
  probes->on_ask = on_ask;
  probes->on_note = on_note;
  probes->arg = arg;
  atomic_store(&probes->is_open, true);
}

void probes_close(struct probes *probes)
{
  atomic_store(&probes->is_open, false);
  while (atomic_load(&probes->posting) > 0) {
    sched_yield();
  }
}

static void probe_watch_free(struct epoch_retired *retired)
{
  mem_free(CONTAINER_OF(retired, struct probe_watch, retired));
}

void probes_set_watch(struct probes *probes, struct probe_watch *watch)
{
  const struct probe_watch *before = atomic_exchange(&probes->watch, watch);
  if (before != NULL) {
    epoch_retire(&((struct probe_watch *)(uintptr_t)before)->retired, probe_watch_free);
  }
}

void probes_collect(void *arg, struct metric_samples *out)
{
  static const struct metric asked = {"probe.asked", NULL, METRIC_COUNTER, "requests that functions were asked about"};
  static const struct metric late = {"probe.late", NULL, METRIC_COUNTER,
                                     "requests that went on as functions took too long"};
  static const struct metric unasked = {"probe.unasked", NULL, METRIC_COUNTER,
                                        "requests that functions were not asked about, as too many waited"};
  static const struct metric waiting = {"probe.waiting", NULL, METRIC_GAUGE, "requests that functions have now"};
  static const struct metric dropped = {"probe.dropped", NULL, METRIC_COUNTER, "lines of traces that were left out"};
  struct probes *probes = arg;
  metrics_put(out, &asked, NULL, atomic_load_explicit(&probes->asked, memory_order_relaxed));
  metrics_put(out, &late, NULL, atomic_load_explicit(&probes->late, memory_order_relaxed));
  metrics_put(out, &unasked, NULL, atomic_load_explicit(&probes->unasked, memory_order_relaxed));
  metrics_put(out, &waiting, NULL, atomic_load_explicit(&probes->ask_count, memory_order_relaxed));
  metrics_put(out, &dropped, NULL, atomic_load_explicit(&probes->dropped, memory_order_relaxed));
}
