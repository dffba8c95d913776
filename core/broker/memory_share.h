// SPDX-License-Identifier: Apache-2.0
//
// How much memory requests and answers may take: what is configured, or a share of the machine's.
#pragma once

#include <stdint.h>

struct broker_config;

/// Bounds of memory, and whether they agree with the largest request. Start-up.
///
/// @param[out] requests, answers  bytes; INT64_MAX: no bound
/// @return 0; ERR_CONFIG with a sentence
int memory_share(const struct broker_config *config, int64_t *requests, int64_t *answers);
