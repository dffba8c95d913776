// SPDX-License-Identifier: Apache-2.0
#include "load_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/// An option with a number.
struct number_option {
  const char *name; ///< without the dashes
  double min;       ///< smallest
  double max;       ///< largest
  double *value;    ///< where it goes
};

enum option_code { OPTION_NUMBER = 0, OPTION_HELP = 1000 };

static int usage(const char *format, const char *what)
{
  fprintf(stderr, "load: ");
  fprintf(stderr, format, what);
  fprintf(stderr, " (load --help tells more)\n");
  return 3;
}

static int parse_number(const struct number_option *option, const char *text)
{
  char *end = NULL;
  double value = strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= option->min && value <= option->max)) {
    fprintf(stderr, "load: --%s is a number from %.0f to %.0f, not '%s'\n", option->name, option->min, option->max,
            text);
    return 3;
  }
  *option->value = value;
  return 0;
}

static int parse_mode(int argc, char **argv, struct load_options *options)
{
  static const struct {
    const char *name;
    enum load_mode mode;
  } modes[] = {{"produce", LOAD_PRODUCE},
               {"fetch", LOAD_FETCH},
               {"both", LOAD_BOTH},
               {"check", LOAD_CHECK},
               {"api-versions", LOAD_API_VERSIONS}};
  if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)) {
    fputs(HELP, stdout);
    return 1;
  }
  for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof modes[0]; i++) {
    if (strcmp(argv[1], modes[i].name) == 0) {
      options->mode = modes[i].mode;
      return 0;
    }
  }
  return usage("say produce, fetch, both, api-versions or check first%s", "");
}

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

/// Options that are not numbers.
static int parse_text(const char *name, const char *text, struct load_options *options, bool *is_from_given)
{
  if (strcmp(name, "brokers") == 0) {
    options->brokers = text;
  } else if (strcmp(name, "topic") == 0) {
    options->topic = text;
  } else if (strcmp(name, "create") == 0) {
    options->create = true;
  } else if (strcmp(name, "codec") == 0) {
    options->codec = codec_from_name(text);
    return options->codec < 0 ? usage("'%s' is no codec", text) : 0;
  } else if (strcmp(name, "header") == 0) {
    options->header = text;
    return strchr(text, '=') == NULL ? usage("--header is NAME=TEXT, not '%s'", text) : 0;
  } else if (strcmp(name, "value") == 0) {
    options->value = text;
  } else if (strcmp(name, "verify-acked") == 0) {
    options->acked_path = text;
  } else if (strcmp(name, "from") == 0) {
    *is_from_given = true;
    options->from_end = strcmp(text, "latest") == 0;
    return options->from_end || strcmp(text, "earliest") == 0 ? 0 : usage("--from earliest or latest, not '%s'", text);
  } else if (strcmp(name, "until-end") == 0) {
    options->until_end = true;
  } else if (strcmp(name, "repeat") == 0) {
    options->repeat = true;
  } else if (strcmp(name, "verify") == 0) {
    options->verify = true;
  } else if (strcmp(name, "keep-going") == 0) {
    options->keep_going = true;
  } else if (strcmp(name, "allow-remote") == 0) {
    options->allow_remote = true;
  } else if (strcmp(name, "session") == 0) {
    options->with_session = true;
  } else if (strcmp(name, "raw") == 0) {
    options->is_raw = true;
  } else if (strcmp(name, "histogram") == 0) {
    options->with_histogram = true;
  } else if (strcmp(name, "cpu-of") == 0) {
    int pid = atoi(text);
    if (pid <= 0 || options->cpu_pid_count == LOAD_PIDS_MAX) {
      return usage("--cpu-of is a process, at most 8 times, not '%s'", text);
    }
    options->cpu_pids[options->cpu_pid_count++] = pid;
  }
  return 0;
}

static const struct option LONG_OPTIONS[] = {
    {"brokers", required_argument, NULL, 0},
    {"topic", required_argument, NULL, 0},
    {"create", no_argument, NULL, 0},
    {"codec", required_argument, NULL, 0},
    {"verify-acked", required_argument, NULL, 0},
    {"from", required_argument, NULL, 0},
    {"until-end", no_argument, NULL, 0},
    {"repeat", no_argument, NULL, 0},
    {"verify", no_argument, NULL, 0},
    {"keep-going", no_argument, NULL, 0},
    {"allow-remote", no_argument, NULL, 0},
    {"raw", no_argument, NULL, 0},
    {"session", no_argument, NULL, 0},
    {"active", required_argument, NULL, 0},
    {"idle-connections", required_argument, NULL, 0},
    {"histogram", no_argument, NULL, 0},
    {"cpu-of", required_argument, NULL, 0},
    {"help", no_argument, NULL, OPTION_HELP},
    {"partitions", required_argument, NULL, 0},
    {"replication", required_argument, NULL, 0},
    {"connections", required_argument, NULL, 0},
    {"depth", required_argument, NULL, 0},
    {"threads", required_argument, NULL, 0},
    {"seconds", required_argument, NULL, 0},
    {"requests", required_argument, NULL, 0},
    {"rate", required_argument, NULL, 0},
    {"records", required_argument, NULL, 0},
    {"record-bytes", required_argument, NULL, 0},
    {"keys", required_argument, NULL, 0},
    {"header", required_argument, NULL, 0},
    {"value", required_argument, NULL, 0},
    {"batch-bytes", required_argument, NULL, 0},
    {"acks", required_argument, NULL, 0},
    {"max-bytes", required_argument, NULL, 0},
    {"partition-max-bytes", required_argument, NULL, 0},
    {"min-bytes", required_argument, NULL, 0},
    {"max-wait-ms", required_argument, NULL, 0},
    {NULL, 0, NULL, 0},
};

int load_options_parse(int argc, char **argv, struct load_options *options)
{
  double partitions = 1, replication = -1, connections = 1, depth = 1, threads = 1, seconds = 10, requests = 0;
  double active = 0, idle_connections = 0, rate = 0, records = 1, record_bytes = 100, batch_bytes = 0, acks = -1,
         keys = 0;
  double max_bytes = 50 * 1024 * 1024, partition_max_bytes = 1024 * 1024, min_bytes = 1, max_wait_ms = 500;
  const struct number_option numbers[] = {
      {"partitions", 1, 100000, &partitions},
      {"replication", -1, 100, &replication},
      {"connections", 1, LOAD_CONNECTIONS_MAX, &connections},
      {"active", 0, 100000, &active},
      {"idle-connections", 0, LOAD_CONNECTIONS_MAX, &idle_connections},
      {"depth", 1, LOAD_DEPTH_MAX, &depth},
      {"threads", 1, LOAD_THREADS_MAX, &threads},
      {"seconds", 0.01, LOAD_SECONDS_MAX, &seconds},
      {"requests", 0, 1e15, &requests},
      {"rate", 0, 1e7, &rate},
      {"records", 1, 1000000, &records},
      {"record-bytes", 0, LOAD_BATCH_BYTES_MAX, &record_bytes},
      {"keys", 0, 1e9, &keys},
      {"batch-bytes", 1, LOAD_BATCH_BYTES_MAX, &batch_bytes},
      {"acks", -1, 1, &acks},
      {"max-bytes", 1, 1e9, &max_bytes},
      {"partition-max-bytes", 1, 1e9, &partition_max_bytes},
      {"min-bytes", 0, 1e9, &min_bytes},
      {"max-wait-ms", 0, 60000, &max_wait_ms},
  };
  *options = (struct load_options){.brokers = "127.0.0.1:9092"};
  int stop = parse_mode(argc, argv, options);
  bool is_from_given = false;
  optind = 2;
  for (int at = 0, code = 0; stop == 0 && (code = getopt_long(argc, argv, "", LONG_OPTIONS, &at)) != -1;) {
    if (code == OPTION_HELP) {
      fputs(HELP, stdout);
      return 1;
    }
    if (code != 0) {
      return 3;
    }
    const char *name = LONG_OPTIONS[at].name;
    stop = parse_text(name, optarg, options, &is_from_given);
    for (size_t i = 0; stop == 0 && i < sizeof numbers / sizeof numbers[0]; i++) {
      if (strcmp(name, numbers[i].name) == 0) {
        stop = parse_number(&numbers[i], optarg);
      }
    }
  }
  if (stop != 0) {
    return stop;
  }
  if (options->mode == LOAD_CHECK && optind < argc) {
    options->acked_path = argv[optind++];
  }
  if (optind < argc) {
    return usage("what is '%s'?", argv[optind]);
  }
  if (options->mode == LOAD_CHECK && options->acked_path == NULL) {
    return usage("%s needs the file that produce --verify-acked wrote", "check");
  }
  options->partitions = (int32_t)partitions;
  options->replication = (int16_t)replication;
  options->connections = (int)connections;
  options->active = (int32_t)active;
  options->idle_connections = (int)idle_connections;
  options->depth = (int)depth;
  options->threads = (int)threads;
  options->seconds = seconds;
  options->requests = (int64_t)requests;
  options->rate = rate;
  options->records = (int32_t)records;
  options->record_bytes = options->value != NULL ? (int32_t)strlen(options->value) : (int32_t)record_bytes;
  options->keys = (int64_t)keys;
  options->batch_bytes = (int64_t)batch_bytes;
  options->acks = (int16_t)acks;
  options->max_bytes = (int32_t)max_bytes;
  options->partition_max_bytes = (int32_t)partition_max_bytes;
  options->min_bytes = (int32_t)min_bytes;
  options->max_wait_ms = (int32_t)max_wait_ms;
  return finish(options, is_from_given);
}
