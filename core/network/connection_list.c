// SPDX-License-Identifier: Apache-2.0
#include "network/connection_list.h"

#include <stdio.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "network/connection_private.h"
#include "network/server_private.h"

static void connection_list_describe(const struct connection *conn, struct connection_info *info)
{
  const struct worker *worker = conn->worker;
  const struct connection_callbacks *callbacks = &worker->server->callbacks;
  int64_t now_ms = event_loop_now_ms(&worker->loop);
  *info = (struct connection_info){
      .id = conn->id,
      .worker = worker->index,
      .connected_ms = now_ms - conn->opened_ms,
      .idle_ms = now_ms - conn->active_ms,
      .requests = conn->frames,
      .received_bytes = conn->received_bytes,
      .sent_bytes = conn->sent_bytes,
      .unsent_bytes = conn->unsent_bytes,
      .unanswered = conn->inflight + (conn->deferred != NULL ? 1 : 0),
  };
  snprintf(info->peer, sizeof info->peer, "%s", conn->peer);
  if (conn->listener != NULL) {
    snprintf(info->listener, sizeof info->listener, "%s", conn->listener->address.name);
  }
  if (callbacks->on_describe != NULL) {
    callbacks->on_describe(callbacks->arg, conn, info);
  }
}

static void connection_list_add(struct connection_list *list, const struct connection *conn)
{
  if (list->count == list->room) {
    list->room = list->room * 2 + 64;
    list->infos = mem_realloc(list->infos, (size_t)list->room * sizeof *list->infos);
  }
  connection_list_describe(conn, &list->infos[list->count++]);
}

static void connection_list_done(struct mail *mail)
{
  struct connection_list *list = CONTAINER_OF(mail, struct connection_list, mail);
  list->done(list);
}

enum { CONNECTION_LIST_TURN = 250 }; // connections described in one turn of a worker

/// Describes some connections of a worker, from where it was left. Ids rise along the list, as clients are accepted by
/// one thread. @return false when there are more to describe
static bool connection_list_step(struct connection_list *list, const struct worker *worker)
{
  int described = 0;
  LIST_EACH(&worker->connections, node) {
    const struct connection *conn = CONTAINER_OF(node, struct connection, node);
    if (conn->is_attached || conn->id <= list->last_id) {
      continue;
    }
    if (list->count == list->limit) {
      break;
    }
    if (described++ == CONNECTION_LIST_TURN) {
      return false;
    }
    connection_list_add(list, conn);
    list->last_id = conn->id;
  }
  return true;
}

/// On a worker's thread: its connections, a part in each turn, then on to the next worker.
static void connection_list_visit(struct mail *mail)
{
  struct connection_list *list = CONTAINER_OF(mail, struct connection_list, mail);
  struct worker *worker = &list->server->workers[list->worker];
  if (!connection_list_step(list, worker)) {
    event_loop_post(&worker->loop, mail);
    return;
  }
  list->total += metric_read(&worker->counters.connections);
  list->last_id = 0;
  list->worker++;
  bool is_last = list->worker == list->server->worker_count;
  mail->run = is_last ? connection_list_done : connection_list_visit;
  event_loop_post(is_last ? list->reply : &list->server->workers[list->worker].loop, mail);
}

void connection_list_gather(struct connection_list *list, struct server *server, int limit, struct event_loop *reply,
                            connection_list_fn done)
{
  *list = (struct connection_list){
      .mail.run = connection_list_visit,
      .server = server,
      .reply = reply,
      .done = done,
      .limit = limit < CONNECTION_LIST_MAX ? limit : CONNECTION_LIST_MAX,
  };
  event_loop_post(&server->workers[0].loop, &list->mail);
}

void connection_list_destroy(struct connection_list *list)
{
  mem_free(list->infos);
  list->infos = NULL;
  list->count = 0;
}
