// SPDX-License-Identifier: Apache-2.0
#include "os/errinj.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

struct errinj_state {
  _Atomic(int64_t) countdown; ///< passes left before it fails; 0 when disarmed, 1 when each pass fails
  _Atomic(int) err;           ///< errno
  _Atomic(bool) is_once;      ///< disarmed by the first failure
};

static struct errinj_state errinj_states[ERRINJ_COUNT];

static const char *const errinj_names[ERRINJ_COUNT] = {
    [ERRINJ_FILE_OPEN] = "file_open",         [ERRINJ_FILE_WRITE] = "file_write",
    [ERRINJ_FILE_READ] = "file_read",         [ERRINJ_FILE_SYNC] = "file_sync",
    [ERRINJ_FILE_TRUNCATE] = "file_truncate", [ERRINJ_DIR_RENAME] = "dir_rename",
    [ERRINJ_DIR_MAKE] = "dir_make",           [ERRINJ_LOG_FLUSH] = "log_flush",
    [ERRINJ_API_ENCODE] = "api_encode",       [ERRINJ_DIR_REMOVE_FILE] = "dir_remove_file",
    [ERRINJ_FILE_COPY] = "file_copy",
};

void errinj_set(enum errinj_point point, int64_t nth, int err)
{
  atomic_store(&errinj_states[point].is_once, false);
  atomic_store(&errinj_states[point].err, err);
  atomic_store(&errinj_states[point].countdown, err != 0 ? nth : 0);
}

void errinj_set_once(enum errinj_point point, int64_t nth, int err)
{
  errinj_set(point, 0, 0);
  atomic_store(&errinj_states[point].is_once, true);
  atomic_store(&errinj_states[point].err, err);
  atomic_store(&errinj_states[point].countdown, nth);
}

int errinj_check(enum errinj_point point)
{
  struct errinj_state *state = &errinj_states[point];
  int64_t left = atomic_load_explicit(&state->countdown, memory_order_relaxed);
  if (__builtin_expect(left == 0, 1)) {
    return 0;
  }
  if (left > 1 && atomic_fetch_sub(&state->countdown, 1) > 1) {
    return 0;
  }
  if (atomic_load(&state->is_once)) {
    int64_t armed = 1;
    return atomic_compare_exchange_strong(&state->countdown, &armed, 0) ? atomic_load(&state->err) : 0;
  }
  return atomic_load(&state->err);
}

int errinj_parse(const char *text)
{
  while (*text != '\0') {
    char name[32];
    long long nth = 0;
    int err = 0;
    int used = 0;
    // Typed by a developer; a number that does not fit is not worth more code. NOLINTNEXTLINE(cert-err34-c)
    if (sscanf(text, "%31[a-z_]=%lld:%d%n", name, &nth, &err, &used) != 3 || nth < 1 || err < 1) {
      return error_set(ERR_MALFORMED, "error injection wants point=nth:errno, not '%.60s'", text);
    }
    int point = 0;
    while (point < ERRINJ_COUNT && strcmp(errinj_names[point], name) != 0) {
      point++;
    }
    if (point == ERRINJ_COUNT) {
      return error_set(ERR_MALFORMED, "no error injection point '%s'", name);
    }
    errinj_set((enum errinj_point)point, nth, err);
    text += used;
    if (*text == ',') {
      text++;
    }
  }
  return 0;
}
