// SPDX-License-Identifier: Apache-2.0
//
// How many connections each address has, and may have: max.connections.per.ip and max.connections.per.ip.overrides. The
// acceptor takes, whoever closes a connection gives back; once a connection, never once a request.
#pragma once

#include <stdbool.h>

enum { QUOTA_BUCKETS = 1024 };

struct connection_quota;

/// @return owned: connection_quota_delete()
struct connection_quota *connection_quota_new(void);
void connection_quota_delete(struct connection_quota *quota);

/// Limits that were read, and are not in force yet.
struct quota_limits;

/// Reads limits. May wait for name resolution. Any thread.
///
/// @param limit      most connections of an address
/// @param overrides  "host:count,host:count", other limits for some; NULL or "": none
/// @param[out] limits  owned: connection_quota_set() or quota_limits_delete()
/// @return 0, ERR_CONFIG with a sentence
int quota_limits_new(int limit, const char *overrides, struct quota_limits **limits);

/// NULL is fine.
void quota_limits_delete(struct quota_limits *limits);

/// Puts limits (taken) in force. Waits for nothing. Any thread.
void connection_quota_set(struct connection_quota *quota, struct quota_limits *limits);

/// Counts a connection. Any thread.
///
/// @param peer        the client's address and port, as socket_accept() tells it
/// @param[out] limit  how many the address may have
/// @return false when it has that many already; then nothing is counted
bool connection_quota_take(struct connection_quota *quota, const char *peer, int *limit);

/// Counts a connection no more. Any thread.
void connection_quota_give(struct connection_quota *quota, const char *peer);
