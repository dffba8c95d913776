// SPDX-License-Identifier: Apache-2.0
//
// Before anything else, a client asks who coordinates its group; the first question has the broker create the topic of
// offsets, whose partitions it then has to load.
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "groups_run.h"
#include "os/clock.h"
#include "wire/apis.h"
#include "wire/error_codes.h"
#include "wire/find_coordinator.h"
#include "wire/offset_fetch.h"

enum {
  FIND_KEYS = 1000,    ///< groups of one FindCoordinator
  RETRY_NS = 20000000, ///< between questions
};

/// One FindCoordinator; how many of the groups have no coordinator yet, or ERR_*.
static int find_some(const struct groups_run *run, int fd, int first, int count, struct arena *arena)
{
  struct wire_string *keys = arena_alloc(arena, sizeof *keys * (size_t)count);
  for (int i = 0; i < count; i++) {
    char *name = arena_alloc(arena, GROUPS_NAME_BYTES);
    groups_name(run, first + i, name);
    keys[i] = wire_string_from(name);
  }
  struct wire_find_coordinator_request request;
  wire_find_coordinator_request_init(&request);
  request.coordinator_keys = keys;
  request.coordinator_keys_count = count;
  struct wire_find_coordinator_response response;
  TRY(client_call(fd, WIRE_API_FIND_COORDINATOR, GROUPS_VERSION_FIND_COORDINATOR, &request, &response, arena));
  if (response.coordinators_count != count) {
    return error_set(ERR_MALFORMED, "FindCoordinator: %d answers for %d groups", response.coordinators_count, count);
  }
  int missing = 0;
  for (int i = 0; i < count; i++) {
    int16_t code = response.coordinators[i].error_code;
    const char *colon = strrchr(run->options->broker, ':');
    if (code != WIRE_NONE && !wire_error_is_retriable(code)) {
      return error_set(ERR_INVALID, "FindCoordinator: %s", wire_error_name(code));
    }
    if (code == WIRE_NONE && colon != NULL && atoi(colon + 1) != response.coordinators[i].port) {
      return error_set(ERR_INVALID, "the coordinator is another broker, at port %d", response.coordinators[i].port);
    }
    missing += code != WIRE_NONE;
  }
  return missing;
}

/// One OffsetFetch about nothing: how many of the groups are still being loaded, or ERR_*.
static int load_some(const struct groups_run *run, int fd, int first, int count, struct arena *arena)
{
  struct wire_offset_fetch_request_offset_fetch_request_group *groups =
      arena_zalloc(arena, sizeof *groups * (size_t)count);
  for (int i = 0; i < count; i++) {
    char *name = arena_alloc(arena, GROUPS_NAME_BYTES);
    groups_name(run, first + i, name);
    wire_offset_fetch_request_offset_fetch_request_group_init(&groups[i]);
    groups[i].group_id = wire_string_from(name);
  }
  struct wire_offset_fetch_request request;
  wire_offset_fetch_request_init(&request);
  request.groups = groups;
  request.groups_count = count;
  struct wire_offset_fetch_response response;
  TRY(client_call(fd, WIRE_API_OFFSET_FETCH, GROUPS_VERSION_OFFSET_FETCH, &request, &response, arena));
  int missing = 0;
  for (int i = 0; i < response.groups_count; i++) {
    int16_t code = response.groups[i].error_code;
    if (code != WIRE_NONE && !wire_error_is_retriable(code)) {
      return error_set(ERR_INVALID, "OffsetFetch: %s", wire_error_name(code));
    }
    missing += code != WIRE_NONE;
  }
  return missing;
}

int groups_find(const struct groups_run *run)
{
  int fd = -1;
  TRY(client_connect(&run->address, &fd));
  struct arena arena = {0};
  int64_t deadline_ms = clock_mono_ms() + CLIENT_TIMEOUT_S * INT64_C(1000);
  int result = 0;
  for (int at = 0; result >= 0 && at < run->options->groups;) {
    int count = run->options->groups - at < FIND_KEYS ? run->options->groups - at : FIND_KEYS;
    result = find_some(run, fd, at, count, &arena);
    arena_reset(&arena);
    if (result == 0) {
      result = load_some(run, fd, at, count, &arena);
    }
    arena_reset(&arena);
    if (result == 0) {
      at += count;
    } else if (result > 0 && clock_mono_ms() > deadline_ms) {
      result = error_set(ERR_TIMEOUT, "%d groups have no coordinator after %d s", result, CLIENT_TIMEOUT_S);
    } else if (result > 0) {
      nanosleep(&(struct timespec){.tv_nsec = RETRY_NS}, NULL);
    }
  }
  arena_destroy(&arena);
  close(fd);
  return result;
}
