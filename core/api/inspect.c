// SPDX-License-Identifier: Apache-2.0
#include "api/inspect.h"

#include <stdio.h>

#include "api/api.h"
#include "api/request.h"
#include "base/metrics.h"
#include "network/connection_list.h"
#include "network/frame.h"
#include "os/clock.h"
#include "wire/apis.h"
#include "wire/codec.h"
#include "wire/error_codes.h"

static const struct metric REQUEST_COUNT = {"request.count", "api", METRIC_COUNTER, "requests answered, of each kind"};
static const struct metric REQUEST_ERRORS = {"request.errors", "api", METRIC_COUNTER,
                                             "answers of each kind with an error in them"};
static const struct metric REQUEST_LATENCY = {"request.latency", "api", METRIC_LATENCY,
                                              "time from a request to its answer, of each kind"};
static const struct metric REQUEST_CODES = {"error.count", "code", METRIC_COUNTER,
                                            "answers by the first error in them"};
static const struct metric REQUEST_REFUSED = {"request.refused", NULL, METRIC_COUNTER,
                                              "requests that were malformed or not served: connections closed"};

void api_describe_connection(void *arg, const struct connection *conn, struct connection_info *info)
{
  (void)arg;
  const struct api_client *client = connection_user(conn);
  if (client == NULL) {
    return;
  }
  snprintf(info->client_id, sizeof info->client_id, "%s", client->id);
  snprintf(info->software, sizeof info->software, "%s", client->software);
  if (!list_is_empty(&client->requests)) {
    const struct request *req = CONTAINER_OF(client->requests.next, struct request, link);
    snprintf(info->request, sizeof info->request, "%s v%d", req->wire != NULL ? req->wire->name : "request",
             req->version);
    info->request_ms = (clock_mono_ns() - req->frame->arrived_ns) / 1000000;
  }
}

/// Adds up what workers have counted at one place.
static int64_t api_sum(const struct api *api, size_t offset)
{
  int64_t sum = 0;
  for (int i = 0; i < SERVER_WORKERS_MAX; i++) {
    const struct api_counters *counters = atomic_load_explicit(&api->counters[i], memory_order_acquire);
    sum += counters == NULL ? 0 : metric_read((const _Atomic(int64_t) *)((const char *)counters + offset));
  }
  return sum;
}

static void api_sum_latency(const struct api *api, int place, struct latency_sum *sum)
{
  for (int i = 0; i < SERVER_WORKERS_MAX; i++) {
    const struct api_counters *counters = atomic_load_explicit(&api->counters[i], memory_order_acquire);
    if (counters != NULL) {
      latency_add(sum, &counters->latency[place]);
    }
  }
}

void api_collect(void *arg, struct metric_samples *out)
{
  const struct api *api = arg;
  int count = 0;
  const struct api_handler *handlers = api_handlers(&count);
  for (int i = 0; i < count; i++) {
    const char *name = wire_api_find(handlers[i].key)->name;
    size_t place = (size_t)i * sizeof(_Atomic(int64_t));
    metrics_put(out, &REQUEST_COUNT, name, api_sum(api, offsetof(struct api_counters, requests) + place));
    metrics_put(out, &REQUEST_ERRORS, name, api_sum(api, offsetof(struct api_counters, errors) + place));
    struct latency_sum latency = {.count = 0};
    api_sum_latency(api, i, &latency);
    metrics_put_latency(out, &REQUEST_LATENCY, name, &latency);
  }
  metrics_put(out, &REQUEST_REFUSED, NULL, api_sum(api, offsetof(struct api_counters, refused)));
  for (int code = -1; code <= WIRE_ERROR_MAX; code++) {
    size_t place = (size_t)(code + 1) * sizeof(_Atomic(int64_t));
    int64_t answers = api_sum(api, offsetof(struct api_counters, codes) + place);
    if (answers > 0) {
      metrics_put(out, &REQUEST_CODES, wire_error_name((int16_t)code), answers);
    }
  }
}
