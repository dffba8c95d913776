// SPDX-License-Identifier: Apache-2.0
//
// What core/api knows of a connection, for those who list them.
#pragma once

struct connection;
struct connection_info;

/// The server's on_describe callback (network/connection.h): who the client says that it is, and what it waits for. On
/// the connection's worker.
void api_describe_connection(void *arg, const struct connection *conn, struct connection_info *info);
