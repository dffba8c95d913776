// SPDX-License-Identifier: Apache-2.0
//
// What the workers have counted, added up. Each counter is written by its worker alone.
#include "base/metrics.h"
#include "network/server.h"
#include "network/server_private.h"

static const struct metric NETWORK_CONNECTIONS = {"network.connections", NULL, METRIC_GAUGE, "connections open"};
static const struct metric NETWORK_ACCEPTED = {"network.accepted", NULL, METRIC_COUNTER, "connections taken on"};
static const struct metric NETWORK_IDLE_CLOSED = {"network.idle_closed", NULL, METRIC_COUNTER,
                                                  "connections closed after connections.max.idle.ms"};
static const struct metric NETWORK_REFUSED = {"network.refused", NULL, METRIC_COUNTER,
                                              "connections closed as what came was no request"};
static const struct metric NETWORK_REQUESTS = {"network.requests", NULL, METRIC_COUNTER, "requests taken up"};
static const struct metric NETWORK_ANSWERS = {"network.answers", NULL, METRIC_COUNTER, "answers sent"};
static const struct metric NETWORK_RECEIVED = {"network.received_bytes", NULL, METRIC_COUNTER,
                                               "bytes received from clients"};
static const struct metric NETWORK_SENT = {"network.sent_bytes", NULL, METRIC_COUNTER, "bytes sent to clients"};
static const struct metric NETWORK_SENT_FILE = {
    "network.sent_file_bytes", NULL, METRIC_COUNTER,
    "of these, records that went from the page cache to the socket uncopied"};
static const struct metric MEMORY_REQUESTS = {"memory.request_bytes", NULL, METRIC_GAUGE,
                                              "memory of requests that are read or worked on"};
static const struct metric MEMORY_REQUESTS_MAX = {"memory.request_limit_bytes", NULL, METRIC_GAUGE,
                                                  "where nothing more is read: queued.max.request.bytes"};
static const struct metric MEMORY_ANSWERS = {"memory.answer_bytes", NULL, METRIC_GAUGE,
                                             "memory of answers that clients have not taken"};
static const struct metric MEMORY_ANSWERS_MAX = {"memory.answer_limit_bytes", NULL, METRIC_GAUGE,
                                                 "where no request is taken up: luka.queued.max.response.bytes"};
static const struct metric MEMORY_WAITING = {"memory.waiting", NULL, METRIC_GAUGE, "connections that wait for memory"};

/// Adds up what workers have counted.
static void server_sum(struct server *server, struct worker_counters *sum)
{
  for (int i = 0; i < server->worker_count; i++) {
    const struct worker_counters *counters = &server->workers[i].counters;
    metric_count(&sum->connections, metric_read(&counters->connections));
    metric_count(&sum->accepted, metric_read(&counters->accepted));
    metric_count(&sum->frames, metric_read(&counters->frames));
    metric_count(&sum->refused_frames, metric_read(&counters->refused_frames));
    metric_count(&sum->responses, metric_read(&counters->responses));
    metric_count(&sum->received_bytes, metric_read(&counters->received_bytes));
    metric_count(&sum->sent_memory_bytes, metric_read(&counters->sent_memory_bytes));
    metric_count(&sum->sent_file_bytes, metric_read(&counters->sent_file_bytes));
    metric_count(&sum->idle_closed, metric_read(&counters->idle_closed));
  }
}

/// A gate's bytes; workers tell it in steps, so that it may be a little off. No limit: not shown.
static void server_put_gate(struct metric_samples *out, const struct memory_gate *gate, const struct metric *used,
                            const struct metric *limit)
{
  int64_t bytes = metric_read(&gate->used);
  int64_t limit_bytes = metric_read(&gate->limit);
  metrics_put(out, used, NULL, bytes > 0 ? bytes : 0);
  if (limit_bytes != INT64_MAX) {
    metrics_put(out, limit, NULL, limit_bytes);
  }
}

void server_collect(void *arg, struct metric_samples *out)
{
  struct server *server = arg;
  struct worker_counters sum = {0};
  server_sum(server, &sum);
  metrics_put(out, &NETWORK_CONNECTIONS, NULL, metric_read(&sum.connections));
  metrics_put(out, &NETWORK_ACCEPTED, NULL, metric_read(&sum.accepted));
  metrics_put(out, &NETWORK_IDLE_CLOSED, NULL, metric_read(&sum.idle_closed));
  metrics_put(out, &NETWORK_REFUSED, NULL, metric_read(&sum.refused_frames));
  metrics_put(out, &NETWORK_REQUESTS, NULL, metric_read(&sum.frames));
  metrics_put(out, &NETWORK_ANSWERS, NULL, metric_read(&sum.responses));
  metrics_put(out, &NETWORK_RECEIVED, NULL, metric_read(&sum.received_bytes));
  metrics_put(out, &NETWORK_SENT, NULL, metric_read(&sum.sent_memory_bytes) + metric_read(&sum.sent_file_bytes));
  metrics_put(out, &NETWORK_SENT_FILE, NULL, metric_read(&sum.sent_file_bytes));
  server_put_gate(out, &server->requests, &MEMORY_REQUESTS, &MEMORY_REQUESTS_MAX);
  server_put_gate(out, &server->answers, &MEMORY_ANSWERS, &MEMORY_ANSWERS_MAX);
  int waiting = atomic_load_explicit(&server->requests.waiting, memory_order_relaxed) +
                atomic_load_explicit(&server->answers.waiting, memory_order_relaxed);
  metrics_put(out, &MEMORY_WAITING, NULL, waiting);
}
