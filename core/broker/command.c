// SPDX-License-Identifier: Apache-2.0
#include "broker/command.h"

#include <luajit.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "base/version.h"
#include "broker/broker.h"
#include "broker/options.h"
#include "lua/cli.h"
#include "os/clock.h"
#include "os/errinj.h"
#include "os/limits.h"

static int command_serve(const struct lua_cli_serve *serve);

int command_run(int argc, char **argv)
{
  bool is_serving = false;
  struct lua_cli_serve serve;
  int status = lua_cli_run(argc, argv, &is_serving, &serve);
  if (is_serving) {
    status = command_serve(&serve);
  }
  lua_cli_destroy(&serve);
  return status;
}

/// When the first signal to stop came, on clock_mono_ms(). Written before the handler that reads it is in place.
static int64_t command_asked_ms;

/// Another signal while the broker stops. One that follows at once is the same wish: timeout(1) sends two, a terminal's
/// Ctrl-C may come by way of a parent as well.
static void command_stop_at_once(int number)
{
  enum { SAME_WISH_MS = 1000 };
  if (clock_mono_ms() - command_asked_ms < SAME_WISH_MS) {
    return;
  }
  static const char text[] = "luka: stopped at once; the next start recovers the logs\n";
  ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
  (void)ignored;
  _exit(128 + number);
}

static _Atomic(bool) command_is_asked_by_script; ///< stop() was called, and sent the signal
static _Atomic(bool) command_is_stopping;        ///< the broker stops, for whatever reason

/// Has the main thread stop the broker: it alone waits for the signal, or has it unblocked. Once: another signal would
/// stop it at once, which no stop() in a console means.
static void command_ask_stop(void)
{
  if (!atomic_load(&command_is_stopping) && !atomic_exchange(&command_is_asked_by_script, true)) {
    kill(getpid(), SIGTERM);
  }
}

/// Waits until the broker is asked to stop. The signals are blocked in all threads.
static void command_wait(const sigset_t *signals, struct broker *broker)
{
  for (;;) {
    int number = 0;
    if (sigwait(signals, &number) != 0) {
      continue;
    }
    if (number == SIGHUP) {
      slog_info("SIGHUP: reading the configuration again");
      broker_reload(broker);
      continue;
    }
    command_asked_ms = clock_mono_ms();
    atomic_store(&command_is_stopping, true);
    slog_info("stopping: %s", atomic_load(&command_is_asked_by_script) ? "stop() in a console"
                              : number == SIGTERM                      ? "SIGTERM"
                                                                       : "SIGINT");
    struct sigaction at_once = {.sa_handler = command_stop_at_once, .sa_flags = SA_RESTART};
    sigaction(SIGTERM, &at_once, NULL);
    sigaction(SIGINT, &at_once, NULL);
    signal(SIGHUP, SIG_IGN); // there is nothing to reload any more, and its default is to kill
    pthread_sigmask(SIG_UNBLOCK, signals, NULL);
    return;
  }
}

/// Says what this is, and where its configuration and its data are.
static void command_announce(const struct lua_cli_serve *serve, const struct broker_options *options)
{
  slog_info("luka %s with %s (GC64)", luka_version, LUAJIT_VERSION);
  char *file = NULL;
  const char *sets = serve->set_count > 0 ? " and --set" : "";
  if (serve->path == NULL) {
    slog_info("no configuration file%s", serve->set_count > 0 ? ", but --set" : ": all is default");
    if (access("config.lua", F_OK) == 0) {
      slog_info("./config.lua is there, and not used: `luka serve config.lua` starts with it");
    }
  } else if (options_real_path(serve->path, &file) == 0) {
    slog_info("configuration: %s%s", file, sets);
  }
  mem_free(file);
  for (int i = 0; i < options->data_count; i++) {
    char *folder = NULL;
    if (options_real_path(options->data[i], &folder) == 0) {
      slog_info("data directory %s", folder);
    }
    mem_free(folder);
  }
  uint64_t before = 0;
  uint64_t after = 0;
  if (limits_raise_files(&before, &after) < 0) {
    slog_warn("%s", error_last()->message);
  } else if (after != before) {
    slog_info("limit on open files raised from %llu to %llu", (unsigned long long)before, (unsigned long long)after);
  } else {
    slog_info("limit on open files is %llu", (unsigned long long)after);
  }
}

/// Says what of the configuration will disappoint.
static void command_warn(const struct lua_config *config)
{
  for (int i = 0; i < config->warning_count; i++) {
    slog_warn("%s", config->warnings[i]);
  }
}

/// Blocks the signals that command_wait() takes. Before any thread exists, so that all inherit it; a signal that comes
/// during the start is taken after it.
static void command_block_signals(sigset_t *signals)
{
  sigemptyset(signals);
  sigaddset(signals, SIGTERM);
  sigaddset(signals, SIGINT);
  sigaddset(signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, signals, NULL);
  signal(SIGPIPE, SIG_IGN);
}

/// Starts the broker, waits for a signal and stops it.
static int command_serve_options(const struct lua_cli_serve *serve, const struct broker_options *options,
                                 const sigset_t *signals)
{
  struct broker *broker = NULL;
  int result = broker_start(options, &broker);
  if (result < 0) {
    // The message for a line of the configuration begins with its place, as others about the configuration do.
    char message[ERROR_MESSAGE_SIZE + 8];
    snprintf(message, sizeof message, "%s%s", result == ERR_TOPIC_BLOCK ? "" : "luka: ", error_last()->message);
    lua_cli_fail(message, serve->is_json);
    return result == ERR_CONFIG || result == ERR_TOPIC_BLOCK ? COMMAND_USAGE : COMMAND_FAILED;
  }
  command_wait(signals, broker);
  result = broker_stop(broker);
  if (result < 0) {
    slog_error("stopped, but not cleanly: %s", error_last()->message);
    return COMMAND_FAILED;
  }
  slog_info("stopped");
  return COMMAND_OK;
}

static int command_serve(const struct lua_cli_serve *serve)
{
  slog_setup(serve->log_level >= 0 ? (enum slog_level)serve->log_level : SLOG_INFO, serve->is_json);
  const char *faults = getenv("LUKA_ERRINJ");
  if (faults != NULL && errinj_parse(faults) < 0) {
    char message[LUA_STATE_TEXT_SIZE];
    snprintf(message, sizeof message, "luka: LUKA_ERRINJ: got '%.100s', expected point=nth:errno, ...", faults);
    lua_cli_fail(message, serve->is_json);
    return COMMAND_USAGE;
  }
  sigset_t signals;
  command_block_signals(&signals);
  struct lua_config config;
  struct lua_config_error error;
  int result = lua_config_load(serve->path, serve->sets, serve->set_count, serve->is_debug, &config, &error);
  if (result < 0) {
    lua_cli_fail(error.message, serve->is_json);
    if (error.trace != NULL) {
      fprintf(stderr, "%s\n", error.trace);
    }
    mem_free(error.trace);
    return COMMAND_USAGE;
  }
  if (serve->log_level < 0 && config.log_level >= 0) {
    slog_setup((enum slog_level)config.log_level, serve->is_json);
  }
  int status = COMMAND_FAILED;
  struct broker_options options;
  if (options_create(&config, &options) < 0) {
    lua_cli_fail(error_last()->message, serve->is_json);
  } else {
    options.is_adopting = serve->is_adopting;
    options.config_file = serve->path;
    options.sets = serve->sets;
    options.set_count = serve->set_count;
    options.has_log_level = serve->log_level >= 0;
    options.ask_stop = command_ask_stop;
    command_announce(serve, &options);
    command_warn(&config);
    status = command_serve_options(serve, &options, &signals);
    options_destroy(&options);
  }
  lua_config_destroy(&config);
  return status;
}
