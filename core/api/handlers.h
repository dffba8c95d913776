// SPDX-License-Identifier: Apache-2.0
//
// The handlers, one file per api key. Each owns the request it is given and answers it on the same worker, at once or
// later.
#pragma once

struct api_client;
struct api_worker;
struct request;

void produce_handle(struct request *req);          // produce.c
void fetch_handle(struct request *req);            // fetch.c
void list_offsets_handle(struct request *req);     // list_offsets.c
void metadata_handle(struct request *req);         // metadata.c
void find_coordinator_handle(struct request *req); // find_coordinator.c
void api_versions_handle(struct request *req);     // api_versions.c
void create_topics_handle(struct request *req);    // create_topics.c
void delete_topics_handle(struct request *req);    // delete_topics.c
void describe_configs_handle(struct request *req); // describe_configs.c
void init_producer_id_handle(struct request *req); // init_producer_id.c

void alter_replica_log_dirs_handle(struct request *req); // alter_replica_log_dirs.c
void describe_log_dirs_handle(struct request *req);      // describe_log_dirs.c

/// Answers ApiVersions of a version that is not known: error 35, in version 0 (KIP-511).
void api_versions_unsupported(struct request *req);

/// A worker's fetch sessions and waiting fetches: made at its start, answered at a drain, freed at its end; sessions
/// end with their connection.
void fetch_start(struct api_worker *worker);
void fetch_client_closed(struct api_worker *worker, struct api_client *client);
void fetch_drain(struct api_worker *worker);
void fetch_stop(struct api_worker *worker);
