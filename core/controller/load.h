// SPDX-License-Identifier: Apache-2.0
//
// The load under way: load.c has its steps, load_config.c the broker's configuration, load_topics.c what is read and
// mended, load_entities.c groups, subscriptions and users, load_adopt.c what is adopted, load_static.c what the topic
// blocks of the configuration come to. Control thread.
#pragma once

#include "controller/adopt.h"
#include "controller/controller_private.h"
#include "controller/static_work.h"
#include "controller/topic_nodes.h"

/// A partition as it was found.
struct partition_load {
  struct state_node state; ///< its state; after mending the one in force
  int32_t version;         ///< of the state node
  bool has_node;           ///< .../partitions/P exists
  bool has_state;          ///< .../partitions/P/state exists
};

/// A topic as it was found.
struct topic_load {
  const char *name;                  ///< in the arena
  bool is_doomed;                    ///< /admin/delete_topics has it
  bool is_there;                     ///< /brokers/topics has it
  bool has_config;                   ///< /config/topics has it
  bool has_partitions;               ///< .../partitions exists
  int32_t version;                   ///< of the topic node
  struct topic_node node;            ///< id and assignment
  struct config_entry *overrides;    ///< in the arena
  int32_t override_count;            ///< how many
  struct partition_load *partitions; ///< by number, in the arena
  struct metadata_topic *made;       ///< one reference, or NULL
};

/// A group, subscription or user as it was found.
struct entity_load {
  enum metadata_entity_kind kind; ///< what it is
  const char *name;               ///< in the arena, with a NUL behind it
  size_t name_length;             ///< bytes before that
  const char *path;               ///< of its node, in the arena
  struct config_entry *entries;   ///< what is set, in the arena
  int32_t entry_count;            ///< how many
};

/// Owner: the control thread.
struct loader {
  struct controller *controller;        ///< whose load it is
  void (*ready)(void *arg, int result); ///< told the end
  void *arg;                            ///< for `ready`
  struct arena arena;                   ///< of all steps
  struct arena *arenas;                 ///< answers of the metastore, kept until the end
  size_t arena_count;                   ///< how many
  struct metadata_broker **brokers;     ///< one reference each, in the arena
  int32_t broker_count;                 ///< how many
  int32_t *live;                        ///< ids of the registered brokers, sorted
  int32_t live_count;                   ///< how many
  struct topic_load *topics;            ///< sorted by name, in the arena
  int32_t topic_count;                  ///< how many
  struct entity_load *entities;         ///< groups, subscriptions and users, in the arena
  int32_t entity_count;                 ///< how many
  size_t entity_op;                     ///< the first of the reads of their nodes
  const struct metadata_topic **kept;   ///< topics that stay
  int32_t kept_count;                   ///< how many
  const struct metadata_topic **doomed; ///< topics whose deletion is to be finished
  int32_t doomed_there;                 ///< how many of those
  int32_t doomed_count;                 ///< topics with a request node, there or not
  struct adopt_group *groups;           ///< topics among the folders found, in the arena
  int32_t group_count;                  ///< how many
  struct adopt_topic *adopted;          ///< those that are new or get partitions, in the arena
  int32_t adopted_count;                ///< how many
  struct metadata_image *image;         ///< what will be published; one reference, owned
  struct static_work work;              ///< the topic blocks
  const struct metadata_topic **opened; ///< topics with the replicas that the blocks add
  int32_t opened_count;                 ///< how many
};

/// Frees a load with all that it holds.
void loader_free(struct loader *loader);

enum {
  LOADER_NAME_READS = 3,   ///< children that are read before the configuration
  LOADER_CONFIG_READS = 2, ///< nodes of the configuration
};

/// Asks for what was set on brokers at run time; takes the answers and makes the controller's configuration
/// (load_config.c). @return 0, ERR_CORRUPT
void loader_ask_config(struct loader *loader, struct writes *reads);
int loader_take_config(struct loader *loader, const struct metastore_op *ops);

/// Asks for the names of groups, subscriptions and users (load_entities.c), and takes them; asks for their nodes,
/// behind those of topics, and takes them. @return 0, ERR_CORRUPT
void loader_ask_entity_names(struct loader *loader, struct writes *reads);
void loader_take_entity_names(struct loader *loader, const struct metastore_op *ops);
void loader_ask_entities(struct loader *loader, struct writes *reads);
int loader_take_entities(struct loader *loader, const struct metastore_op *ops);
/// Puts them into the image.
void loader_put_entities(const struct loader *loader, struct metadata_draft *draft);

/// Takes the children of /brokers/ids, /brokers/topics and /admin/delete_topics.
void loader_take_names(struct loader *loader, const struct metastore_op *ops);

/// Asks for all registrations, topics and configs; takes the answers. @return 0, ERR_CORRUPT
void loader_ask_nodes(struct loader *loader, struct writes *reads);
int loader_take_nodes(struct loader *loader, const struct metastore_op *ops);

/// Asks for all partitions' nodes; takes the answers, elects, and adds what has to be written. @return 0, ERR_CORRUPT
void loader_ask_states(struct loader *loader, struct writes *reads);
int loader_take_states(struct loader *loader, const struct metastore_op *ops, struct writes *writes);

/// Makes the topics of the image, and those to delete.
void loader_make_topics(struct loader *loader);

/// Adds the removal of all nodes of the topics to delete.
void loader_remove_doomed(struct loader *loader, struct writes *writes);

/// Makes the image of what was found.
void loader_make_image(struct loader *loader);

/// Asks whether an adoption is under way; marks that one is, if it has to be; takes the mark away.
void loader_ask_marker(struct writes *reads);
void loader_mark_adoption(const struct loader *loader, const struct metastore_op *get, struct writes *writes);
void loader_unmark_adoption(const struct loader *loader, struct writes *writes);

/// Asks for what an adoption needs; takes the answers, decides, and adds what has to be written.
///
/// @return 0, ERR_CONFIG (something cannot be adopted, so nothing is), ERR_CORRUPT
int loader_ask_adoption(struct loader *loader, struct writes *reads);
int loader_take_adoption(struct loader *loader, const struct metastore_op *ops, struct writes *writes);

/// All is written: takes it into the image, adds it to what is to be opened, and says what was done.
void loader_apply_adoption(struct loader *loader);

/// Takes the answers to what the topic blocks ask, decides, and adds what has to be written: nothing when no block has
/// changed. @return 0, ERR_CORRUPT, ERR_TOPIC_BLOCK
int loader_take_static(struct loader *loader, const struct metastore_op *ops, struct writes *writes);

/// All is written: takes it into the image, lists what is to be opened, and says what was done.
void loader_apply_static(struct loader *loader);
