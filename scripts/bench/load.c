// SPDX-License-Identifier: Apache-2.0
//
// A raw load generator: what a broker can take and give, with as little as possible spent on this side. Used by the
// specs for stress and by measurements; `load --help` says how.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "load_check.h"
#include "load_client.h"
#include "load_idle.h"
#include "load_options.h"
#include "load_report.h"
#include "load_worker.h"
#include "os/clock.h"

enum { SIDES = 3 };

/// Everything that runs at once.
struct load_run {
  struct load_worker *workers;   ///< of all sides, one after the other
  int count;                     ///< of workers
  struct load_side sides[SIDES]; ///< producers, fetchers, those that ask for ApiVersions
  FILE *acked;                   ///< --verify-acked, or NULL
};

/// Opens the file of acknowledged records; each run gets a number of its own in it.
static int open_acked(struct load_run *run, const struct load_options *options, int64_t *run_number)
{
  run->acked = fopen(options->acked_path, "a+e");
  if (run->acked == NULL) {
    return error_set(ERR_PERMISSION, "cannot open %s", options->acked_path);
  }
  char line[256];
  *run_number = 1;
  while (fgets(line, sizeof line, run->acked) != NULL) {
    *run_number += strncmp(line, "# run", 5) == 0;
  }
  if (*run_number > UINT16_MAX) {
    return error_set(ERR_LIMIT, "%s has %d runs already", options->acked_path, UINT16_MAX);
  }
  fprintf(run->acked, "# run %" PRId64 " topic %s\n", *run_number, options->topic);
  return 0;
}

/// What a worker of a side does.
static const struct load_role *role_of(const struct load_options *options, enum load_mode mode)
{
  switch (mode) {
    case LOAD_PRODUCE:
      return &load_produce_role;
    case LOAD_FETCH:
      return options->is_raw ? &load_raw_fetch_role : &load_fetch_role;
    default:
      return &load_api_versions_role;
  }
}

static int open_run(struct load_run *run, const struct load_options *options, const struct load_cluster *cluster)
{
  static const struct {
    const char *name;
    enum load_mode mode;
  } kinds[SIDES] = {{"produce", LOAD_PRODUCE}, {"fetch", LOAD_FETCH}, {"api_versions", LOAD_API_VERSIONS}};
  run->workers = mem_array((size_t)(SIDES * options->threads), sizeof *run->workers);
  int64_t run_number = 0;
  if (options->acked_path != NULL && (options->mode & LOAD_PRODUCE) != 0) {
    TRY(open_acked(run, options, &run_number));
  }
  for (int s = 0; s < SIDES; s++) {
    struct load_side *side = &run->sides[s];
    if ((options->mode & kinds[s].mode) == 0) {
      continue;
    }
    *side = (struct load_side){.name = kinds[s].name, .workers = run->workers + run->count, .count = options->threads};
    run->count += side->count;
    for (int i = 0; i < side->count; i++) {
      side->workers[i].options = options;
      side->workers[i].cluster = cluster;
      side->workers[i].role = role_of(options, kinds[s].mode);
      side->workers[i].run_number = run_number;
      side->workers[i].acked = kinds[s].mode == LOAD_PRODUCE ? run->acked : NULL;
      side->workers[i].epoll_fd = side->workers[i].timer_fd = -1;
    }
    TRY(load_workers_open(side->workers, side->count));
  }
  for (int i = 0; i < run->count; i++) {
    if (run->workers[i].error != 0) {
      return error_set(run->workers[i].error, "%s", run->workers[i].why);
    }
  }
  return 0;
}

static int start_run(struct load_run *run, const struct load_options *options)
{
  int64_t now_ns = clock_mono_ns();
  int started = 0;
  for (; started < run->count; started++) {
    struct load_worker *worker = &run->workers[started];
    worker->start_ns = now_ns;
    worker->end_ns = now_ns + (int64_t)(options->seconds * 1e9);
    if (pthread_create(&worker->thread, NULL, load_worker_run, worker) != 0) {
      break;
    }
  }
  for (int i = 0; i < started; i++) {
    pthread_join(run->workers[i].thread, NULL);
  }
  return started == run->count ? 0 : error_set(ERR_LIMIT, "cannot start %d threads", run->count);
}

static int run_load(const struct load_options *options, const struct load_cluster *cluster)
{
  struct load_run run = {0};
  struct load_idle idle = {0};
  struct load_cpu before = {0};
  struct load_cpu after = {0};
  int result = load_cpu_check(options);
  if (result == 0) {
    result = load_idle_open(&idle, options, cluster);
  }
  if (result == 0) {
    result = open_run(&run, options, cluster);
  }
  if (result == 0) {
    load_cpu_read(options, &before);
    result = start_run(&run, options);
    load_cpu_read(options, &after);
  }
  if (result == 0) {
    bool is_good = load_report(options, run.sides, SIDES, &idle, &before, &after);
    result = is_good || options->keep_going ? 0 : 1;
  }
  for (int i = 0; i < run.count; i++) {
    load_worker_close(&run.workers[i]);
  }
  mem_free(run.workers);
  load_idle_close(&idle);
  if (run.acked != NULL && fclose(run.acked) != 0 && result >= 0) {
    result = error_set(ERR_IO, "cannot write %s", options->acked_path);
  }
  return result;
}

int main(int argc, char **argv)
{
  struct load_options options;
  int stop = load_options_parse(argc, argv, &options);
  if (stop != 0) {
    return stop - 1;
  }
  signal(SIGPIPE, SIG_IGN);
  struct load_cluster cluster = {0};
  int result = load_files_check(&options);
  if (result == 0) {
    result = load_cluster_open(&options, &cluster);
  }
  if (result == 0) {
    result = options.mode == LOAD_CHECK ? load_check(&options, &cluster) : run_load(&options, &cluster);
  }
  load_cluster_destroy(&cluster);
  if (result < 0) {
    fprintf(stderr, "load: %s\n", error_last()->message);
    return 1;
  }
  return result;
}
