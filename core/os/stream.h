// SPDX-License-Identifier: Apache-2.0
//
// Files that need not be files: what a user names on the command line may be a pipe that nobody writes to, a terminal,
// or a device without an end. Waits, but not for ever. Main thread, at a start.
#pragma once

#include <stddef.h>

/// Reads all that a file, pipe or device has.
///
/// @param limit       most bytes
/// @param silence_ms  longest wait for the next byte
/// @param total_ms    longest time for all of them
/// @param[out] text   NUL-terminated, owned: mem_free()
/// @param[out] size   without the NUL
/// @return 0; ERR_LIMIT when there is more; ERR_TIMEOUT; what the system refuses, with its errno in error_last()
int stream_read_all(const char *path, size_t limit, int silence_ms, int total_ms, char **text, size_t *size);
