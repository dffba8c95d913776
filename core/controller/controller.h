// SPDX-License-Identifier: Apache-2.0
//
// The controller: creates and deletes topics, places replicas, keeps the metastore and publishes the metadata image.
// It lives on the control thread; requests are posted to it from any loop and answered by mail to the loop that asked.
//
//   api (worker) --mail--> decide (pure) --> metastore multi --> hooks.apply: logs opened --> image published --mail-->
//   api
//                                                       (deletion: image published first, then hooks.apply)
//
// One change is worked on at a time; others wait in the order in which they came. Errors are Kafka's wire codes with
// Kafka's messages, because callers pass them on as they are.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/uuid.h"
#include "event/mail.h"
#include "metadata/broker_config.h"
#include "metadata/image.h"

struct arena;
struct event_loop;
struct controller;
struct controller_change;
struct metastore;
struct static_topic_change;

// ---- what the controller needs ----

enum controller_change_kind {
  CONTROLLER_OPEN_REPLICAS,      ///< make this broker's replicas ready; comes before the image that has them
  CONTROLLER_DELETE_REPLICAS,    ///< take them away, with their files; comes after the image without them
  CONTROLLER_CONFIGURE_REPLICAS, ///< give their logs the topics' configs; comes before the image that has them
};

/// What core/replica has to do for a change. Valid until controller_change_done().
struct controller_change {
  enum controller_change_kind kind; ///< what to do
  const struct metadata_topic *const
      *topics; ///< topics concerned; those of whose partitions `replicas` name this broker. In a topic that gets
               ///< more partitions those that it had before have no `replicas`
  int32_t topic_count; ///< how many
  bool is_load; ///< at start: open what was there before; delete folders of what was never opened. Deletions come
                ///< first then
  int result;   ///< out, looked at with is_load: 0, or ERR_* that ends the start, with its error_last() still in place
  struct controller *controller; ///< the controller's
};

/// Set by core/broker. All are called on the control loop.
struct controller_hooks {
  void *arg; ///< first argument of the others
  /// Does what a change says, on the pool, then calls controller_change_done() on the control loop, once; it may do so
  /// before it returns. A replica that cannot be opened is the replica layer's to report: its partition stays offline.
  void (*apply)(void *arg, struct controller_change *change);
  /// Told the broker's configuration before logs are opened, and each time it has changed; borrowed during the call.
  /// May be NULL.
  void (*configured)(void *arg, const struct broker_config *config);
  /// Checks who is to choose partitions where a topic gets the config luka.partitioner. May be NULL: anybody.
  ///
  /// @param message  a sentence on failure, CONFIG_MESSAGE_SIZE bytes
  /// @return 0, ERR_CONFIG
  int (*check_partitioner)(void *arg, const char *name, char *message);
  /// Told after each image was published; may be NULL.
  void (*published)(void *arg, const struct metadata_image *image);
};

/// The end of what hooks.apply began. Only on the control loop.
void controller_change_done(struct controller_change *change);

/// A topic block of the configuration; everything is borrowed.
struct static_topic {
  const char *name;                   ///< checked; no two blocks of one name, or of names that collide
  int32_t partitions;                 ///< -1: num.partitions; of a topic that is there: as many as it has
  int32_t replication_factor;         ///< -1: default.replication.factor; of a topic that is there: as it is
  const struct config_entry *configs; ///< under Kafka's names, each once, checked one by one
  int32_t config_count;               ///< how many
  const char *text;                   ///< all of the above, the same for the same settings
  const char *place;                  ///< where it is written, for messages: "config.lua:12"
};

/// A partition's folder that may be adopted; everything is borrowed.
struct controller_found {
  const char *topic;    ///< topic name, checked
  int32_t partition;    ///< partition number
  struct uuid topic_id; ///< zero: its folder does not say
  int32_t leader_epoch; ///< the latest that its log has seen, -1: none
  const char *dir;      ///< data directory, for messages
};

/// What is to be adopted; everything is borrowed.
struct controller_adoption {
  const struct controller_found *found; ///< sorted by topic and partition, also those that are known
  int32_t count;                        ///< how many
  int64_t producer_id;                  ///< the highest in use, -1: none
  int32_t offsets_partitions;           ///< that __consumer_offsets gets where not all of its folders are there
};

/// In the metastore as long as an adoption is under way.
#define CONTROLLER_ADOPTION_PATH "/luka/adoption"

/// Everything is borrowed for the controller's life.
struct controller_settings {
  int32_t broker_id;                         ///< this broker
  const char *rack;                          ///< NULL: none
  const struct metadata_endpoint *endpoints; ///< what this broker advertises
  int32_t endpoint_count;                    ///< >= 1
  const char *cluster_id;                    ///< the id of the data directories, or NULL: the metastore's, or a new one
  bool is_clean_start; ///< the last stop was clean: leader epochs stay as they were; otherwise each rises by one
  const struct static_topic *static_topics;   ///< topic blocks, applied by controller_load() where they have changed;
                                              ///< only for the load
  int32_t static_topic_count;                 ///< how many
  const struct topic_view *views;             ///< that the configuration defines; only for the load
  int32_t view_count;                         ///< how many
  const struct controller_adoption *adoption; ///< taken up by controller_load(); NULL: nothing is
  struct metastore *store;                    ///< opened on `loop`
  struct metadata_cache *cache;               ///< where images go
  const struct broker_config *config;         ///< resolved; what is set at run time is laid over it. Only for the load:
                                              ///< a reload brings another one
  struct event_loop *loop;                    ///< control
  struct controller_hooks hooks;              ///< copied
};

/// Makes a controller; nothing happens yet. Owned: controller_delete().
struct controller *controller_new(const struct controller_settings *settings);

/// Frees it, after its loop has ended or before it was started. Requests that are still waiting or under way get
/// NOT_CONTROLLER, and their `done` runs here and now: no loop is there to run it. NULL is fine.
void controller_delete(struct controller *controller);

/// Registers this broker, becomes controller, reads all topics, applies the topic blocks that have changed, has the
/// replicas opened (is_load; those of new topics and partitions without) and publishes the first image. Call on the
/// control loop, or before it runs.
///
/// @param ready  called on the control loop with 0, or ERR_EXISTS (another broker has this id), ERR_CONFIG (cluster id
///               differs), ERR_CONFIG (something cannot be adopted), ERR_TOPIC_BLOCK (the sentence begins with its
///               place), ERR_CORRUPT (a node cannot be read), ERR_IO ...; error_last() has the sentence. On failure the
///               controller stays idle and answers every request with NOT_CONTROLLER
void controller_load(struct controller *controller, void (*ready)(void *arg, int result), void *arg);

/// Ends the work in good order while all loops run: requests that wait, and those that still come, get NOT_CONTROLLER;
/// the one under way goes on to its end. On the control loop, after the load has ended.
///
/// @param stopped  called on the control loop, once, when no request is under way any more
void controller_stop(struct controller *controller, void (*stopped)(void *arg), void *arg);

/// Checks what can be checked of an adoption without the metastore, so that one that cannot be leaves no trace.
/// @return 0, ERR_CONFIG
int controller_check_adoption(const struct controller_adoption *adoption);

/// The cluster's id, once loaded.
const char *controller_cluster_id(const struct controller *controller);

// ---- requests ----

enum controller_request_kind {
  CONTROLLER_CREATE,      ///< a struct controller_create
  CONTROLLER_DROP,        ///< a struct controller_drop
  CONTROLLER_GROW,        ///< a struct controller_grow
  CONTROLLER_PRODUCER_ID, ///< a struct controller_producer_id
  CONTROLLER_RELOAD,      ///< a struct controller_reload
  CONTROLLER_ALTER,       ///< a struct controller_alter
};

/// Start of a request while it is in the controller's hands; all the controller's.
struct controller_request {
  struct mail mail;                  ///< carries it there and back
  struct list node;                  ///< place in the queue
  struct controller *controller;     ///< whose it is
  enum controller_request_kind kind; ///< what it is the start of
};

// ---- creating topics ----

/// One partition of a manual assignment.
struct controller_assignment {
  int32_t partition;      ///< number, as the client gave it
  int32_t broker_count;   ///< length of `brokers`
  const int32_t *brokers; ///< replicas, the preferred leader first
};

/// One topic to create, and what came of it. Borrowed until done; results are in the request's arena.
struct controller_new_topic {
  const char *name;           ///< NUL-terminated
  size_t name_length;         ///< bytes before that NUL as the client counted them; more than strlen: a NUL inside
  int32_t partitions;         ///< -1: num.partitions
  int16_t replication_factor; ///< -1: default.replication.factor
  int32_t assignment_count;   ///< 0: the controller places
  struct controller_assignment *assignments; ///< may be reordered
  int32_t config_count;                      ///< entries of `configs`
  const struct config_entry *configs;        ///< a NULL value is refused, as Kafka does

  bool is_refused;                 ///< in: it has its error already, and is not created
  bool is_repeat;                  ///< out: a later entry of a name given twice: no entry in the answer
  int16_t error_code;              ///< out: Kafka's, 0: created (or would have been)
  const char *error_message;       ///< out: NULL with 0
  struct uuid id;                  ///< out: the new topic's id; zero on failure
  int32_t partition_count;         ///< out: -1 on failure
  int16_t made_replication_factor; ///< out: -1 on failure
  int32_t shown_count;             ///< out: entries of `shown`
  struct config_shown *shown;      ///< out: all configs of the new topic
};

/// A request to create topics. Embed it in the worker's request.
struct controller_create {
  struct controller_request base;      ///< first; the controller's
  struct arena *arena;                 ///< of the request; the controller's until done
  struct controller_new_topic *topics; ///< what to create
  int32_t topic_count;                 ///< how many
  bool is_validate_only;               ///< check, write nothing
  bool is_auto;                        ///< auto-creation: a topic that is there is success, with its id and counts
  struct event_loop *reply;            ///< loop that `done` runs on; NULL: on the control thread, where it is done
  void (*done)(struct controller_create *create); ///< called once
  void *arg;                                      ///< the caller's
};

/// Creates topics. Any thread; never blocks. All results are in `create` when `done` runs; those that succeeded are in
/// the current image by then, their replicas open.
void controller_create_topics(struct controller *controller, struct controller_create *create);

// ---- deleting topics ----

/// One topic to delete, by name or by id, and what came of it.
struct controller_old_topic {
  const char *name;          ///< in: NULL: by id; out: the name, NULL where the answer has none
  size_t name_length;        ///< as above
  struct uuid id;            ///< in: zero: by name; out: the id, where known
  bool is_refused;           ///< in: it has its error already, and is not deleted
  bool is_repeat;            ///< out: a later entry of a name or id given twice: no entry in the answer
  int16_t error_code;        ///< out: Kafka's
  const char *error_message; ///< out: NULL with 0
};

/// A request to delete topics. Embed it in the worker's request.
struct controller_drop {
  struct controller_request base;             ///< first; the controller's
  struct arena *arena;                        ///< of the request; the controller's until done
  struct controller_old_topic *topics;        ///< what to delete
  int32_t topic_count;                        ///< how many
  struct event_loop *reply;                   ///< loop that `done` runs on; NULL: on the control thread
  void (*done)(struct controller_drop *drop); ///< called once
  void *arg;                                  ///< the caller's
};

/// Deletes topics. Any thread; never blocks. When `done` runs, the image has no such topics and the names may be used
/// again; their files may still be on their way out.
void controller_delete_topics(struct controller *controller, struct controller_drop *drop);

// ---- adding partitions ----

/// One topic to which partitions are to be added, and what came of it.
struct controller_grown_topic {
  const char *name;                          ///< NUL-terminated
  size_t name_length;                        ///< bytes before that NUL as the client counted them
  int32_t partitions;                        ///< how many it is to have in all
  int32_t assignment_count;                  ///< entries of `assignments`; -1: the controller places
  struct controller_assignment *assignments; ///< one for each new partition, in order; `partition` is not looked at
  bool is_refused;                           ///< in: it has its error already, and gets none
  bool is_repeat;                            ///< out: a later entry of a name given twice: no entry in the answer
  int16_t error_code;                        ///< out: Kafka's, 0: the partitions are there (or would be)
  const char *error_message;                 ///< out: NULL where Kafka says no more
};

/// A request to add partitions to topics. Embed it in the worker's request.
struct controller_grow {
  struct controller_request base;             ///< first; the controller's
  struct arena *arena;                        ///< of the request; the controller's until done
  struct controller_grown_topic *topics;      ///< what to add to
  int32_t topic_count;                        ///< how many
  bool is_validate_only;                      ///< check, write nothing
  struct event_loop *reply;                   ///< loop that `done` runs on; NULL: on the control thread
  void (*done)(struct controller_grow *grow); ///< called once
  void *arg;                                  ///< the caller's
};

/// Adds partitions to topics. Any thread; never blocks. When `done` runs, those that succeeded have their new
/// partitions in the current image, their replicas open.
void controller_add_partitions(struct controller *controller, struct controller_grow *grow);

// ---- changing configs ----

enum controller_resource {
  CONTROLLER_USER = METADATA_USER, ///< a user's credentials: entries of the mechanisms' names; no type of Kafka's
  CONTROLLER_TOPIC = 2,            ///< Kafka's number of that type of resource
  CONTROLLER_BROKER = 4,           ///< this broker, or with an empty name all brokers
  CONTROLLER_CLIENT_METRICS = METADATA_CLIENT_METRICS, ///< a subscription to clients' metrics
  CONTROLLER_GROUP = METADATA_GROUP,                   ///< a group, there or not
};

enum controller_operation {
  CONTROLLER_SET = 0, ///< Kafka's numbers
  CONTROLLER_UNSET = 1,
  CONTROLLER_APPEND = 2,
  CONTROLLER_SUBTRACT = 3,
};

/// One config of a resource.
struct controller_alter_entry {
  const char *name;  ///< Kafka's name, as the client gave it; no other entry of the resource has it
  const char *value; ///< NULL only with CONTROLLER_UNSET
  int8_t operation;  ///< enum controller_operation, as the client gave it
};

/// One resource to change, and what came of it. Borrowed until done; results are in the request's arena.
struct controller_alter_resource {
  int8_t type;                                  ///< enum controller_resource; no other but with is_settled
  const char *name;                             ///< NUL-terminated; no other resource of the type has it
  size_t name_length;                           ///< bytes before that NUL; more than strlen: a NUL inside
  int32_t entry_count;                          ///< entries of `entries`
  const struct controller_alter_entry *entries; ///< all configs, or changes of some
  bool is_settled;                              ///< nothing is to be done
  int16_t error_code;        ///< in: not 0: refused already; out: Kafka's, 0: changed (or would have been)
  const char *error_message; ///< NULL with 0
};

/// A request to change configs. Embed it in the worker's request.
struct controller_alter {
  struct controller_request base;               ///< first; the controller's
  struct arena *arena;                          ///< of the request; the controller's until done
  struct controller_alter_resource *resources;  ///< what to change
  int32_t resource_count;                       ///< how many
  bool is_incremental;                          ///< `entries` are changes; otherwise all that the resource is to have
  bool is_validate_only;                        ///< check, write nothing
  struct event_loop *reply;                     ///< loop that `done` runs on; NULL: on the control thread
  void (*done)(struct controller_alter *alter); ///< called once
  void *arg;                                    ///< the caller's
};

/// Changes configs (alter_configs.c). Any thread; never blocks. When `done` runs, the changes are in the current image,
/// and the logs have them.
void controller_alter_configs(struct controller *controller, struct controller_alter *alter);

// ---- producer ids ----

/// A request for a producer id. Embed it in the worker's request.
struct controller_producer_id {
  struct controller_request base;                       ///< first; the controller's
  int64_t id;                                           ///< out: never given before; -1 on failure
  int16_t error_code;                                   ///< out: Kafka's
  struct event_loop *reply;                             ///< loop that `done` runs on; NULL: on the control thread
  void (*done)(struct controller_producer_id *request); ///< called once
  void *arg;                                            ///< the caller's
};

/// Gives a producer id (producer_ids.c). Any thread; never blocks.
void controller_new_producer_id(struct controller *controller, struct controller_producer_id *request);

// ---- another configuration ----

enum controller_block_outcome {
  CONTROLLER_BLOCK_SAME,    ///< applied already, and its topic is there
  CONTROLLER_BLOCK_GONE,    ///< applied already, and its topic deleted since: it stays so
  CONTROLLER_BLOCK_CREATED, ///< its topic was created
  CONTROLLER_BLOCK_CHANGED, ///< applied to a topic that is there; that may have changed nothing but what is noted
};

/// What came of a topic block; texts are in the request's arena.
struct controller_block {
  enum controller_block_outcome outcome;     ///< what was done
  int32_t partitions_before;                 ///< 0: the topic is new
  int32_t partitions;                        ///< partitions that it has; with CONTROLLER_BLOCK_CREATED and _CHANGED
  int32_t set_count;                         ///< configs that were set on a topic that was there
  const struct static_topic_change *changes; ///< those
};

/// A request to put another configuration in force: all of it or, with an error, none. Embed it in what asks.
struct controller_reload {
  struct controller_request base;     ///< first; the controller's
  struct arena *arena;                ///< of the request; the controller's until done
  const struct broker_config *config; ///< as config.lua has it now, borrowed until done
  const struct static_topic *topics;  ///< its topic blocks, borrowed until done
  int32_t topic_count;                ///< how many
  const struct topic_view *views;     ///< that it defines, borrowed until done
  int32_t view_count;                 ///< how many
  const struct broker_config *before; ///< out: what was in force; one reference, owned: broker_config_unref()
  const struct broker_config *after;  ///< out: what is in force now; one reference, owned. Both NULL on failure
  struct controller_block *blocks;    ///< out: one for each topic block, in the arena
  const char *error;                  ///< out: one line on why nothing was done, in the arena; NULL: all was. With the
                                      ///< place of a topic block in front
  struct event_loop *reply;           ///< loop that `done` runs on; NULL: on the control thread
  void (*done)(struct controller_reload *reload); ///< called once
  void *arg;                                      ///< the caller's
};

/// Puts another configuration in force (reload.c): topic blocks that have changed, and the broker configs that can be
/// changed while the broker runs. What clients have set stays set, and wins. A block that asks for what it cannot get
/// (fewer partitions, other replicas) is an error here. Any thread; never blocks. When `done` runs, the image has it
/// all, and the replicas are open.
void controller_reload(struct controller *controller, struct controller_reload *reload);
