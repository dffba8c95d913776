// SPDX-License-Identifier: Apache-2.0
//
// The metadata image: brokers, topics and partitions of the cluster at one moment, immutable and shared by all threads.
// The controller builds the next one on the control thread (a change copies the changed topics and the spine) and
// publishes it in the cache; readers take the current one for the length of a turn without counting references
// (base/epoch.h), so a request sees one image from start to end. What outlives the turn takes a reference.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/epoch.h"
#include "base/uuid.h"
#include "metadata/group_config.h"
#include "metadata/topic_config.h"

struct broker_config;

enum { METADATA_NO_LEADER = -1, METADATA_CLUSTER_ID_SIZE = 64, METADATA_LISTENER_NAME_SIZE = 64 };

/// One address that a broker advertises.
struct metadata_endpoint {
  const char *listener; ///< listener name, e.g. "PLAINTEXT"
  const char *protocol; ///< security protocol, e.g. "PLAINTEXT"
  const char *host;     ///< what clients connect to; never a wildcard
  int32_t port;         ///< 1 to 65535
};

/// A registered broker; shared, immutable.
struct metadata_broker {
  _Atomic(int32_t) refs;                     ///< held by images
  int32_t id;                                ///< >= 0
  int64_t epoch;                             ///< broker epoch: the change that registered it
  const char *rack;                          ///< NULL: none
  int32_t endpoint_count;                    ///< >= 1
  const struct metadata_endpoint *endpoints; ///< in the order of registration
};

/// A partition; part of its topic.
struct metadata_partition {
  int32_t leader;          ///< broker id, METADATA_NO_LEADER: none
  int32_t leader_epoch;    ///< >= 0
  int32_t partition_epoch; ///< version of its state node
  int32_t replica_count;   ///< assigned replicas
  int32_t isr_count;       ///< in-sync ones
  int32_t offline_count;   ///< assigned ones whose broker is not registered
  const int32_t *replicas; ///< broker ids, the preferred leader first
  const int32_t *isr;      ///< broker ids
  const int32_t *offline;  ///< broker ids
};

/// A topic; shared, immutable once in an image.
struct metadata_topic {
  _Atomic(int32_t) refs; ///< held by images and by metadata_topic_ref()
  const char *name;      ///< NUL-terminated
  int32_t name_length;   ///< bytes, 1 to 249
  uint32_t hash;         ///< of the name
  struct uuid id;        ///< never zero
  bool is_internal;      ///< belongs to the broker
  /// Of a view: the topic that it shows, one reference, whose partitions and configs it has. NULL: a topic of its own
  const struct metadata_topic *source;
  int32_t version;                       ///< version of its node
  int32_t partition_count;               ///< >= 1
  struct metadata_partition *partitions; ///< by partition number
  int32_t override_count;                ///< configs that were set on it
  const struct config_entry *overrides;  ///< those
  struct topic_config config;            ///< what they and the broker's defaults add up to
};

/// What else can have configs; the numbers of Kafka's resource types where there is one.
enum metadata_entity_kind {
  METADATA_USER = 1,            ///< credentials (KIP-554); no resource type of Kafka's
  METADATA_CLIENT_METRICS = 16, ///< a subscription to clients' metrics (KIP-714)
  METADATA_GROUP = 32,          ///< a group (KIP-848)
};

/// A group, a subscription or a user on which something is set; shared, immutable.
struct metadata_entity {
  _Atomic(int32_t) refs;              ///< held by images
  enum metadata_entity_kind kind;     ///< what it is
  const char *name;                   ///< any bytes, with a NUL behind them
  int32_t name_length;                ///< bytes before that
  int32_t entry_count;                ///< what is set
  const struct config_entry *entries; ///< that, by names that come once
  struct group_config group;          ///< of a group: what its entries and the broker's configs add up to
};

/// A view that the configuration defines: a topic to read only, with some of the records of another. It is among the
/// topics of an image that has the other one, and no topic of its name.
struct topic_view {
  const char *name;  ///< of the view
  const char *from;  ///< of the topic that it shows
  const char *place; ///< where it is written, for messages: "config.lua:12"
};

struct topic_views;

/// The image. Everything in it is borrowed from it.
struct metadata_image {
  _Atomic(int32_t) refs;                     ///< the cache's and those of metadata_image_ref()
  struct epoch_retired retired;              ///< for the reclaimer
  int64_t version;                           ///< rises with every image
  char cluster_id[METADATA_CLUSTER_ID_SIZE]; ///< as text
  int32_t controller_id;                     ///< broker id, -1: none known
  int32_t controller_epoch;                  ///< epoch of that controller
  /// This broker's configuration, with what was set at run time; one reference. NULL until the controller has loaded:
  /// no request is served before
  const struct broker_config *config;
  int32_t broker_count;              ///< registered brokers
  struct metadata_broker **brokers;  ///< sorted by id
  int32_t topic_count;               ///< topics, views among them
  int64_t partition_count;           ///< partitions of all topics, without those of views
  struct metadata_topic **topics;    ///< sorted by name (bytewise)
  int32_t entity_count;              ///< groups, subscriptions and users on which something is set
  struct metadata_entity **entities; ///< sorted by kind and name (bytewise)
  struct topic_views *views;         ///< defined views, whether or not they are among the topics; NULL: none
  uint32_t slot_mask;                ///< slots of each hash spine minus one
  struct metadata_topic **by_name;   ///< open addressing by hash of the name
  struct metadata_topic **by_id;     ///< open addressing by the id's bytes
};

/// Where the current image is; one in the process, owned by core/broker.
struct metadata_cache {
  _Atomic(struct metadata_image *) current; ///< never NULL once created
};

/// Starts with an empty image. Any thread, before others use it.
void metadata_cache_create(struct metadata_cache *cache);
/// Drops the image at once; when no thread reads any more.
void metadata_cache_destroy(struct metadata_cache *cache);

/// The current image; borrowed until the calling thread leaves its epoch (the end of a loop's turn).
const struct metadata_image *metadata_cache_get(struct metadata_cache *cache);

/// Replaces it. Only the control thread (or start-up). `image` is taken.
void metadata_cache_publish(struct metadata_cache *cache, struct metadata_image *image);

/// Keeps an image beyond the turn. Any thread, inside the epoch in which it was read (or holding a reference).
void metadata_image_ref(const struct metadata_image *image);
void metadata_image_unref(const struct metadata_image *image);

/// Finds a topic; the name need not be NUL-terminated. NULL when there is none.
const struct metadata_topic *metadata_image_topic(const struct metadata_image *image, const char *name, size_t length);
const struct metadata_topic *metadata_image_topic_by_id(const struct metadata_image *image, const struct uuid *id);

/// The partition, or NULL when the number is out of range.
const struct metadata_partition *metadata_topic_partition(const struct metadata_topic *topic, int32_t partition);

/// The id under which the logs of a topic's partitions are known: of a view that of its source.
static inline const struct uuid *metadata_topic_log_id(const struct metadata_topic *topic)
{
  return topic->source ? &topic->source->id : &topic->id;
}

/// The definition of a view, whether or not it is among the topics; NULL: the name is free for a topic.
const struct topic_view *metadata_image_view(const struct metadata_image *image, const char *name, size_t length);

/// The first defined view in whose way a topic is; NULL: there is none.
const struct topic_view *metadata_image_hidden_view(const struct metadata_image *image);

/// A defined view that is not there, as the topic that it shows is not; NULL: none is left.
///
/// @param[in,out] at  where to look on; 0 at first
const struct topic_view *metadata_image_lost_view(const struct metadata_image *image, int32_t *at);

const struct metadata_broker *metadata_image_broker(const struct metadata_image *image, int32_t id);

/// Finds what is set on a group, a subscription or a user; the name may be any bytes. NULL: nothing is.
const struct metadata_entity *metadata_image_entity(const struct metadata_image *image, enum metadata_entity_kind kind,
                                                    const char *name, size_t length);

/// The first entity of a kind, with the next ones behind it.
///
/// @param[out] count  how many
struct metadata_entity *const *metadata_image_entities(const struct metadata_image *image,
                                                       enum metadata_entity_kind kind, int32_t *count);

/// The configs of a group, whether or not it exists or has some of its own: those are laid over the broker's. Borrowed
/// like the image. Once the controller has loaded.
const struct group_config *metadata_image_group_config(const struct metadata_image *image, const char *name,
                                                       size_t length);

/// A broker's address on a listener, or NULL: what clients of that listener are told.
const struct metadata_endpoint *metadata_broker_endpoint(const struct metadata_broker *broker, const char *listener);

/// Keeps one topic beyond its image.
void metadata_topic_ref(const struct metadata_topic *topic);
void metadata_topic_unref(const struct metadata_topic *topic);

/// One partition for metadata_topic_new(); arrays borrowed.
struct metadata_partition_spec {
  int32_t leader;          ///< broker id or METADATA_NO_LEADER
  int32_t leader_epoch;    ///< >= 0
  int32_t partition_epoch; ///< version of its state node
  const int32_t *replicas; ///< assigned brokers
  int32_t replica_count;   ///< how many
  const int32_t *isr;      ///< in-sync brokers
  int32_t isr_count;       ///< how many
};

/// Makes a topic with one reference, copying everything. Offline replicas are filled in when it enters an image.
/// Owned: metadata_topic_unref(), or give it to metadata_draft_put_topic().
struct metadata_topic *metadata_topic_new(const char *name, const struct uuid *id, int32_t version,
                                          const struct metadata_partition_spec *partitions, int32_t partition_count,
                                          const struct config_entry *overrides, int32_t override_count,
                                          const struct topic_config *config);

/// Makes a broker with one reference, copying everything. Owned: metadata_broker_unref(), or give it to
/// metadata_draft_put_broker().
struct metadata_broker *metadata_broker_new(int32_t id, int64_t epoch, const char *rack,
                                            const struct metadata_endpoint *endpoints, int32_t endpoint_count);

void metadata_broker_unref(struct metadata_broker *broker);

/// Makes a group, subscription or user with one reference, copying everything; values of a group are laid when it
/// enters an image. Owned:
/// metadata_entity_unref(), or give it to metadata_draft_put_entity().
struct metadata_entity *metadata_entity_new(enum metadata_entity_kind kind, const char *name, size_t name_length,
                                            const struct config_entry *entries, int32_t entry_count);

void metadata_entity_ref(struct metadata_entity *entity);
void metadata_entity_unref(struct metadata_entity *entity);

/// A copy of a topic with other configs; one reference, owned.
struct metadata_topic *metadata_topic_with_config(const struct metadata_topic *topic,
                                                  const struct config_entry *overrides, int32_t override_count,
                                                  const struct topic_config *config);

/// The next image while it is being built; one thread.
struct metadata_draft;

/// Starts from an image (borrowed until the draft is finished), or from nothing with NULL. Owned: finish or cancel it.
struct metadata_draft *metadata_draft_new(const struct metadata_image *base);
void metadata_draft_set_cluster(struct metadata_draft *draft, const char *cluster_id);
void metadata_draft_set_controller(struct metadata_draft *draft, int32_t id, int32_t epoch);
/// The configuration; takes a reference of its own. Groups are laid over it.
void metadata_draft_set_config(struct metadata_draft *draft, const struct broker_config *config);
/// The views, by any order; copied. Their topics follow from the others when the draft is finished.
void metadata_draft_set_views(struct metadata_draft *draft, const struct topic_view *views, int32_t count);
/// Adds or replaces by id or name; the reference is taken.
void metadata_draft_put_broker(struct metadata_draft *draft, struct metadata_broker *broker);
void metadata_draft_put_topic(struct metadata_draft *draft, struct metadata_topic *topic);
/// Adds or replaces; the reference is taken.
void metadata_draft_put_entity(struct metadata_draft *draft, struct metadata_entity *entity);
/// Missing ones are fine.
void metadata_draft_remove_broker(struct metadata_draft *draft, int32_t id);
void metadata_draft_remove_topic(struct metadata_draft *draft, const char *name);
void metadata_draft_remove_entity(struct metadata_draft *draft, enum metadata_entity_kind kind, const char *name,
                                  size_t length);
/// The image, with one reference (publish it or unref it). Frees the draft.
struct metadata_image *metadata_draft_finish(struct metadata_draft *draft);
void metadata_draft_cancel(struct metadata_draft *draft);
