// SPDX-License-Identifier: Apache-2.0
//
// The hook client.connect: asked when a worker has got a connection, whose requests wait for the answer. One that is
// refused is closed: Kafka's protocol has no words for it.
#include <stdatomic.h>

#include "api/api.h"
#include "api/hooks.h"
#include "base/mem.h"
#include "base/slog.h"
#include "network/connection.h"
#include "network/listener.h"
#include "os/clock.h"

enum { CONNECT_HOOKS_LOG_INTERVAL_MS = 1000 };

/// A connection that waits; heap, until it is answered.
struct connect_ask {
  struct connection *conn;   ///< one reference
  struct api_client *client; ///< its state; NULL: it has closed
};

static _Atomic(int64_t) connect_hooks_logged_ms;

static void connect_log(const struct connection *conn, const char *text)
{
  int64_t now_ms = clock_mono_ms();
  int64_t last_ms = atomic_load(&connect_hooks_logged_ms);
  if ((last_ms == 0 || now_ms - last_ms >= CONNECT_HOOKS_LOG_INTERVAL_MS) &&
      atomic_compare_exchange_strong(&connect_hooks_logged_ms, &last_ms, now_ms)) {
    slog_info("connection from %s refused: %s", connection_peer(conn), text);
  }
}

static void connect_answered(struct hook_ask *ask)
{
  struct connect_ask *asking = ask->arg;
  if (asking->client != NULL) {
    asking->client->connect_ask = NULL;
    if (ask->result == 0) {
      connection_resume(asking->conn);
    } else {
      connect_log(asking->conn, ask->text);
      connection_close(asking->conn);
    }
  }
  connection_unref(asking->conn);
  mem_free(asking);
}

void api_ask_connect(const struct api *api, struct api_client *client, struct connection *conn)
{
  if (!hooks_has(api->hooks, HOOK_CLIENT_CONNECT) || connection_is_attached(conn)) {
    return;
  }
  struct connect_ask *asking = mem_zalloc(sizeof *asking);
  asking->conn = conn;
  asking->client = client;
  client->connect_ask = asking;
  connection_ref(conn);
  struct hook_ask *ask = hooks_ask_new(api->hooks, HOOK_CLIENT_CONNECT, connect_answered, asking);
  hook_add_text(&ask->event, "address", api_address(&ask->event.arena, connection_peer(conn)));
  hook_add_text(&ask->event, "listener", connection_listener(conn)->advertised.name);
  hook_add_number(&ask->event, "port", connection_listener(conn)->address.port);
  hooks_ask(ask);
}

void api_forget_connect(struct api_client *client)
{
  if (client->connect_ask != NULL) {
    client->connect_ask->client = NULL;
  }
}
