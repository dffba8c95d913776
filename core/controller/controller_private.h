// SPDX-License-Identifier: Apache-2.0
//
// The controller's insides: controller.c (queue and changes), topic_plan.c and create_partitions.c (decisions), grow.c
// (adding partitions), delete.c (deleting), writes.c (steps of metastore writes), load.c (start), static_topics.c (what
// becomes of the topic blocks), static_work.c (their way through a load or a reload), adopt.c (what becomes of Kafka's
// partitions), producer_ids.c (ids for producers), alter_configs.c (changes of configs), reload.c (another
// configuration), slices.c (what takes long, in steps).
#pragma once

#include "base/arena.h"
#include "controller/controller.h"
#include "controller/topic_plan.h"
#include "metadata/metastore.h"

struct alter_work;
struct loader;
struct reload_work;
struct writes;

enum controller_state {
  CONTROLLER_IDLE,   ///< not loaded yet: requests wait
  CONTROLLER_READY,  ///< at work
  CONTROLLER_FAILED, ///< could not load, another broker took over, or stopping: requests get NOT_CONTROLLER
};

/// Owner: the control thread.
typedef void (*controller_step_fn)(struct controller *controller, int32_t i);

/// Many steps of the current change, a few at a time (slices.c).
struct controller_slices {
  struct mail mail;                            ///< has the loop go on with the next slice
  controller_step_fn step;                     ///< one step
  void (*done)(struct controller *controller); ///< after the last one
  int32_t next;                                ///< the next step
  int32_t count;                               ///< how many
};

struct controller {
  struct controller_settings settings;       ///< as given
  enum controller_state state;               ///< what is done with requests
  char cluster_id[METADATA_CLUSTER_ID_SIZE]; ///< known once loaded
  int32_t epoch;                             ///< this controller's epoch
  int32_t fence_version;                     ///< version of /controller_epoch: every write checks it
  struct list queue;                         ///< requests that wait
  struct controller_request *current;        ///< the one being worked on, or NULL
  bool is_running;                           ///< the queue is being run further up the stack
  struct arena arena;                        ///< of the current change: paths, JSON, steps
  struct metastore_request request;          ///< its request to the metastore
  struct controller_change change;           ///< its work for hooks.apply
  void (*change_done)(struct controller *);  ///< continues after hooks.apply
  struct metadata_topic **topics;            ///< topics being created, changed or deleted, one reference each, owned
  struct metadata_topic **opened; ///< the same with the replicas of their new partitions only; NULL: all are new, or go
  int32_t topic_count;            ///< how many
  const struct broker_config *config; ///< in force: a snapshot, one reference; NULL until the load has it
  struct controller_slices slices;    ///< steps of the current change, where it has many
  struct alter_work *alter;           ///< the change of configs under way, in the arena, or NULL
  struct reload_work *reload;         ///< the reload under way, in its request's arena, or NULL
  struct loader *loader;              ///< the load under way, or NULL
  void (*stopped)(void *arg);         ///< stopping: told when no request is under way; NULL otherwise
  void *stopped_arg;                  ///< for `stopped`
  int64_t producer_id;                ///< the next to give, of the block that this broker has
  int64_t producer_id_end;            ///< first one after the block; the same: there is none left
  struct metadata_topic **unremoved;  ///< deleted topics whose nodes are still there, referenced, owned
  int32_t unremoved_count;            ///< how many
  void (*unremoved_done)(struct controller *controller); ///< continues after unremoved_retry()
  int64_t refusal_logged_ms; ///< when a topic that is not created automatically was last logged
};

/// Has the replicas of topics opened or taken away, then calls `done`.
void controller_apply(struct controller *controller, enum controller_change_kind kind,
                      const struct metadata_topic *const *topics, int32_t count, bool is_load,
                      void (*done)(struct controller *controller));

/// Puts a configuration (taken) in force and tells who wants to know; images get it by metadata_draft_set_config().
void controller_set_config(struct controller *controller, struct broker_config *config);

/// @return 0, ERR_CONFIG (a topic has the name of a view, error_set() has the place)
int controller_check_views(const struct metadata_image *image);

/// Logs which views of an image that is about to be published are not there, for want of their topics.
void controller_warn_views(const struct metadata_image *image);

/// Publishes an image (taken) and tells who wants to know.
void controller_publish(struct controller *controller, struct metadata_image *image);

/// Makes `count` steps, 0 to `count` - 1, then calls `done`: in this call where it takes no longer than a slice,
/// otherwise in later turns. The arena, the metastore's answer and the current image stay until then.
void controller_slices_run(struct controller *controller, int32_t count, controller_step_fn step,
                           void (*done)(struct controller *controller));

/// Works on a request to change configs, which is the current one.
void controller_alter_begin(struct controller *controller, struct controller_alter *alter);

/// Frees what a change of configs holds; NULL is fine.
void controller_alter_drop(struct alter_work *work);

/// Lays a broker configuration over a topic: one reference, owned; NULL where nothing of it changes.
struct metadata_topic *controller_lay_config(const struct metadata_topic *topic, const struct broker_config *config);

/// Works on a request to put another configuration in force, which is the current one.
void controller_reload_begin(struct controller *controller, struct controller_reload *reload);

/// Frees what a reload holds; NULL is fine.
void controller_reload_drop(struct reload_work *work);

/// Works on a request for a producer id, which is the current one: answers it, or first takes the next block.
void controller_give_producer_id(struct controller *controller);

/// What decisions depend on, as of now.
struct topic_plan_context controller_plan_context(const struct controller *controller);

/// The replicas of `topics`, or of their new partitions, are open: publishes them and answers.
void controller_replicas_opened(struct controller *controller);

/// Keeps the topics of a plan, which has some in `slots` slots, as those of the current change.
///
/// @param plan  one reference each, taken
void controller_keep_topics(struct controller *controller, const struct metadata_topic **plan, int32_t slots,
                            int32_t count);

/// The topics of the current change, for controller_apply().
const struct metadata_topic *const *controller_changed_topics(const struct controller *controller);

/// Works on a request to delete topics, which is the current one (delete.c).
void controller_delete_begin(struct controller *controller, struct controller_drop *drop);

/// Works on a request to add partitions, which is the current one (grow.c).
void controller_grow_begin(struct controller *controller, struct controller_grow *grow);
/// The node with the last block of producer ids.
const char *producer_ids_path(void);

/// Adds the step that has new producer ids begin above one that is in use; none where they do already.
///
/// @param get      the node's answer
/// @param highest  -1: none is in use
/// @return 0, ERR_CORRUPT (the node cannot be read)
int producer_ids_raise(const struct metastore_op *get, int32_t broker_id, int64_t highest, struct writes *writes);

/// Answers the current request and turns to the next.
void controller_finish(struct controller *controller);

/// The metastore refused the current request's write: answers with what that means to a client.
void controller_fail_write(struct controller *controller);

/// Remembers deleted topics whose nodes could not be removed.
void unremoved_add(struct controller *controller, struct metadata_topic *const *topics, int32_t count);
void unremoved_drop(struct controller *controller);
/// Tries again to remove them, then calls `done` whatever came of it. Only while a request is the current one.
void unremoved_retry(struct controller *controller, void (*done)(struct controller *controller));

/// "s" unless there is one: "3 partitions".
const char *controller_plural(int32_t count);

/// Takes up requests that waited for the load.
void controller_resume(struct controller *controller, enum controller_state state);

/// Steps of a metastore request while they are put together, in an arena.
struct writes {
  struct arena *arena;      ///< where steps, paths and texts are
  struct metastore_op *ops; ///< the steps
  size_t count;             ///< how many
  size_t room;              ///< slots
};

/// Makes room for so many steps at once.
void writes_reserve(struct writes *writes, size_t count);
void writes_add(struct writes *writes, struct metastore_op op);
/// Fails the whole write when another controller was elected.
void writes_fence(struct writes *writes, int32_t fence_version);
/// `text` NULL: a node without data.
void writes_create(struct writes *writes, const char *path, const char *text);
void writes_set(struct writes *writes, const char *path, const char *text);
void writes_delete(struct writes *writes, const char *path);
void writes_read(struct writes *writes, enum metastore_op_kind kind, const char *path);

/// All nodes of a new topic.
void writes_create_topic(struct writes *writes, const struct metadata_topic *topic, int32_t controller_epoch);
/// The new assignment of a topic that had fewer partitions, and the nodes of those from `first` on.
void writes_add_partitions(struct writes *writes, const struct metadata_topic *topic, int32_t first,
                           int32_t controller_epoch);
/// All nodes of a topic, and the node that asks for its deletion.
void writes_delete_topic(struct writes *writes, const struct metadata_topic *topic);

/// Sends the steps; the request is the controller's own, cleared first.
void writes_submit(struct writes *writes, struct controller *controller, metastore_done_fn done);
