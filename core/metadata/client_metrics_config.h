// SPDX-License-Identifier: Apache-2.0
//
// Configs of subscriptions to clients' metrics (KIP-714). No metrics are asked of clients here, as on a broker of Kafka
// without a plugin that takes them; subscriptions are kept, checked and shown.
#pragma once

#include "metadata/config.h"

enum { CLIENT_METRICS_CONFIG_COUNT = 3 };

/// The definitions, sorted by name.
const struct config_def *client_metrics_config_defs(void);

/// Checks one config of a subscription.
///
/// @param[out] is_request_error  whether Kafka calls what is wrong INVALID_REQUEST; otherwise INVALID_CONFIG
/// @param message                Kafka's sentence on failure, CONFIG_MESSAGE_SIZE bytes
/// @return 0, ERR_CONFIG
int client_metrics_config_check(const char *name, const char *text, bool *is_request_error, char *message);
