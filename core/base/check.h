// SPDX-License-Identifier: Apache-2.0
//
// CHECK() is for our own bugs, in release builds too: a broken invariant ends the process with a line that says which.
// Bytes from the network or from disk never reach a CHECK().
#pragma once

#define CHECK(condition)                            \
  do {                                              \
    if (__builtin_expect(!(condition), 0)) {        \
      check_failed(#condition, __FILE__, __LINE__); \
    }                                               \
  } while (0)

/// Prints the failed condition and aborts.
_Noreturn void check_failed(const char *condition, const char *file, int line);
