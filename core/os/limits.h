// SPDX-License-Identifier: Apache-2.0
//
// Resource limits of the process. Start-up, main thread.
#pragma once

#include <stdint.h>

/// Raises the limit on open files to the hardest allowed.
///
/// @param[out] before  limit found
/// @param[out] after   limit now, the same when it cannot be raised; UINT64_MAX: none
/// @return 0, ERR_IO ... when the limit cannot be read
int limits_raise_files(uint64_t *before, uint64_t *after);

/// Memory that the process may take, in bytes: the machine's, or less where its control groups (v1, v2) set a limit.
int64_t limits_memory(void);
