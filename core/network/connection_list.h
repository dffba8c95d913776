// SPDX-License-Identifier: Apache-2.0
//
// The connections that are open, as administrators see them. Each worker is asked in turn by a mail, and copies what it
// knows of its own, so that nothing is locked and no connection pays for being seen:
//
//   caller: connection_list_gather -> worker 0 -> worker 1 ... -> caller's loop: done
//
// How many are described is bounded; all are counted. Those that the process made to itself are no clients: they are
// left out.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/mail.h"
#include "network/listener.h"
#include "os/socket.h"

struct connection_list;
struct event_loop;
struct server;

enum {
  CONNECTION_LIST_MAX = 10000,     ///< connections that are described, so that no worker is kept for long
  CONNECTION_CLIENT_TEXT_SIZE = 64 ///< texts that a client gave, cut, with their NUL
};

/// A connection at one moment. Texts of clients are as they came, cut: any bytes but NUL.
struct connection_info {
  int64_t id;                                  ///< from 1; never twice while the process runs
  char peer[SOCKET_PEER_SIZE];                 ///< the client's address
  char listener[LISTENER_NAME_SIZE];           ///< name of the listener it came through; empty: none
  int worker;                                  ///< its worker, from 0
  int64_t connected_ms;                        ///< how long it has been open
  int64_t idle_ms;                             ///< how long ago bytes last moved
  int64_t requests;                            ///< requests received whole
  int64_t received_bytes;                      ///< bytes from it
  int64_t sent_bytes;                          ///< bytes to it
  int64_t unsent_bytes;                        ///< answers that are ready and not taken by the kernel
  int unanswered;                              ///< requests received and not answered
  char client_id[CONNECTION_CLIENT_TEXT_SIZE]; ///< as its requests say; empty: not told
  char software[CONNECTION_CLIENT_TEXT_SIZE];  ///< name and version as ApiVersions said; empty: not told
  char request[CONNECTION_CLIENT_TEXT_SIZE];   ///< the oldest unanswered one, "Fetch v13"; empty: none
  int64_t request_ms;                          ///< for how long that one has been worked on or has waited
};

typedef void (*connection_list_fn)(struct connection_list *list);

/// A question. Embed it, zeroed; taken from connection_list_gather() until `done` is called.
struct connection_list {
  struct mail mail;              ///< carries it
  struct server *server;         ///< borrowed
  struct event_loop *reply;      ///< loop that `done` runs on
  connection_list_fn done;       ///< called once
  int worker;                    ///< whose turn it is
  int64_t last_id;               ///< of this worker's connections, the last one that was described; 0: none yet
  int limit;                     ///< connections to describe
  struct connection_info *infos; ///< out: owned, connection_list_destroy()
  int count;                     ///< out: how many are described
  int room;                      ///< slots
  int64_t total;                 ///< out: how many there are
};

/// Asks all workers. Any loop, while the server runs: `done` comes before server_stop() is called.
///
/// @param limit  connections to describe, at most CONNECTION_LIST_MAX count
/// @param reply  loop that `done` runs on
void connection_list_gather(struct connection_list *list, struct server *server, int limit, struct event_loop *reply,
                            connection_list_fn done);

/// Frees what was found.
void connection_list_destroy(struct connection_list *list);
