// SPDX-License-Identifier: Apache-2.0
//
// The broker's parts, for the files that put them together at a start: broker.c has the order, broker_storage.c what
// lies on disks. The main thread owns all of it, but for what is said to be the control thread's.
#pragma once

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "base/arena.h"
#include "base/epoch.h"
#include "base/error.h"
#include "broker/adoption.h"
#include "broker/events.h"
#include "broker/measure.h"
#include "broker/own_configs.h"
#include "broker/policies.h"
#include "broker/scripting.h"
#include "event/loop.h"
#include "log/log_manager.h"
#include "metadata/image.h"
#include "network/server.h"
#include "policy/policy.h"

struct broker_config;
struct broker_options;
struct controller;
struct coordinator;
struct metastore;
struct policy_runners;
struct pool;
struct reloader;
struct replica_manager;
struct script;

struct broker {
  struct event_loop *worker_loops[SERVER_WORKERS_MAX];      ///< the workers' loops, for the replicas
  struct epoch_thread epoch;                                ///< the main thread's, for closing logs
  const struct broker_options *options;                     ///< borrowed
  struct arena arena;                                       ///< what settings point to
  int32_t id;                                               ///< of this broker
  struct adoption adoption;                                 ///< what is taken up that Kafka wrote
  struct log_identity identity;                             ///< what the data directories say about themselves
  struct event_loop control;                                ///< the control thread's loop
  bool has_control;                                         ///< `control` was created
  bool is_control_running;                                  ///< its thread was started
  struct pool *pool;                                        ///< threads that may wait for disks
  struct log_manager *logs;                                 ///< data directories
  bool are_logs_claimed;                                    ///< the data directories are this broker's
  bool are_logs_started;                                    ///< logs were opened: they have to be closed
  struct metastore *store;                                  ///< metadata on disk
  struct metadata_cache metadata;                           ///< the image in memory
  bool has_metadata;                                        ///< `metadata` was created
  struct policies policies;                                 ///< functions of the configuration
  struct events events;                                     ///< what hooks are told
  struct replica_manager *replicas;                         ///< partitions
  struct controller *controller;                            ///< topic changes
  struct coordinator *coordinator;                          ///< groups
  struct reloader *reloader;                                ///< reads the configuration again
  struct server *server;                                    ///< connections
  struct api api;                                           ///< what handlers work with
  struct measure measure;                                   ///< what is counted
  struct scripting scripting;                               ///< what the script thread works with
  struct script *script;                                    ///< consoles; NULL: none
  struct metadata_endpoint endpoints[SERVER_LISTENERS_MAX]; ///< what this broker advertises
  struct own_configs own_configs;                           ///< what it was started as, for DescribeConfigs
  struct mail mail;                                         ///< carries steps to the control thread
  sem_t step;                                               ///< posted when such a step is done
  int step_result;                                          ///< its result
  struct error_detail step_error;                           ///< its error
};

/// Puts texts around the latest error's sentence.
///
/// @return `result`
int broker_add_texts(int result, const char *before, const char *behind);

/// How logs are compacted, by a configuration.
struct log_cleaner_config broker_storage_cleaner(const struct broker_config *config);

/// Locks and reads the data directories: nothing is written yet.
///
/// @return 0, or what log_manager_new() says, in a sentence about the key `broker.data` where a directory is at fault
int broker_storage_open_logs(struct broker *broker);

/// Whether the data directories are this broker's, or nobody's; takes its id from them where none is given. What might
/// be adopted is looked into.
///
/// @return 0, ERR_CONFIG, or what adoption_survey() says
int broker_storage_check_identity(struct broker *broker);

/// Opens the metastore. The directories name it once it knows its cluster, so that one without a cluster is none that
/// they belong to; taken for a new one, it would make strays of all partitions.
///
/// @return 0, ERR_CONFIG, or what metastore_local_open() says
int broker_storage_open_metastore(struct broker *broker);

/// Whether this start adopts; now that the metastore can be asked.
///
/// @return 0, ERR_CONFIG, or what adoption_decide() and adoption_survey() say
int broker_storage_decide_adoption(struct broker *broker);
