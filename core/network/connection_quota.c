// SPDX-License-Identifier: Apache-2.0
#include "network/connection_quota.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "os/socket.h"

/// An address with connections.
struct quota_entry {
  struct quota_entry *next;       ///< in its bucket
  int count;                      ///< connections, at least 1
  char address[SOCKET_PEER_SIZE]; ///< without the port
};

/// An address with a limit of its own.
struct quota_override {
  int limit;                      ///< most connections
  char address[SOCKET_PEER_SIZE]; ///< without a port
};

struct quota_limits {
  int limit;                         ///< of an address without an override
  int override_count;                ///< how many
  struct quota_override overrides[]; ///< addresses with a limit of their own
};

struct connection_quota {
  pthread_mutex_t lock;                       ///< guards all below; a leaf, held for a few instructions
  struct quota_entry *buckets[QUOTA_BUCKETS]; ///< addresses with connections
  struct quota_limits *limits;                ///< in force, owned; NULL: none
};

struct connection_quota *connection_quota_new(void)
{
  struct connection_quota *quota = mem_zalloc(sizeof *quota);
  pthread_mutex_init(&quota->lock, NULL);
  return quota;
}

void connection_quota_delete(struct connection_quota *quota)
{
  for (int i = 0; i < QUOTA_BUCKETS; i++) {
    CHECK(quota->buckets[i] == NULL); // every connection has been closed
  }
  mem_free(quota->limits);
  pthread_mutex_destroy(&quota->lock);
  mem_free(quota);
}

static int quota_refuse(const char *text)
{
  return error_set(ERR_CONFIG,
                   "max_connections_per_ip_overrides: got '%.100s', expected host:count, with a count from 0 to %d, or "
                   "several with commas between",
                   text, INT_MAX);
}

/// Parses "host:count", which may be changed.
static int quota_parse(char *text, const char *all, struct quota_override *override)
{
  char *colon = strrchr(text, ':');
  if (colon == NULL || colon == text || colon[1] < '0' || colon[1] > '9') {
    return quota_refuse(all);
  }
  char *end = NULL;
  long long limit = strtoll(colon + 1, &end, 10);
  if (*end != '\0' || limit > INT_MAX) {
    return quota_refuse(all);
  }
  *colon = '\0';
  size_t length = strlen(text);
  if (text[0] == '[' && text[length - 1] == ']') {
    text[length - 1] = '\0';
    text++;
  }
  if (socket_find_address(text, override->address) < 0) {
    struct error_detail detail = *error_last();
    return error_set(ERR_CONFIG, "max_connections_per_ip_overrides: %s", detail.message);
  }
  override->limit = (int)limit;
  return 0;
}

/// Parses the whole list; blanks around its members do not matter.
static int quota_parse_all(const char *all, struct quota_limits **limits)
{
  size_t room = 1;
  for (const char *at = all; *at != '\0'; at++) {
    room += *at == ',' ? 1 : 0;
  }
  struct quota_limits *made = mem_zalloc(sizeof *made + room * sizeof made->overrides[0]);
  char *copy = mem_strdup(all);
  char *rest = copy;
  int result = 0;
  while (result == 0 && rest != NULL) {
    char *text = strsep(&rest, ",");
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) {
      text[--length] = '\0';
    }
    if (length > 0 || made->override_count > 0 || rest != NULL) {
      result = quota_parse(text, all, &made->overrides[made->override_count++]);
    }
  }
  mem_free(copy);
  if (result < 0) {
    mem_free(made);
    return result;
  }
  *limits = made;
  return 0;
}

int quota_limits_new(int limit, const char *overrides, struct quota_limits **limits)
{
  struct quota_limits *made = NULL;
  TRY(quota_parse_all(overrides == NULL ? "" : overrides, &made));
  if (limit == 0 && made->override_count == 0) {
    mem_free(made);
    return error_set(ERR_CONFIG,
                     "max_connections_per_ip can be set to zero only if max_connections_per_ip_overrides is set");
  }
  made->limit = limit;
  *limits = made;
  return 0;
}

void quota_limits_delete(struct quota_limits *limits)
{
  mem_free(limits);
}

void connection_quota_set(struct connection_quota *quota, struct quota_limits *limits)
{
  pthread_mutex_lock(&quota->lock);
  struct quota_limits *old = quota->limits;
  quota->limits = limits;
  pthread_mutex_unlock(&quota->lock);
  mem_free(old);
}

/// The part of a peer's text before the port.
static void quota_address(const char *peer, char address[SOCKET_PEER_SIZE])
{
  const char *colon = strrchr(peer, ':');
  size_t length = colon == NULL ? strlen(peer) : (size_t)(colon - peer);
  length = length < SOCKET_PEER_SIZE ? length : SOCKET_PEER_SIZE - 1;
  memcpy(address, peer, length);
  address[length] = '\0';
}

/// The place in its bucket of an address, or of the NULL where it would be.
static struct quota_entry **quota_find(struct connection_quota *quota, const char *address)
{
  uint32_t hash = 2166136261U; // FNV-1a
  for (const char *at = address; *at != '\0'; at++) {
    hash = (hash ^ (uint8_t)*at) * 16777619U;
  }
  struct quota_entry **place = &quota->buckets[hash % QUOTA_BUCKETS];
  while (*place != NULL && strcmp((*place)->address, address) != 0) {
    place = &(*place)->next;
  }
  return place;
}

bool connection_quota_take(struct connection_quota *quota, const char *peer, int *limit)
{
  char address[SOCKET_PEER_SIZE];
  quota_address(peer, address);
  pthread_mutex_lock(&quota->lock);
  const struct quota_limits *limits = quota->limits;
  *limit = limits == NULL ? INT_MAX : limits->limit;
  for (int i = 0; limits != NULL && i < limits->override_count; i++) {
    if (strcmp(limits->overrides[i].address, address) == 0) {
      *limit = limits->overrides[i].limit;
    }
  }
  struct quota_entry **place = quota_find(quota, address);
  bool is_taken = (*place == NULL ? 0 : (*place)->count) < *limit;
  if (is_taken && *place == NULL) {
    *place = mem_zalloc(sizeof **place);
    memcpy((*place)->address, address, sizeof address);
  }
  if (is_taken) {
    (*place)->count++;
  }
  pthread_mutex_unlock(&quota->lock);
  return is_taken;
}

void connection_quota_give(struct connection_quota *quota, const char *peer)
{
  char address[SOCKET_PEER_SIZE];
  quota_address(peer, address);
  pthread_mutex_lock(&quota->lock);
  struct quota_entry **place = quota_find(quota, address);
  struct quota_entry *entry = *place;
  CHECK(entry != NULL);
  if (--entry->count == 0) {
    *place = entry->next;
  } else {
    entry = NULL;
  }
  pthread_mutex_unlock(&quota->lock);
  mem_free(entry);
}
