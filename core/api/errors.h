// SPDX-License-Identifier: Apache-2.0
//
// The one place where our error codes become Kafka's.
#pragma once

#include <stdint.h>

/// The wire code of an ERR_*, 0 for 0. What has no better name is UNKNOWN_SERVER_ERROR.
int16_t api_wire_error(int code);
