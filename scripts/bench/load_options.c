// SPDX-License-Identifier: Apache-2.0
#include "load_options.h"

#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "record/codec.h"

static const char HELP[] =
    "usage: load produce|fetch|both --topic T [option ...]\n"
    "       load api-versions [option ...]\n"
    "       load check FILE --topic T [option ...]\n"
    "\n"
    "Sends Produce, Fetch or ApiVersions requests as fast as the broker answers, or at a fixed rate, and prints one\n"
    "line of JSON.\n"
    "\n"
    "  --brokers HOST:PORT     a broker (127.0.0.1:9092); others are found through it\n"
    "  --topic T               the topic\n"
    "  --create                create it first; one that exists is used as it is\n"
    "  --partitions N          partitions to create and to use, from 0 on (1)\n"
    "  --replication N         replication factor when it is created (the broker's default)\n"
    "  --connections N         connections, shared out over the partitions (1); with both: N of each kind\n"
    "  --depth N               Produce requests in flight on a connection (1)\n"
    "  --idle-connections N    connections that are opened first, ask for ApiVersions once, and then only stay (0)\n"
    "  --threads N             threads of each kind (1)\n"
    "  --seconds S             how long to send (10, at most 3600); answers may take 10 s more\n"
    "  --requests N            send at most N requests in all (no limit)\n"
    "  --rate R                open loop: R requests a second in all, at fixed times; latency counts from the planned\n"
    "                          time, so a stall of the broker is seen by every request that it delayed. With both:\n"
    "                          of produce; fetch takes what comes\n"
    "  --records N             records in a batch (1)\n"
    "  --record-bytes N        bytes of a record's value (100)\n"
    "  --keys N                give each record one of N keys, at random (none)\n"
    "  --header NAME=TEXT      give each record this header (none)\n"
    "  --value TEXT            give each record this value, instead of letters\n"
    "  --batch-bytes N         instead of --records: as many records as fit\n"
    "  --acks -1|0|1           acknowledgements (-1); with 0 a request counts when it is sent\n"
    "  --codec NAME            none, gzip, snappy, lz4, zstd (none)\n"
    "  --verify-acked FILE     produce: give every record a number and append to FILE a line for each acknowledged\n"
    "                          batch. `load check FILE` later reads the topic and looks for each of them, in order\n"
    "  --max-bytes N           fetch: bytes of a response (52428800)\n"
    "  --partition-max-bytes N fetch: bytes of a partition (1048576)\n"
    "  --min-bytes N           fetch: bytes to wait for (1)\n"
    "  --max-wait-ms N         fetch: how long to wait (500)\n"
    "  --from earliest|latest  fetch: where to start (earliest; with both: latest)\n"
    "  --session               fetch: one incremental session on each connection (KIP-227): the first request names\n"
    "                          all partitions, later ones those that were read from since\n"
    "  --active N              produce to and read partitions 0 to N-1 alone, though a session is about all of\n"
    "                          --partitions (all)\n"
    "  --until-end             fetch: stop at what was the end at the start\n"
    "  --repeat                fetch: start again there\n"
    "  --verify                fetch: check each batch's CRC, and that no offset is missing\n"
    "  --cpu-of PID            take this process's processor time too: a broker's (up to 8 times)\n"
    "  --histogram             print all latencies too, as a histogram\n"
    "  --raw                   --brokers is not a broker but the limit program beside this one: nothing is asked of "
    "it\n"
    "                          first. produce sends the same batches (--acks 1); fetch receives what it sends\n"
    "  --keep-going            exit with 0 in spite of error answers and lost connections\n"
    "  --allow-remote          brokers need not have loopback addresses\n"
    "\n"
    "Requests are encoded before the clock starts; only correlation ids (and the numbers of --verify-acked) change.\n"
    "Examples:\n"
    "  load produce --topic t --create --partitions 4 --connections 4 --depth 5 --batch-bytes 16384 --acks 1\n"
    "  load produce --topic t --rate 1000 --records 1 --seconds 30\n"
    "  load fetch --topic t --partitions 4 --until-end --verify\n"
    "\n"
    "JSON: requests, records, bytes (of record batches), seconds, requests_per_s, records_per_s, mb_per_s (10^6 "
    "bytes),\n"
    "latency_us {p50 p90 p99 p99.9 max mean}, errors, first_error, disconnects; unsent: planned requests that were\n"
    "never sent (open loop); unanswered: no answer within 10 s after the end; empty: Fetch answers without records,\n"
    "which count neither as requests nor for the latency; histogram_us: [upper bound in us, latencies] for each "
    "bucket\n"
    "that has some. After the figures of each side those of the whole run: requests, requests_per_s, bytes; "
    "own_cpu_s:\n"
    "processor seconds of this program; cpu_s, cpu_us_per_request, cpu_s_per_gb (10^9 bytes), rss_bytes: of --cpu-of,\n"
    "user and system time from before the first request to the last answer, and memory at the end; with\n"
    "--idle-connections also rss_before_bytes and rss_idle_bytes: memory before they were opened, and with them.\n";

static int usage(const char *format, const char *what)
{
  return arguments_refuse("load", format, what);
}

static const struct argument_mode MODES[] = {{"produce", LOAD_PRODUCE},
                                             {"fetch", LOAD_FETCH},
                                             {"both", LOAD_BOTH},
                                             {"api-versions", LOAD_API_VERSIONS},
                                             {"check", LOAD_CHECK}};

static int finish(struct load_options *options, bool is_from_given)
{
  if (options->topic == NULL && options->mode != LOAD_API_VERSIONS && !options->is_raw) {
    return usage("%s is missing", "--topic");
  }
  if (options->is_raw && (options->mode & (LOAD_CHECK | LOAD_API_VERSIONS)) != 0) {
    return usage("%s is for produce and fetch", "--raw");
  }
  if (options->topic == NULL) {
    options->topic = "limit";
  }
  if (options->active == 0 || options->active > options->partitions) {
    options->active = options->partitions;
  }
  if (options->acked_path != NULL && options->connections > LOAD_CONNECTIONS_NUMBERED) {
    return usage("%s is for at most 4096 connections", "--verify-acked");
  }
  if (options->mode == LOAD_BOTH && !is_from_given) {
    options->from_end = true;
  }
  if (options->acked_path != NULL && options->mode != LOAD_CHECK) {
    if (options->acks == 0) {
      return usage("%s needs acknowledgements: --acks 1 or -1", "--verify-acked");
    }
    if (options->record_bytes < 16) {
      options->record_bytes = 16;
    }
  }
  if (options->batch_bytes > 0) {
    // A record of format 2 with a null key and no headers takes about 10 bytes more than its value.
    int64_t records = options->batch_bytes / (options->record_bytes + 10);
    options->records = (int32_t)(records < 1 ? 1 : records);
  }
  if ((int64_t)options->records * (options->record_bytes + 32) > LOAD_BATCH_BYTES_MAX) {
    return usage("%s: a batch is at most 64 MiB", "--records");
  }
  if (options->threads > options->connections) {
    options->threads = options->connections;
  }
  return 0;
}

/// Options whose texts mean something.
struct texts {
  const char *codec;                ///< NULL: none is given
  const char *from;                 ///< likewise
  const char *file;                 ///< of check; likewise
  struct argument_texts pids;       ///< of --cpu-of
  const char *items[LOAD_PIDS_MAX]; ///< memory of these
};

static int take_texts(const struct texts *texts, struct load_options *options)
{
  if (texts->codec != NULL) {
    options->codec = codec_from_name(texts->codec);
    if (options->codec < 0) {
      return usage("'%s' is no codec", texts->codec);
    }
  }
  if (texts->from != NULL) {
    options->from_end = strcmp(texts->from, "latest") == 0;
    if (!options->from_end && strcmp(texts->from, "earliest") != 0) {
      return usage("--from earliest or latest, not '%s'", texts->from);
    }
  }
  if (options->header != NULL && strchr(options->header, '=') == NULL) {
    return usage("--header is NAME=TEXT, not '%s'", options->header);
  }
  for (int i = 0; i < texts->pids.count; i++) {
    int pid = atoi(texts->pids.items[i]);
    if (pid <= 0) {
      return usage("--cpu-of is a process, not '%s'", texts->pids.items[i]);
    }
    options->cpu_pids[options->cpu_pid_count++] = pid;
  }
  if (options->mode == LOAD_CHECK) {
    options->acked_path = texts->file != NULL ? texts->file : options->acked_path;
    return options->acked_path == NULL ? usage("%s needs the file that produce --verify-acked wrote", "check") : 0;
  }
  return texts->file != NULL ? usage("what is '%s'?", texts->file) : 0;
}

/// Options that are numbers, as HELP tells.
struct numbers {
  double partitions;          ///< --partitions
  double replication;         ///< --replication
  double connections;         ///< --connections
  double depth;               ///< --depth
  double threads;             ///< --threads
  double seconds;             ///< --seconds
  double requests;            ///< --requests
  double active;              ///< --active
  double idle_connections;    ///< --idle-connections
  double rate;                ///< --rate
  double records;             ///< --records
  double record_bytes;        ///< --record-bytes
  double batch_bytes;         ///< --batch-bytes
  double acks;                ///< --acks
  double keys;                ///< --keys
  double max_bytes;           ///< --max-bytes
  double partition_max_bytes; ///< --partition-max-bytes
  double min_bytes;           ///< --min-bytes
  double max_wait_ms;         ///< --max-wait-ms
};

static void apply(const struct numbers *numbers, struct load_options *options)
{
  options->partitions = (int32_t)numbers->partitions;
  options->replication = (int16_t)numbers->replication;
  options->connections = (int)numbers->connections;
  options->active = (int32_t)numbers->active;
  options->idle_connections = (int)numbers->idle_connections;
  options->depth = (int)numbers->depth;
  options->threads = (int)numbers->threads;
  options->seconds = numbers->seconds;
  options->requests = (int64_t)numbers->requests;
  options->rate = numbers->rate;
  options->records = (int32_t)numbers->records;
  options->record_bytes = options->value != NULL ? (int32_t)strlen(options->value) : (int32_t)numbers->record_bytes;
  options->keys = (int64_t)numbers->keys;
  options->batch_bytes = (int64_t)numbers->batch_bytes;
  options->acks = (int16_t)numbers->acks;
  options->max_bytes = (int32_t)numbers->max_bytes;
  options->partition_max_bytes = (int32_t)numbers->partition_max_bytes;
  options->min_bytes = (int32_t)numbers->min_bytes;
  options->max_wait_ms = (int32_t)numbers->max_wait_ms;
}

int load_options_parse(int argc, char **argv, struct load_options *options)
{
  struct numbers numbers = {
      .partitions = 1,
      .replication = -1,
      .connections = 1,
      .depth = 1,
      .threads = 1,
      .seconds = 10,
      .records = 1,
      .record_bytes = 100,
      .acks = -1,
      .max_bytes = 50 * 1024 * 1024,
      .partition_max_bytes = 1024 * 1024,
      .min_bytes = 1,
      .max_wait_ms = 500,
  };
  struct texts texts = {0};
  texts.pids = (struct argument_texts){.items = texts.items, .room = LOAD_PIDS_MAX};
  *options = (struct load_options){.brokers = "127.0.0.1:9092"};
  const struct argument_place places[] = {
      {.name = "brokers", .text = &options->brokers},
      {.name = "topic", .text = &options->topic},
      {.name = "codec", .text = &texts.codec},
      {.name = "header", .text = &options->header},
      {.name = "value", .text = &options->value},
      {.name = "verify-acked", .text = &options->acked_path},
      {.name = "from", .text = &texts.from},
      {.name = "cpu-of", .texts = &texts.pids},
      {.name = "create", .flag = &options->create},
      {.name = "until-end", .flag = &options->until_end},
      {.name = "repeat", .flag = &options->repeat},
      {.name = "verify", .flag = &options->verify},
      {.name = "keep-going", .flag = &options->keep_going},
      {.name = "allow-remote", .flag = &options->allow_remote},
      {.name = "raw", .flag = &options->is_raw},
      {.name = "session", .flag = &options->with_session},
      {.name = "histogram", .flag = &options->with_histogram},
      {.name = "partitions", .min = 1, .max = 100000, .number = &numbers.partitions},
      {.name = "replication", .min = -1, .max = 100, .number = &numbers.replication},
      {.name = "connections", .min = 1, .max = LOAD_CONNECTIONS_MAX, .number = &numbers.connections},
      {.name = "active", .min = 0, .max = 100000, .number = &numbers.active},
      {.name = "idle-connections", .min = 0, .max = LOAD_CONNECTIONS_MAX, .number = &numbers.idle_connections},
      {.name = "depth", .min = 1, .max = LOAD_DEPTH_MAX, .number = &numbers.depth},
      {.name = "threads", .min = 1, .max = LOAD_THREADS_MAX, .number = &numbers.threads},
      {.name = "seconds", .min = 0.01, .max = LOAD_SECONDS_MAX, .number = &numbers.seconds},
      {.name = "requests", .min = 0, .max = 1e15, .number = &numbers.requests},
      {.name = "rate", .min = 0, .max = 1e7, .number = &numbers.rate},
      {.name = "records", .min = 1, .max = 1000000, .number = &numbers.records},
      {.name = "record-bytes", .min = 0, .max = LOAD_BATCH_BYTES_MAX, .number = &numbers.record_bytes},
      {.name = "keys", .min = 0, .max = 1e9, .number = &numbers.keys},
      {.name = "batch-bytes", .min = 1, .max = LOAD_BATCH_BYTES_MAX, .number = &numbers.batch_bytes},
      {.name = "acks", .min = -1, .max = 1, .number = &numbers.acks},
      {.name = "max-bytes", .min = 1, .max = 1e9, .number = &numbers.max_bytes},
      {.name = "partition-max-bytes", .min = 1, .max = 1e9, .number = &numbers.partition_max_bytes},
      {.name = "min-bytes", .min = 0, .max = 1e9, .number = &numbers.min_bytes},
      {.name = "max-wait-ms", .min = 0, .max = 60000, .number = &numbers.max_wait_ms},
  };
  const struct argument_rules rules = {
      .program = "load",
      .help = HELP,
      .modes = MODES,
      .mode_count = sizeof MODES / sizeof MODES[0],
      .places = places,
      .place_count = sizeof places / sizeof places[0],
  };
  int mode = 0;
  int stop = arguments_parse(&rules, argc, argv, &mode, &texts.file);
  if (stop != 0) {
    return stop;
  }
  options->mode = (enum load_mode)mode;
  stop = take_texts(&texts, options);
  if (stop != 0) {
    return stop;
  }
  apply(&numbers, options);
  return finish(options, texts.from != NULL);
}
