// SPDX-License-Identifier: Apache-2.0
//
// Error codes and the detail record of the latest error of a thread. A function that fails returns a negative ERR_*;
// where the failure is first seen it calls error_set(), which keeps file, line, errno and a sentence for whoever logs
// it. Thread-local, so no lock.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum error_code {
#define ERR_X(name, number, text) name = number,
#include "base/errors_list.h"
#undef ERR_X
};

enum { ERROR_MESSAGE_SIZE = 512 };

/// The latest error recorded on this thread.
struct error_detail {
  int code;                         ///< ERR_*, 0 when none was recorded
  int os_errno;                     ///< errno at that time, 0 when it played no part
  const char *file;                 ///< source file, borrowed for ever
  int line;                         ///< source line
  char message[ERROR_MESSAGE_SIZE]; ///< a sentence without a full stop
};

/// Records an error; returns `code`, so that it can stand in a return statement.
#define error_set(code, ...) error_record((code), 0, __FILE__, __LINE__, __VA_ARGS__)

/// The same for a failed system call: `err` is its errno; returns the ERR_* that stands for it.
#define error_set_errno(err, ...) error_record(error_from_errno(err), (err), __FILE__, __LINE__, __VA_ARGS__)

#ifdef __clang_analyzer__
// The analyzer does not see that a failure is negative, and would follow paths on which it is none.
#undef error_set
#undef error_set_errno
#define error_set(code, ...) (error_record((code), 0, __FILE__, __LINE__, __VA_ARGS__), (code))
#define error_set_errno(err, ...) (error_record(0, (err), __FILE__, __LINE__, __VA_ARGS__), -1)
#endif

/// Returns the ERR_* for an errno value. Any thread.
int error_from_errno(int err);

/// The name ("ERR_IO") and the text of a code; never NULL. Any thread.
const char *error_name(int code);
const char *error_text(int code);

/// The detail of the latest error of this thread; borrowed until the next error_set() on it.
const struct error_detail *error_last(void);

/// The implementation of error_set(); call the macro.
int error_record(int code, int os_errno, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/// Runs an expression that returns 0 or a negative ERR_*, and returns from the calling function if it failed.
#define TRY(expr)            \
  do {                       \
    int try_result = (expr); \
    if (try_result < 0) {    \
      return try_result;     \
    }                        \
  } while (0)
