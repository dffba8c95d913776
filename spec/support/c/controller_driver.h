// SPDX-License-Identifier: Apache-2.0
//
// A controller with its threads for specs: a real metastore file, control loop and pool; the replicas are a diary of
// what the controller asked for. Calls wait for the answer, ten seconds at most.
#pragma once

#include "controller/controller.h"

struct controller_driver;

/// Starts everything and waits for the load. Owned: controller_driver_delete(). NULL when the store cannot be opened.
struct controller_driver *controller_driver_new(const char *path, const char *cluster_id, bool is_clean_start);
/// The same with topic blocks, which are borrowed for the driver's life.
struct controller_driver *controller_driver_new_static(const char *path, const struct static_topic *topics,
                                                       int32_t topic_count);
void controller_driver_delete(struct controller_driver *driver);

/// How the load ended. The config is Kafka's defaults but for num.partitions = 4; the broker has id 1.
int controller_driver_load_result(const struct controller_driver *driver);
const char *controller_driver_load_message(const struct controller_driver *driver);

/// Posts a request and waits for its answer; the arena is the driver's. @return whether it came
bool controller_driver_create(struct controller_driver *driver, struct controller_create *create);
bool controller_driver_drop(struct controller_driver *driver, struct controller_drop *drop);
bool controller_driver_grow(struct controller_driver *driver, struct controller_grow *grow);
bool controller_driver_alter(struct controller_driver *driver, struct controller_alter *alter);
bool controller_driver_reload(struct controller_driver *driver, struct controller_reload *reload);

/// Asks for a producer id and waits for it. @param[out] error  Kafka's code @return -1: none
int64_t controller_driver_producer_id(struct controller_driver *driver, int16_t *error);

/// Posts both and waits for both.
bool controller_driver_both(struct controller_driver *driver, struct controller_create *create,
                            struct controller_create *other);

/// Posts both, and waits until the replicas of the first are to be opened, which they never are.
bool controller_driver_hang(struct controller_driver *driver, struct controller_create *create,
                            struct controller_create *other);

/// Posts a change of configs whose arena ends with its answer, as that of a request does, and waits until the logs are
/// to get the configs, which they never do.
bool controller_driver_hang_alter(struct controller_driver *driver, struct controller_alter *alter);

/// The same with another configuration, of whose topics none is ever opened.
bool controller_driver_hang_reload(struct controller_driver *driver, struct controller_reload *reload);

/// After controller_driver_hang(): stops the controller, then has the replicas opened; waits until both are answered
/// and the controller has stopped, which the diary says.
bool controller_driver_stop(struct controller_driver *driver);

/// The current image; borrowed while nothing changes it.
const struct metadata_image *controller_driver_image(struct controller_driver *driver);

/// What hooks.apply and hooks.published were told: "open a 2 load; publish; delete a 2; ". Of a topic that gets more
/// partitions only those are counted that have replicas.
const char *controller_driver_diary(const struct controller_driver *driver);

/// Reads a node of the store: its data, "" when it has none; NULL: no such node. In the driver's arena.
const char *controller_driver_node(struct controller_driver *driver, const char *path);

/// The names below a node, with commas between. In the driver's arena.
const char *controller_driver_children(struct controller_driver *driver, const char *path);

/// Creates or sets a node behind the controller's back.
int controller_driver_write(struct controller_driver *driver, const char *path, const char *text, bool is_new);
