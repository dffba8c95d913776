// SPDX-License-Identifier: Apache-2.0
//
// Probes: functions of a user's that see each request of a kind, and may delay it, answer it with an error, close its
// connection or never answer it; and traces, which print what some client asks and is answered. Both run on the script
// thread (core/lua); here is what it shares with the workers (core/api/probe.c):
//
//   worker: probes->watch says that somebody looks --> probes_ask() --mail--> script thread: functions run
//           the request waits                       <-------mail--- probes_answer() <---+
//   worker: a traced client's request, or answer    --> probes_note() --mail--> script thread
//
// While nobody looks `watch` is NULL, and that is all that a request pays: one load. A request that finds no room among
// those that wait goes on untouched, and so does one whose functions are not done within PROBES_DEADLINE_MS. What a
// trace cannot take is dropped and counted.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/epoch.h"
#include "base/list.h"
#include "event/mail.h"
#include "event/timer.h"

struct event_loop;
struct metric_samples;

enum {
  PROBES_KEYS_MAX = 128,            ///< api keys from 0
  PROBES_TRACES_MAX = 16,           ///< traces at a time
  PROBES_TEXT_SIZE = 256,           ///< longest part of a client id, and what is kept of one, with the NUL
  PROBES_ASKS_MAX = 1024,           ///< requests that functions have at a time
  PROBES_ASKS_BYTES_MAX = 64 << 20, ///< bytes of their bodies
  PROBES_NOTES_MAX = 1024,          ///< notes on their way to traces
  PROBES_NOTES_BYTES_MAX = 4 << 20, ///< bytes of the bodies they carry
  PROBES_NOTE_BODY_MAX = 64 << 10,  ///< largest body that a note carries
  PROBES_BODY_MAX = 4 << 20,        ///< largest body that is handed on; of a larger request there is none
  PROBES_DEADLINE_MS = 1000,        ///< wall time after which a request goes on, whatever its functions do
  PROBES_TASK_MS = 800,             ///< wall time after which the script thread ends them
  PROBES_DELAY_MAX_MS = 3600000,    ///< longest delay
};

/// What is looked at. Immutable, replaced whole.
struct probe_watch {
  struct epoch_retired retired;                     ///< for the reclaimer
  uint64_t asked[PROBES_KEYS_MAX / 64];             ///< by api key: functions are asked about such requests
  int trace_count;                                  ///< of `traces`
  char traces[PROBES_TRACES_MAX][PROBES_TEXT_SIZE]; ///< parts of the ids of traced clients
};

/// What workers and the script thread share; one in the process. Zero-initialised is one that nobody uses.
struct probes {
  _Atomic(const struct probe_watch *) watch; ///< NULL: nobody looks
  struct event_loop *loop;                   ///< the script thread's; constant while open
  mail_fn on_ask;                            ///< takes a struct probe_ask there
  mail_fn on_note;                           ///< takes a struct probe_note there
  void *arg;                                 ///< for both: where to find `probes`
  _Atomic(bool) is_open;                     ///< the script thread takes mails
  _Atomic(int) posting;                      ///< threads that are about to post one
  _Atomic(int64_t) ask_count;                ///< requests that functions have
  _Atomic(int64_t) ask_bytes;                ///< bytes of their bodies
  _Atomic(int64_t) note_count;               ///< notes on their way
  _Atomic(int64_t) note_bytes;               ///< bytes of the bodies they carry
  _Atomic(int64_t) asked;                    ///< requests that functions were asked about
  _Atomic(int64_t) late;                     ///< of those: went on as nothing was decided in time
  _Atomic(int64_t) unasked;                  ///< requests that found no room, and went on
  _Atomic(int64_t) dropped;                  ///< notes that found no room
};

/// What becomes of a request, once its delay is over.
enum probe_outcome {
  PROBE_GO_ON,  ///< it is handled as if nobody had looked
  PROBE_ANSWER, ///< it gets the answer given
  PROBE_CLOSE,  ///< its connection is closed
  PROBE_DROP,   ///< it is never answered
};

/// A request that functions are asked about. Made by probes_ask_new(); given by the worker to the script thread and
/// back, whose it is each time.
struct probe_ask {
  struct mail mail;      ///< carries it
  struct probes *probes; ///< whose

  // The question: constant once it was asked.
  const char *api;                  ///< "Fetch"; for ever
  int16_t version;                  ///< of the api
  int32_t correlation_id;           ///< as the client numbers it
  int32_t size;                     ///< bytes of the whole request
  char client_id[PROBES_TEXT_SIZE]; ///< "" when there is none; cut
  char address[PROBES_TEXT_SIZE];   ///< of the client, with its port
  uint8_t *body;                    ///< owned; NULL: it is larger than PROBES_BODY_MAX
  size_t body_size;                 ///< bytes
  bool has_room;                    ///< it counts among those that functions have
  struct event_loop *home;          ///< the worker's loop

  // The script thread's.
  struct list node;        ///< among those that it has
  struct timer task_timer; ///< ends its functions
  int64_t number;          ///< by which Lua knows it

  // The answer.
  enum probe_outcome outcome; ///< what is to become of it
  int64_t delay_ms;           ///< and when
  uint8_t *answer;            ///< body of the response; owned
  size_t answer_size;         ///< bytes
  int16_t error_code;         ///< the error in it, for counts

  // The worker's, at any time.
  void *owner;                             ///< the request; NULL: it has gone on, or is over
  bool is_back;                            ///< the script thread is through with it
  struct timer timer;                      ///< the deadline, then the delay
  struct list owner_node;                  ///< among the worker's
  void (*returned)(struct probe_ask *ask); ///< called on the worker when it is back
};

/// What a trace shows: a request, or what came of it.
struct probe_note {
  struct mail mail;                 ///< carries it
  struct probes *probes;            ///< whose
  bool is_answer;                   ///< otherwise a request
  bool is_closed;                   ///< the connection is closed instead of an answer
  const char *api;                  ///< "Fetch"; for ever
  int16_t version;                  ///< of the api
  int16_t error_code;               ///< of an answer: the first in it, 0: none
  int32_t correlation_id;           ///< as the client numbers it
  int64_t size;                     ///< bytes; of an answer -1: there is none
  int64_t latency_us;               ///< of an answer: since the request was there
  int64_t wall_ms;                  ///< when
  char client_id[PROBES_TEXT_SIZE]; ///< "" when there is none; cut
  char address[PROBES_TEXT_SIZE];   ///< of the client, with its port
  char topics[PROBES_TEXT_SIZE];    ///< of a Produce, whose body is not carried: topics and partitions; cut
  uint8_t *body;                    ///< of any other request, owned; NULL: too large
  size_t body_size;                 ///< bytes
};

// ---- for workers ----

/// What somebody looks at, or NULL; borrowed until the end of the turn.
static inline const struct probe_watch *probes_watch(const struct probes *probes)
{
  return atomic_load_explicit(&probes->watch, memory_order_acquire);
}

/// Whether functions are asked about an api.
bool probe_watch_asks(const struct probe_watch *watch, int16_t key);

/// Whether a client is traced. @param client_id  `length` bytes; -1: none
bool probe_watch_traces(const struct probe_watch *watch, const char *client_id, int length);

/// Makes a question, when there is room for one: the caller fills in what is constant. Owned: probe_ask_delete().
///
/// @param body  copied
/// @return NULL: there is no room, which is counted
struct probe_ask *probes_ask_new(struct probes *probes, const uint8_t *body, size_t body_size);

/// Asks. @return false: nobody takes it any more; it is still the caller's
bool probes_ask(struct probe_ask *ask);

/// NULL is fine.
void probe_ask_delete(struct probe_ask *ask);

/// Makes a note, when there is room for one; the caller fills it in. Owned: probe_note_delete().
///
/// @param body  copied; NULL: none
/// @return NULL: there is no room, which is counted
struct probe_note *probes_note_new(struct probes *probes, const uint8_t *body, size_t body_size);

/// Sends it; taken.
void probes_note(struct probe_note *note);

// ---- for the script thread ----

/// Says where questions and notes go. Before anything is watched.
void probes_open(struct probes *probes, struct event_loop *loop, mail_fn on_ask, mail_fn on_note, void *arg);

/// Nothing is asked and noted from now on; what was, has been posted when this returns. From another thread than those
/// that ask.
void probes_close(struct probes *probes);

/// Says what to look at. @param watch  taken (mem_alloc); NULL: nothing
void probes_set_watch(struct probes *probes, struct probe_watch *watch);

/// Gives a question back, with its answer filled in.
void probes_answer(struct probe_ask *ask);

/// Frees a note.
void probe_note_delete(struct probe_note *note);

// ---- for who measures ----

/// Source of metrics "probe.*" (base/metrics.h). Any thread. @param arg  struct probes
void probes_collect(void *arg, struct metric_samples *out);
