// SPDX-License-Identifier: Apache-2.0
//
// Broker ids that clients send as texts: names of resources.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/types.h"

/// Reads a broker id as Kafka does, with or without a sign; false when it is not a number of 32 bits. Any thread.
bool broker_id_read(struct wire_string text, int32_t *id);
