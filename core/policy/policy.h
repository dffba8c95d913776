// SPDX-License-Identifier: Apache-2.0
//
// What a configuration says about records, segments and topics in functions of its user: its policies. A set is made by
// whoever evaluates the configuration (core/lua), is immutable, and is replaced whole by a reload. What runs the
// functions is a VM (policy/vm.h), made anew for each set and each thread that needs one.
//
//   config.lua -> lua/config -> struct policy_set -> policy_cache: read by all threads, as the metadata image is
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/epoch.h"

struct metric_samples;
struct policy_vm;

enum policy_kind {
  POLICY_PARTITIONER,     ///< chooses a partition for each record that is produced
  POLICY_TRANSFORM,       ///< drops, changes or multiplies records that are produced
  POLICY_TRANSFORM_FETCH, ///< the same for records that are fetched
  POLICY_WHERE,           ///< which records a view has
  POLICY_RETENTION,       ///< which segments are deleted
  POLICY_ARCHIVE,         ///< is told of a segment before it is deleted
  POLICY_PLACEMENT,       ///< which brokers get the replicas of a new topic
  POLICY_HOOK,            ///< is asked before, or told after, something happens
  POLICY_TIMER,           ///< runs from time to time
  POLICY_REQUEST,         ///< sees each request of one api
  POLICY_KINDS,
};

enum {
  POLICY_TEXT_SIZE = 512,    ///< longest message about a policy with its NUL, bytes
  POLICY_TITLE_SIZE = 600,   ///< longest title of a policy with its NUL, bytes: two names and some words
  POLICY_CALL_BUDGETS = 20,  ///< see policy_call_budget_ms()
  POLICY_CALL_MIN_MS = 1000, ///< likewise
};

/// What came of the calls of a policy. Any thread counts, any thread reads.
struct policy_counters {
  _Atomic(int64_t) calls;  ///< calls: of a policy on records, records
  _Atomic(int64_t) errors; ///< calls that failed
  _Atomic(int64_t) ns;     ///< time of all calls: of the processor, for records; for others as it passed
  _Atomic(bool) is_off;    ///< it lost threads that never came back (policy/runner.h): an error until the next reload,
                           ///< which makes new counters
  _Atomic(int64_t) logged_ms;        ///< monotonic time of the last error that was logged: one a second at most
  _Atomic(int64_t) error_ms;         ///< wall clock of the last error
  _Atomic(int64_t) rejects;          ///< records that it has rejected
  _Atomic(int64_t) reject_logged_ms; ///< as `logged_ms`, of a reason to reject some
  _Atomic(char *) last_error; ///< what went wrong last, with file and line; NULL: nothing yet. Exchanged whole: a
                              ///< reader is inside its epoch. Owned: policy_counters_destroy()
};

/// One function of the user's, or a partitioner of ours.
struct policy {
  enum policy_kind kind; ///< what it is for
  const char *name;      ///< of a named one "by_region", of a hook "topic.create", of a request "Fetch", of a timer
                         ///< "every 300000 ms", of `where` the view's; "placement"; otherwise the topic's name
  const char *label;     ///< as config.lua has it: `topic "clicks".transform`; NULL: built in
  const char *source;    ///< file in which the function stands; NULL: built in
  int line;              ///< its first line there
  int index;             ///< its place in the set, by which a VM knows it; -1: built in
  int builtin;           ///< enum policy_builtin (policy/partitioners.h) of one of ours, -1: the user's
  bool is_compiled;      ///< `jit = true`
  uint64_t text_hash;    ///< of the function's text, without comments: one that has changed has another
  struct policy_counters *counters; ///< owned by the set
};

/// What holds for one topic.
struct policy_topic {
  const char *name;                     ///< of the topic
  const struct policy *partitioner;     ///< NULL: none; likewise the following
  const struct policy *transform;       ///< of what is produced
  const struct policy *transform_fetch; ///< of what is fetched
  const struct policy *retention;       ///< of its segments
  const struct policy *archive;         ///< of its segments
};

/// A topic that shows some records of another.
struct policy_view {
  const char *name;           ///< of the view
  const char *from;           ///< of the topic it reads
  const struct policy *where; ///< NULL: all records
  const char *source;         ///< file in which it is given
  int line;                   ///< line of that
};

/// A partitioner that topics choose by its name.
struct policy_named {
  const char *name;            ///< the policy's
  const struct policy *policy; ///< what has it
};

/// A file that the configuration consists of, as it was read: all VMs of a set evaluate the same bytes.
struct policy_source {
  const char *path; ///< as Lua names it
  const char *text; ///< its bytes
  size_t size;      ///< how many
};

/// Everything that one evaluation of a configuration said. Immutable, shared, counted.
struct policy_set {
  _Atomic(int32_t) refs;               ///< the cache's, those of runners and of work under way
  struct epoch_retired retired;        ///< for the reclaimer
  int64_t generation;                  ///< rises with each reload
  uint64_t hash;                       ///< of all sources but for comments and `broker { ... }` in config.lua: the same
                                       ///< where brokers have the same policies
  const struct policy *policies;       ///< all, by index
  int policy_count;                    ///< how many
  const struct policy_topic *topics;   ///< sorted by name (bytewise)
  int topic_count;                     ///< how many
  const struct policy_named *named;    ///< partitioners of the user's by name, sorted (bytewise)
  int named_count;                     ///< how many
  const struct policy_view *views;     ///< sorted by name (bytewise)
  int view_count;                      ///< how many
  const struct policy *placement;      ///< NULL: the default
  const struct policy_source *sources; ///< files, the first is config.lua
  int source_count;                    ///< how many; 0: no policy is the user's, no VM is needed
  bool is_unsafe;                      ///< os.execute, io and ffi may be used
  int64_t memory_bytes;                ///< cap of each Lua state
  int budget_ms;                       ///< processor time of one record, segment or event
  /// Makes a VM that knows this set's policies. On the thread that will use it, outside the epoch; may take some ms.
  ///
  /// @param[out] vm  owned: vm->class->free(vm)
  /// @return 0, ERR_SCRIPT
  int (*new_vm)(const struct policy_set *set, struct policy_vm **vm);
  void (*free_fn)(struct policy_set *set); ///< frees it; called when the last reference has gone
};

/// Where the current set is; one in the process, owned by core/broker.
struct policy_cache {
  _Atomic(const struct policy_set *) current; ///< NULL: there are no policies at all
};

/// The current set, or NULL; borrowed until the calling thread leaves its epoch. Only the control thread may take a
/// reference to what it got here: for any other the last one may have gone meanwhile.
const struct policy_set *policy_cache_get(const struct policy_cache *cache);

/// Replaces it. Control thread, or start-up. The caller's reference to `set` is taken; NULL: none.
void policy_cache_publish(struct policy_cache *cache, const struct policy_set *set);

/// Shared. Whoever makes a set begins with `refs` 1. Any thread; the last unref retires it, and `free_fn` runs when no
/// thread inside its epoch can see it any more, on whichever thread.
const struct policy_set *policy_set_ref(const struct policy_set *set);
void policy_set_unref(const struct policy_set *set);

/// What holds for a topic; NULL: nothing. `set` may be NULL.
const struct policy_topic *policy_set_topic(const struct policy_set *set, const char *name, size_t length);

/// A partitioner by the name that the config luka.partitioner gives; NULL: no such. Ours come first, are not in the set
/// and are found with `set` NULL too; "header:NAME" and "range:..." give those with what they are told in the name,
/// which is the caller's to read (policy/partitioners.h).
const struct policy *policy_set_named(const struct policy_set *set, const char *name, size_t length);

/// A view by its name; NULL: no such.
const struct policy_view *policy_set_view(const struct policy_set *set, const char *name, size_t length);

/// Whether it has functions of the kinds from `first` to `last`. `set` may be NULL.
bool policy_set_has(const struct policy_set *set, enum policy_kind first, enum policy_kind last);

/// Processor time that all records of one call may take together: of 20 budgets, and at least a second. Each may take
/// one, but many that are slow would hold a runner, and all that waits for it, for as long as the batch is.
///
/// @param budget_ms  of one record
static inline int64_t policy_call_budget_ms(int budget_ms)
{
  int64_t call_ms = (int64_t)POLICY_CALL_BUDGETS * budget_ms;
  return call_ms > POLICY_CALL_MIN_MS ? call_ms : POLICY_CALL_MIN_MS;
}

/// What a kind is called, "transform_fetch". For ever.
const char *policy_kind_name(enum policy_kind kind);

/// What a policy is called in messages: "transform of topic clicks", "where of view clicks.eu", "partitioner by_region
/// of topic clicks", "hook topic.create". NUL-terminated, cut where there is no room.
///
/// @param topic  for which one with a name of its own was called; NULL: no matter
/// @param size   of `text`; POLICY_TITLE_SIZE is enough
void policy_title(const struct policy *policy, const char *topic, char *text, size_t size);

/// The same with its place: "transform of topic clicks (config.lua:12)". POLICY_TEXT_SIZE is enough for most.
void policy_title_at(const struct policy *policy, const char *topic, char *text, size_t size);

/// Counts calls, and an error if there is one (NULL: none), which is logged at most once a second. Any thread.
void policy_count(const struct policy *policy, int64_t calls, int64_t ns, const char *error);

/// Counts records that a policy has rejected, which is no error of it; why is logged at most once a second, as there
/// are clients that do not show it. Any thread.
void policy_count_rejects(const struct policy *policy, int32_t count, const char *why);

/// Source of metrics "policy.*" of each policy (base/metrics.h). Any thread inside its epoch. @param arg  struct
/// policy_cache
void policy_collect(void *arg, struct metric_samples *out);

/// Frees what the counters of a policy own; the struct itself is its set's. When nobody can see the set any more.
void policy_counters_destroy(struct policy_counters *counters);
