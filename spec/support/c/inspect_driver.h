// SPDX-License-Identifier: Apache-2.0
//
// Asks what is asked asynchronously, and waits for the answer: specs have no loop. The calling thread is registered
// with the epoch and inside.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct connection_list;
struct inspect_driver;
struct replica_inspection;
struct server;

/// Lists the connections of a server. connection_list_destroy() frees what was found.
void inspect_connections(struct server *server, int limit, struct connection_list *list);

/// The value of a metric of a server, INT64_MIN: there is none.
int64_t inspect_server_metric(struct server *server, const char *name);

/// A broker's replicas without the broker: topic "t" with `partitions` partitions, the last of which is another
/// broker's, in one data directory. Segments are closed at `segment_bytes`.
struct inspect_driver *inspect_driver_new(const char *dir, int32_t partitions, int32_t segment_bytes,
                                          int64_t retention_ms, int64_t retention_bytes);

/// Appends a batch of one record to a partition. @return its offset or ERR_*
int64_t inspect_driver_append(struct inspect_driver *driver, int32_t partition, int64_t timestamp, int32_t value_size);

/// Raises a partition's log start offset as DeleteRecords does. @return 0 or ERR_*
int inspect_driver_delete_records(struct inspect_driver *driver, int32_t partition, int64_t offset);

/// Starts the manager's timers, retention passes among them.
void inspect_driver_run(struct inspect_driver *driver);

/// Takes a partition's disk away.
void inspect_driver_fail(struct inspect_driver *driver, int32_t partition);

/// Deletes the topic; its partitions go.
void inspect_driver_drop(struct inspect_driver *driver);

/// Looks at a topic. replica_inspection_destroy() frees what was found.
void inspect_driver_look(struct inspect_driver *driver, const char *topic, int32_t partition,
                         struct replica_inspection *inspection);

/// The value of a metric of the replicas, INT64_MIN: there is none. @param label  NULL: of a metric without labels
int64_t inspect_driver_metric(struct inspect_driver *driver, const char *name, const char *label);

/// Stops all and frees it. @return 0 or ERR_*
int inspect_driver_stop(struct inspect_driver *driver);
