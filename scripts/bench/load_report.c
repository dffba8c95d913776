// SPDX-License-Identifier: Apache-2.0
#include "load_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cpu.h"
#include "load_idle.h"
#include "load_options.h"
#include "load_worker.h"

void load_cpu_read(const struct load_options *options, struct load_cpu *cpu)
{
  cpu->brokers_ns = cpu_used_ns(options->cpu_pids, options->cpu_pid_count);
  cpu->own_ns = cpu_own_ns();
}

int load_cpu_check(const struct load_options *options)
{
  return cpu_used_ns(options->cpu_pids, options->cpu_pid_count) < 0
             ? error_set(ERR_NOT_FOUND, "--cpu-of: there is no such process")
             : 0;
}

int64_t load_resident_bytes(const struct load_options *options)
{
  return cpu_resident_bytes(options->cpu_pids, options->cpu_pid_count);
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

static void print_histogram(const struct histogram *latency)
{
  size_t bucket = 0;
  int64_t end_ns = 0;
  uint64_t count = 0;
  printf(",\"histogram_us\":[");
  for (bool is_first = true; histogram_coarse(latency, &bucket, &end_ns, &count); is_first = false) {
    printf("%s[%.3f,%" PRIu64 "]", is_first ? "" : ",", (double)end_ns / 1e3, count);
  }
  printf("]");
}

/// Prints one side's figures and adds them to those of the run.
static void print_side(const struct load_options *options, const struct load_side *side, struct load_counts *run)
{
  struct load_counts *all = mem_zalloc(sizeof *all);
  for (int i = 0; i < side->count; i++) {
    merge(all, &side->workers[i].counts);
  }
  double seconds = all->last_ns > 0 ? (double)(all->last_ns - side->workers[0].start_ns) / 1e9 : 0;
  double per_second = seconds > 0 ? 1 / seconds : 0;
  const struct histogram *latency = &all->latency;
  printf("\"%s\":{\"requests\":%" PRId64 ",\"records\":%" PRId64 ",\"bytes\":%" PRId64 ",\"seconds\":%.3f", side->name,
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
  printf("\"");
  if (options->with_histogram) {
    print_histogram(latency);
  }
  printf("},");
  merge(run, all);
  mem_free(all);
}

bool load_report(const struct load_options *options, const struct load_side *sides, int side_count,
                 const struct load_idle *idle, const struct load_cpu *before, const struct load_cpu *after)
{
  struct load_counts *run = mem_zalloc(sizeof *run);
  int64_t start_ns = 0;
  printf("{");
  for (int i = 0; i < side_count; i++) {
    if (sides[i].count > 0) {
      print_side(options, &sides[i], run);
      start_ns = sides[i].workers[0].start_ns;
    }
  }
  double seconds = run->last_ns > 0 ? (double)(run->last_ns - start_ns) / 1e9 : 0;
  printf("\"requests\":%" PRId64 ",\"requests_per_s\":%.0f,\"bytes\":%" PRId64 ",\"own_cpu_s\":%.6f", run->requests,
         seconds > 0 ? (double)run->requests / seconds : 0.0, run->bytes,
         (double)(after->own_ns - before->own_ns) / 1e9);
  if (options->cpu_pid_count > 0 && after->brokers_ns >= 0) {
    double used_s = (double)(after->brokers_ns - before->brokers_ns) / 1e9;
    printf(",\"cpu_s\":%.6f,\"cpu_us_per_request\":%.3f,\"cpu_s_per_gb\":%.4f,\"rss_bytes\":%" PRId64, used_s,
           run->requests > 0 ? used_s * 1e6 / (double)run->requests : 0.0,
           run->bytes > 0 ? used_s * 1e9 / (double)run->bytes : 0.0, load_resident_bytes(options));
    if (idle->count > 0) {
      printf(",\"rss_before_bytes\":%" PRId64 ",\"rss_idle_bytes\":%" PRId64, idle->rss_before_bytes,
             idle->rss_idle_bytes);
    }
  }
  printf("}\n");
  bool is_good = run->errors == 0 && run->disconnects == 0 && run->unanswered == 0;
  mem_free(run);
  return is_good;
}
