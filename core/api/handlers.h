// SPDX-License-Identifier: Apache-2.0
//
// The handlers, one file per api key. Each owns the request it is given and answers it on the same worker, at once or
// later.
#pragma once

struct api_client;
struct api_worker;
struct request;

void produce_handle(struct request *req);                   // produce.c
void fetch_handle(struct request *req);                     // fetch.c
void list_offsets_handle(struct request *req);              // list_offsets.c
void metadata_handle(struct request *req);                  // metadata.c
void offset_commit_handle(struct request *req);             // offset_commit.c
void offset_fetch_handle(struct request *req);              // offset_fetch.c
void offset_delete_handle(struct request *req);             // offset_delete.c
void find_coordinator_handle(struct request *req);          // find_coordinator.c
void api_versions_handle(struct request *req);              // api_versions.c
void create_topics_handle(struct request *req);             // create_topics.c
void delete_topics_handle(struct request *req);             // delete_topics.c
void delete_records_handle(struct request *req);            // delete_records.c
void describe_configs_handle(struct request *req);          // describe_configs.c
void init_producer_id_handle(struct request *req);          // init_producer_id.c
void create_partitions_handle(struct request *req);         // create_partitions.c
void describe_client_quotas_handle(struct request *req);    // describe_client_quotas.c
void describe_cluster_handle(struct request *req);          // describe_cluster.c
void describe_producers_handle(struct request *req);        // describe_producers.c
void describe_topic_partitions_handle(struct request *req); // describe_topic_partitions.c
void offset_for_leader_epoch_handle(struct request *req);   // offset_for_leader_epoch.c
void alter_configs_handle(struct request *req);             // alter_configs.c
void incremental_alter_configs_handle(struct request *req); // incremental_alter_configs.c

void list_config_resources_handle(struct request *req); // list_config_resources.c
void elect_leaders_handle(struct request *req);         // elect_leaders.c
void describe_quorum_handle(struct request *req);       // describe_quorum.c
void update_features_handle(struct request *req);       // update_features.c
void unregister_broker_handle(struct request *req);     // unregister_broker.c

void alter_partition_reassignments_handle(struct request *req);   // alter_partition_reassignments.c
void list_partition_reassignments_handle(struct request *req);    // list_partition_reassignments.c
void describe_user_scram_credentials_handle(struct request *req); // describe_user_scram_credentials.c
void alter_user_scram_credentials_handle(struct request *req);    // alter_user_scram_credentials.c
void consumer_group_heartbeat_handle(struct request *req);        // consumer_group_heartbeat.c
void consumer_group_describe_handle(struct request *req);         // consumer_group_describe.c

void alter_replica_log_dirs_handle(struct request *req); // alter_replica_log_dirs.c
void describe_log_dirs_handle(struct request *req);      // describe_log_dirs.c

void join_group_handle(struct request *req);      // join_group.c
void sync_group_handle(struct request *req);      // sync_group.c
void heartbeat_handle(struct request *req);       // heartbeat.c
void leave_group_handle(struct request *req);     // leave_group.c
void list_groups_handle(struct request *req);     // list_groups.c
void describe_groups_handle(struct request *req); // describe_groups.c
void delete_groups_handle(struct request *req);   // delete_groups.c

/// Answers ApiVersions of a version that is not known: error 35, in version 0 (KIP-511).
void api_versions_unsupported(struct request *req);

/// A worker's fetch sessions and waiting fetches: made at its start, answered at a drain, freed at its end; sessions
/// end with their connection.
void fetch_start(struct api_worker *worker);
void fetch_client_closed(struct api_worker *worker, struct api_client *client);
void fetch_drain(struct api_worker *worker);
void fetch_stop(struct api_worker *worker);
