// SPDX-License-Identifier: Apache-2.0
#include "groups_options.h"

#include "arguments.h"

static const char HELP[] =
    "usage: groups heartbeat|rebalance|commit|fetch [option ...]\n"
    "\n"
    "Members of consumer groups, as many as are asked for, in one program that does nothing else; the classic\n"
    "protocol. Prints one line of JSON.\n"
    "\n"
    "  heartbeat   has all groups join, then has every member send heartbeats at its interval, evenly spread; the\n"
    "              first of each member is not counted\n"
    "  rebalance   has groups join; then a member of each leaves, and comes back; how long that takes\n"
    "  commit      commits offsets from outside of groups (as assign() does), as fast as the broker answers\n"
    "  fetch       asks for an offset of every group until none is being loaded any more\n"
    "\n"
    "  --broker HOST:PORT      the coordinator of all groups, on this machine (127.0.0.1:9092)\n"
    "  --topic T               topic (groups)\n"
    "  --create                create it first; one that exists is used as it is\n"
    "  --partitions N          partitions of the topic, and offsets of a group (1)\n"
    "  --prefix P              groups are called P-0, P-1, ... (group)\n"
    "  --groups N              groups (1)\n"
    "  --members N             members of each (10)\n"
    "  --connections N         connections (as many as a group has members; commit and fetch: 1). Members of a group\n"
    "                          never share one, as a join that waits holds up all that comes after it; so many groups\n"
    "                          join at a time as there are connections for\n"
    "  --interval-ms N         between heartbeats of a member (3000; rebalance: 100)\n"
    "  --commit-every N        heartbeat: with every N-th heartbeat a member commits an offset too (0: never)\n"
    "  --session-timeout-ms N  of members (45000)\n"
    "  --rounds N              rebalance: how often (5)\n"
    "  --batch N               commit: offsets of a request (1)\n"
    "  --depth N               commit: requests in flight on a connection (1)\n"
    "  --fill                  commit: every partition of every group once, and no more\n"
    "  --verify                fetch: then read all offsets, and compare them with what --fill has committed\n"
    "  --seconds S             heartbeat, commit: how long (10)\n"
    "  --cpu-of PID            take this process's processor time too: the broker's\n"
    "\n"
    "JSON: heartbeat: setup_s, heartbeats, commits, requests_per_s, latency_us {p50 p90 p99 p99.9 max mean} from the\n"
    "planned time on, commit_latency_us. rebalance: first, leave, join: {joins_ms: until the last member has asked to\n"
    "join, rebalance_ms: from there until the last has its assignment}, of the slowest group of each round. commit:\n"
    "commits, requests_per_s, offsets, offsets_per_s, latency_us. fetch: loaded_ms, retries, offsets, wrong. All:\n"
    "seconds, errors, first_error, own_cpu_s, and with --cpu-of cpu_s, cpu_percent of one core, cpu_us_per_request,\n"
    "rss_bytes.\n";

static int usage(const char *format, const char *what)
{
  return arguments_refuse("groups", format, what);
}

static const struct argument_mode MODES[] = {{"heartbeat", GROUPS_HEARTBEAT},
                                             {"rebalance", GROUPS_REBALANCE},
                                             {"commit", GROUPS_COMMIT},
                                             {"fetch", GROUPS_FETCH}};

static int finish(struct groups_options *options, double connections, double interval_ms)
{
  bool has_members = options->mode == GROUPS_HEARTBEAT || options->mode == GROUPS_REBALANCE;
  options->connections = connections > 0 ? (int)connections : has_members ? options->members : 1;
  options->interval_ms = interval_ms > 0 ? (int64_t)interval_ms : options->mode == GROUPS_REBALANCE ? 100 : 3000;
  if (has_members && options->connections < options->members) {
    return usage("%s is at least the members of a group", "--connections");
  }
  if (options->mode == GROUPS_REBALANCE && options->connections < options->members * options->groups) {
    return usage("rebalance needs as many %s as there are members in all", "--connections");
  }
  if (options->mode == GROUPS_REBALANCE && options->members < 2) {
    return usage("rebalance needs two %s", "--members");
  }
  if (options->batch > options->partitions) {
    return usage("%s is at most --partitions", "--batch");
  }
  return 0;
}

int groups_options_parse(int argc, char **argv, struct groups_options *options)
{
  double partitions = 1, groups = 1, members = 10, connections = 0, interval_ms = 0, commit_every = 0, batch = 1;
  double session_timeout_ms = 45000, rounds = 5, depth = 1, seconds = 10, broker_pid = 0;
  *options = (struct groups_options){.broker = "127.0.0.1:9092", .topic = "groups", .prefix = "group"};
  const struct argument_place places[] = {
      {.name = "broker", .text = &options->broker},
      {.name = "topic", .text = &options->topic},
      {.name = "prefix", .text = &options->prefix},
      {.name = "create", .flag = &options->create},
      {.name = "fill", .flag = &options->fill},
      {.name = "verify", .flag = &options->verify},
      {.name = "partitions", .min = 1, .max = GROUPS_PARTITIONS_MAX, .number = &partitions},
      {.name = "groups", .min = 1, .max = GROUPS_MAX, .number = &groups},
      {.name = "members", .min = 1, .max = GROUPS_MEMBERS_MAX, .number = &members},
      {.name = "connections", .min = 1, .max = GROUPS_LINKS_MAX, .number = &connections},
      {.name = "interval-ms", .min = 1, .max = 3600000, .number = &interval_ms},
      {.name = "commit-every", .min = 0, .max = 1e9, .number = &commit_every},
      {.name = "session-timeout-ms", .min = 1, .max = 1e9, .number = &session_timeout_ms},
      {.name = "rounds", .min = 1, .max = GROUPS_ROUNDS_MAX, .number = &rounds},
      {.name = "batch", .min = 1, .max = GROUPS_PARTITIONS_MAX, .number = &batch},
      {.name = "depth", .min = 1, .max = 1000, .number = &depth},
      {.name = "seconds", .min = 0.01, .max = 3600, .number = &seconds},
      {.name = "cpu-of", .min = 1, .max = INT32_MAX, .number = &broker_pid},
  };
  const struct argument_rules rules = {
      .program = "groups",
      .help = HELP,
      .modes = MODES,
      .mode_count = sizeof MODES / sizeof MODES[0],
      .places = places,
      .place_count = sizeof places / sizeof places[0],
  };
  int mode = 0;
  int stop = arguments_parse(&rules, argc, argv, &mode, NULL);
  if (stop != 0) {
    return stop;
  }
  options->mode = (enum groups_mode)mode;
  options->partitions = (int32_t)partitions;
  options->groups = (int)groups;
  options->members = (int)members;
  options->commit_every = (int64_t)commit_every;
  options->session_timeout_ms = (int32_t)session_timeout_ms;
  options->rounds = (int)rounds;
  options->batch = (int32_t)batch;
  options->depth = (int)depth;
  options->seconds = seconds;
  options->broker_pid = (int)broker_pid;
  return finish(options, connections, interval_ms);
}
