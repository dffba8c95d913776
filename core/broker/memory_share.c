// SPDX-License-Identifier: Apache-2.0
#include "broker/memory_share.h"

#include "base/error.h"
#include "metadata/broker_config.h"
#include "os/limits.h"

enum {
  BROKER_MEMORY_SHARE = 8,              // requests, and answers, may take one part in so many of the memory
  BROKER_MEMORY_MIN = 64 * 1024 * 1024, // but at least so many bytes
};

/// What a bound on memory comes to; `missing` when it is not set.
static int64_t memory_of(const struct broker_config *config, enum broker_config_index index, int64_t value,
                         int64_t missing)
{
  return !broker_config_is_set(config, index) ? missing : value <= 0 ? INT64_MAX : value;
}

int memory_share(const struct broker_config *config, int64_t *requests, int64_t *answers)
{
  int64_t share = limits_memory() / BROKER_MEMORY_SHARE;
  share = share < BROKER_MEMORY_MIN ? BROKER_MEMORY_MIN : share;
  int64_t largest = config->socket_request_max_bytes;
  *requests = memory_of(config, BROKER_CONFIG_queued_max_request_bytes, config->queued_max_request_bytes,
                        share < largest ? largest : share);
  *answers =
      memory_of(config, BROKER_CONFIG_luka_queued_max_response_bytes, config->luka_queued_max_response_bytes, share);
  if (*requests < largest) {
    return error_set(ERR_CONFIG, "queued_max_request_bytes must be larger or equal to socket_request_max_bytes (%lld)",
                     (long long)largest);
  }
  const char *overrides = config->text[BROKER_CONFIG_max_connections_per_ip_overrides];
  if (config->max_connections_per_ip == 0 && (overrides == NULL || overrides[0] == '\0')) {
    return error_set(ERR_CONFIG,
                     "max_connections_per_ip can be set to zero only if max_connections_per_ip_overrides is set");
  }
  return 0;
}
