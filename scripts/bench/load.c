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
#include "load_options.h"
#include "load_worker.h"
#include "os/clock.h"

/// Everything that runs at once.
struct load_run {
  struct load_worker *workers; ///< producers first
  int producers;               ///< how many of them produce
  int count;                   ///< of workers
  FILE *acked;                 ///< --verify-acked, or NULL
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

static int open_run(struct load_run *run, const struct load_options *options, const struct load_cluster *cluster)
{
  run->producers = options->mode & LOAD_PRODUCE ? options->threads : 0;
  run->count = run->producers + (options->mode & LOAD_FETCH ? options->threads : 0);
  run->workers = mem_array((size_t)run->count, sizeof *run->workers);
  int64_t run_number = 0;
  if (options->acked_path != NULL && run->producers > 0) {
    TRY(open_acked(run, options, &run_number));
  }
  for (int i = 0; i < run->count; i++) {
    run->workers[i].options = options;
    run->workers[i].cluster = cluster;
    run->workers[i].role = i < run->producers ? &load_produce_role : &load_fetch_role;
    run->workers[i].run_number = run_number;
    run->workers[i].acked = i < run->producers ? run->acked : NULL;
    run->workers[i].epoll_fd = run->workers[i].timer_fd = -1;
  }
  if (run->producers > 0) {
    TRY(load_workers_open(run->workers, run->producers));
  }
  if (run->count > run->producers) {
    TRY(load_workers_open(run->workers + run->producers, run->count - run->producers));
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

static void merge(struct load_counts *into, const struct load_counts *from)
{
  into->requests += from->requests;
  into->records += from->records;
  into->bytes += from->bytes;
  into->empty += from->empty;
  into->disconnects += from->disconnects;
  into->unsent += from->unsent;
  into->unanswered += from->unanswered;
  into->errors += from->errors;
  if (into->first_error[0] == '\0') {
    memcpy(into->first_error, from->first_error, sizeof into->first_error);
  }
  if (from->last_ns > into->last_ns) {
    into->last_ns = from->last_ns;
  }
  histogram_merge(&into->latency, &from->latency);
}

static void print_text(const char *text)
{
  for (; *text != '\0'; text++) {
    if (*text == '"' || *text == '\\') {
      putchar('\\');
    }
    putchar((unsigned char)*text < ' ' ? ' ' : *text);
  }
}

/// Prints one side's figures; returns true when all went well.
static bool print_counts(const char *name, const struct load_worker *workers, int count)
{
  struct load_counts *all = mem_zalloc(sizeof *all);
  for (int i = 0; i < count; i++) {
    merge(all, &workers[i].counts);
  }
  double seconds = all->last_ns > 0 ? (double)(all->last_ns - workers[0].start_ns) / 1e9 : 0;
  double per_second = seconds > 0 ? 1 / seconds : 0;
  const struct histogram *latency = &all->latency;
  printf("\"%s\":{\"requests\":%" PRId64 ",\"records\":%" PRId64 ",\"bytes\":%" PRId64 ",\"seconds\":%.3f", name,
         all->requests, all->records, all->bytes, seconds);
  printf(",\"requests_per_s\":%.0f,\"records_per_s\":%.0f,\"mb_per_s\":%.2f", (double)all->requests * per_second,
         (double)all->records * per_second, (double)all->bytes * per_second / 1e6);
  printf(",\"latency_us\":{\"p50\":%.1f,\"p90\":%.1f,\"p99\":%.1f,\"p99.9\":%.1f,\"max\":%.1f,\"mean\":%.1f}",
         (double)histogram_quantile(latency, 0.5) / 1e3, (double)histogram_quantile(latency, 0.9) / 1e3,
         (double)histogram_quantile(latency, 0.99) / 1e3, (double)histogram_quantile(latency, 0.999) / 1e3,
         (double)latency->max / 1e3, latency->count > 0 ? latency->sum / (double)latency->count / 1e3 : 0.0);
  printf(",\"empty\":%" PRId64 ",\"errors\":%" PRId64 ",\"disconnects\":%" PRId64 ",\"unsent\":%" PRId64
         ",\"unanswered\":%" PRId64 ",\"first_error\":\"",
         all->empty, all->errors, all->disconnects, all->unsent, all->unanswered);
  print_text(all->first_error);
  printf("\"}");
  bool is_good = all->errors == 0 && all->disconnects == 0 && all->unanswered == 0;
  mem_free(all);
  return is_good;
}

static int run_load(const struct load_options *options, const struct load_cluster *cluster)
{
  struct load_run run = {0};
  int result = open_run(&run, options, cluster);
  if (result == 0) {
    result = start_run(&run, options);
  }
  if (result == 0) {
    bool is_good = true;
    printf("{");
    if (run.producers > 0) {
      is_good = print_counts("produce", run.workers, run.producers);
    }
    if (run.count > run.producers) {
      printf("%s", run.producers > 0 ? "," : "");
      is_good = print_counts("fetch", run.workers + run.producers, run.count - run.producers) && is_good;
    }
    printf("}\n");
    result = is_good || options->keep_going ? 0 : 1;
  }
  for (int i = 0; i < run.count; i++) {
    load_worker_close(&run.workers[i]);
  }
  mem_free(run.workers);
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
  int result = load_cluster_open(&options, &cluster);
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
