// SPDX-License-Identifier: Apache-2.0
//
// A load program of consumer groups: many members, in one process that does as little as possible itself. Used by `make
// bench` and by specs; `groups --help` says how. Producing and fetching is the other program's: load.c.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "cpu.h"
#include "groups_run.h"
#include "os/clock.h"
#include "wire/apis.h"
#include "wire/create_topics.h"
#include "wire/error_codes.h"

enum { VERSION_CREATE_TOPICS = 5 };

void groups_name(const struct groups_run *run, int g, char name[GROUPS_NAME_BYTES])
{
  snprintf(name, GROUPS_NAME_BYTES, "%.100s-%d", run->options->prefix, g);
}

void groups_count_error(struct groups_run *run, const char *what, int16_t code)
{
  if (run->errors++ == 0) {
    snprintf(run->first_error, sizeof run->first_error, "%s: %s", what, wire_error_name(code));
  }
}

void groups_usage_read(const struct groups_run *run, struct groups_usage *usage)
{
  int pid = run->options->broker_pid;
  *usage = (struct groups_usage){clock_mono_ns(), pid > 0 ? cpu_used_ns(&pid, 1) : -1, cpu_own_ns()};
}

void groups_print_latency(const char *name, const struct histogram *latency)
{
  printf("\"%s\":{\"p50\":%.1f,\"p90\":%.1f,\"p99\":%.1f,\"p99.9\":%.1f,\"max\":%.1f,\"mean\":%.1f},", name,
         (double)histogram_quantile(latency, 0.5) / 1e3, (double)histogram_quantile(latency, 0.9) / 1e3,
         (double)histogram_quantile(latency, 0.99) / 1e3, (double)histogram_quantile(latency, 0.999) / 1e3,
         (double)latency->max / 1e3, latency->count > 0 ? latency->sum / (double)latency->count / 1e3 : 0.0);
}

void groups_print_usage(const struct groups_run *run, const struct groups_usage *before, int64_t requests)
{
  struct groups_usage after;
  groups_usage_read(run, &after);
  double seconds = (double)(after.start_ns - before->start_ns) / 1e9;
  printf("\"seconds\":%.3f,\"requests\":%" PRId64 ",\"requests_per_s\":%.0f,\"errors\":%" PRId64
         ",\"first_error\":\"%s\",\"own_cpu_s\":%.6f",
         seconds, requests, (double)requests / seconds, run->errors, run->first_error,
         (double)(after.own_ns - before->own_ns) / 1e9);
  if (before->broker_ns >= 0 && after.broker_ns >= 0) {
    int pid = run->options->broker_pid;
    double used_s = (double)(after.broker_ns - before->broker_ns) / 1e9;
    printf(",\"cpu_s\":%.6f,\"cpu_percent\":%.3f,\"cpu_us_per_request\":%.3f,\"rss_bytes\":%" PRId64, used_s,
           100 * used_s / seconds, requests > 0 ? used_s * 1e6 / (double)requests : 0.0, cpu_resident_bytes(&pid, 1));
  }
  printf("}\n");
}

static int create_topic(const struct groups_run *run)
{
  struct wire_create_topics_request_creatable_topic topic;
  wire_create_topics_request_creatable_topic_init(&topic);
  topic.name = wire_string_from(run->options->topic);
  topic.num_partitions = run->options->partitions;
  topic.replication_factor = -1;
  struct wire_create_topics_request request;
  wire_create_topics_request_init(&request);
  request.topics = &topic;
  request.topics_count = 1;
  request.timeout_ms = CLIENT_TIMEOUT_S * 1000;
  struct wire_create_topics_response response;
  struct arena arena = {0};
  int fd = -1;
  int result = client_connect(&run->address, &fd);
  if (result == 0) {
    result = client_call(fd, WIRE_API_CREATE_TOPICS, VERSION_CREATE_TOPICS, &request, &response, &arena);
    close(fd);
  }
  if (result == 0) {
    int16_t code = response.topics_count == 1 ? response.topics[0].error_code : WIRE_UNKNOWN_SERVER_ERROR;
    if (code != WIRE_NONE && code != WIRE_TOPIC_ALREADY_EXISTS) {
      result = error_set(ERR_INVALID, "cannot create topic %s: %s", run->options->topic, wire_error_name(code));
    }
  }
  arena_destroy(&arena);
  return result;
}

static int resolve(struct groups_run *run)
{
  char host[256];
  const char *broker = run->options->broker;
  const char *colon = strrchr(broker, ':');
  if (colon == NULL || (size_t)(colon - broker) >= sizeof host) {
    return error_set(ERR_INVALID, "--broker is HOST:PORT, not '%s'", broker);
  }
  snprintf(host, sizeof host, "%.*s", (int)(colon - broker), broker);
  return client_resolve(host, colon + 1, false, &run->address);
}

static int run_mode(struct groups_run *run)
{
  static int (*const modes[])(struct groups_run *) = {
      [GROUPS_HEARTBEAT] = groups_heartbeat,
      [GROUPS_REBALANCE] = groups_rebalance,
      [GROUPS_COMMIT] = groups_commit,
      [GROUPS_FETCH] = groups_fetch,
  };
  TRY(resolve(run));
  if (run->options->create) {
    TRY(create_topic(run));
  }
  TRY(groups_loop_open(&run->loop, &run->address, run->options->connections));
  return modes[run->options->mode](run);
}

int main(int argc, char **argv)
{
  struct groups_options options;
  int stop = groups_options_parse(argc, argv, &options);
  if (stop != 0) {
    return stop - 1;
  }
  signal(SIGPIPE, SIG_IGN);
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  struct groups_run run = {.options = &options};
  int result = run_mode(&run);
  groups_loop_close(&run.loop);
  if (result < 0) {
    fprintf(stderr, "groups: %s%s%s\n", error_last()->message, run.errors > 0 ? "; before that: " : "",
            run.first_error);
    return 1;
  }
  return run.errors == 0 ? 0 : 1;
}
