// SPDX-License-Identifier: Apache-2.0
//
// What AlterConfigs and IncrementalAlterConfigs have in common: a request becomes the controller's, after the checks
// that Kafka's brokers make before they ask theirs, and its results the answer.
//
//   here          resources and configs named twice, missing values, types of resources, broker ids, loggers
//   controller    topics, brokers, groups, client metrics: names, values, existence (controller/alter_plan.h)
#pragma once

#include "api/topic_change.h"

/// Begins a change of configs. The caller fills in `change->alter`: resources with types and names, and their entries,
/// by config_change_text(); then calls config_change_submit().
///
/// @param answer  answers the request from `change->alter`; with `is_timed_out` each resource gets REQUEST_TIMED_OUT
struct topic_change *config_change_new(struct request *req, int32_t resource_count, bool is_incremental,
                                       topic_change_fn answer);

/// Takes over the name and type of a resource and makes room for its entries.
///
/// @return the entries, to be filled in
struct controller_alter_entry *config_change_resource(struct topic_change *change, int32_t index, int8_t type,
                                                      struct wire_string name, int32_t entry_count);

/// Checks the request and gives what is left of it to the controller, or answers at once.
void config_change_submit(struct topic_change *change);

/// The same without checks: resources that cannot be changed have their errors.
void config_change_send(struct topic_change *change);

/// How much work a config is: one, and one for each further value of a list.
int64_t config_change_weight(struct wire_string value);

/// What a resource is answered with.
void config_change_result(const struct topic_change *change, bool is_timed_out, int32_t index, int16_t *error,
                          struct wire_string *message);
