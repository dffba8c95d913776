// SPDX-License-Identifier: Apache-2.0
#include "load_idle.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "load_client.h"
#include "load_options.h"
#include "load_report.h"
#include "wire/api_versions.h"
#include "wire/apis.h"

enum { OTHER_FILES = 100 }; ///< standard streams, epolls, timers, files of results

int load_files_check(const struct load_options *options)
{
  struct rlimit limit = {0};
  getrlimit(RLIMIT_NOFILE, &limit);
  rlim_t wanted = OTHER_FILES + (rlim_t)options->idle_connections + 2 * (rlim_t)options->connections;
  if (limit.rlim_cur >= wanted) {
    return 0;
  }
  limit.rlim_cur = wanted;
  return limit.rlim_max >= wanted && setrlimit(RLIMIT_NOFILE, &limit) == 0
             ? 0
             : error_set(ERR_LIMIT, "%d connections need more open files than the %llu that are allowed (ulimit -Hn)",
                         options->connections + options->idle_connections, (unsigned long long)limit.rlim_max);
}

static int ask(int fd, struct arena *arena)
{
  struct wire_api_versions_request request;
  struct wire_api_versions_response response;
  wire_api_versions_request_init(&request);
  request.client_software_name = wire_string_from("load");
  request.client_software_version = wire_string_from("1");
  return client_call(fd, WIRE_API_API_VERSIONS, LOAD_VERSION_API_VERSIONS, &request, &response, arena);
}

int load_idle_open(struct load_idle *idle, const struct load_options *options, const struct load_cluster *cluster)
{
  idle->rss_before_bytes = load_resident_bytes(options);
  idle->fds = mem_array((size_t)options->idle_connections + 1, sizeof *idle->fds);
  struct arena arena = {0};
  int result = 0;
  while (result == 0 && idle->count < options->idle_connections) {
    result = client_connect(&cluster->brokers[idle->count % cluster->broker_count].address, &idle->fds[idle->count]);
    if (result == 0) {
      result = ask(idle->fds[idle->count++], &arena);
      arena_reset(&arena);
    }
  }
  arena_destroy(&arena);
  idle->rss_idle_bytes = load_resident_bytes(options);
  return result;
}

void load_idle_close(struct load_idle *idle)
{
  for (int i = 0; i < idle->count; i++) {
    close(idle->fds[i]);
  }
  mem_free(idle->fds);
}
