// SPDX-License-Identifier: Apache-2.0
#include "broker/command.h"

#include <luajit.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "broker/broker.h"
#include "broker/options.h"
#include "lua/config.h"
#include "metadata/config.h"
#include "os/clock.h"
#include "os/errinj.h"
#include "os/limits.h"

enum { COMMAND_LINE_SIZE = LUA_STATE_TEXT_SIZE };

/// What the command line asks for; texts are borrowed from argv.
struct command {
  const struct verb *verb;      ///< what to do
  const char *argument;         ///< the file, or the verb to help with; NULL: none
  struct config_override *sets; ///< --set, owned
  int set_count;                ///< how many
  int log_level;                ///< enum slog_level; -1: not given
  bool is_json;                 ///< --log-format json
  bool is_adopting;             ///< --adopt
  bool is_debug;                ///< --debug
  bool is_help;                 ///< --help
};

struct verb {
  const char *name;                   ///< as typed
  int (*run)(const struct command *); ///< does it; NULL: not supported yet
  const char *summary;                ///< for the list of verbs
  const char *help;                   ///< for `luka help VERB`
};

static int command_parse(int argc, char **argv, struct command *command);
static int command_serve(const struct command *command);
static int command_version(const struct command *command);
static int command_help(const struct command *command);

static const char serve_help[] =
    "usage: luka [serve] [CONFIG.LUA] [options]\n"
    "\n"
    "Starts a broker in the foreground. Without a file all is default: it is broker 1, listens on 127.0.0.1:9092 and\n"
    "keeps its data in ./luka-data. The log goes to standard error, one line an event.\n"
    "\n"
    "  --set KEY=VALUE      set a key of broker { ... }, or any Kafka broker config that is served here, in\n"
    "                       snake_case; wins over the file. Repeat it for lists: --set data=/a --set data=/b\n"
    "  --adopt              take up partitions in the data directories that the metadata does not know, Apache\n"
    "                       Kafka's above all. Without it that happens only where there is no metadata yet\n"
    "  --log-level LEVEL    error, warn, info or debug; wins over log_level of the file\n"
    "  --log-format FORMAT  text or json\n"
    "  --debug              print a traceback with errors of the configuration\n"
    "\n"
    "SIGTERM and SIGINT stop it cleanly; another one, more than a second later, at once. SIGHUP: reload is not\n"
    "supported yet.\n"
    "Exit status: 0 stopped cleanly, 1 could not start or stop, 2 wrong command line or configuration.\n";

static const struct verb verbs[] = {
    {"serve", command_serve, "start a broker in the foreground (the default)", serve_help},
    {"version", command_version, "print the version",
     "usage: luka version\n\nPrints the version of Luka and of LuaJIT.\n"},
    {"help", command_help, "print this, or the help of a verb",
     "usage: luka help [VERB]\n\nPrints what luka can do.\n"},
    {"check", NULL, NULL, NULL},
    {"console", NULL, NULL, NULL},
    {"reload", NULL, NULL, NULL},
    {"dump", NULL, NULL, NULL},
    {"produce", NULL, NULL, NULL},
    {"consume", NULL, NULL, NULL},
};
enum { VERB_COUNT = sizeof verbs / sizeof verbs[0] };

int command_run(int argc, char **argv)
{
  struct command command = {.verb = &verbs[0], .log_level = -1};
  command.sets = mem_array((size_t)argc + 1, sizeof *command.sets);
  int status = command_parse(argc, argv, &command);
  if (status == COMMAND_OK && command.is_help) {
    command.argument = command.verb == &verbs[0] && argc == 2 ? NULL : command.verb->name;
    status = command_help(&command);
  } else if (status == COMMAND_OK) {
    status = command.verb->run(&command);
  }
  for (int i = 0; i < command.set_count; i++) {
    mem_free((char *)command.sets[i].key);
  }
  mem_free(command.sets);
  return status;
}

// ---- the command line ----

/// Prints one line, whatever the text is made of.
static void command_print_line(char *text)
{
  for (char *at = text; *at != '\0'; at++) {
    if ((unsigned char)*at < 0x20 || *at == 0x7f) {
      *at = '?';
    }
  }
  fprintf(stderr, "%s\n", text);
}

/// Prints a line for a wrong command line; returns COMMAND_USAGE.
static int __attribute__((format(printf, 1, 2))) command_refuse(const char *format, ...)
{
  char line[COMMAND_LINE_SIZE] = "luka: ";
  size_t start = strlen(line);
  va_list args;
  va_start(args, format);
  vsnprintf(line + start, sizeof line - start, format, args);
  va_end(args);
  command_print_line(line);
  return COMMAND_USAGE;
}

static const struct verb *command_find_verb(const char *name)
{
  for (int i = 0; i < VERB_COUNT; i++) {
    if (strcmp(verbs[i].name, name) == 0) {
      return &verbs[i];
    }
  }
  return NULL;
}

/// @param besides  what else it might have been
static int command_refuse_verb(const char *name, const char *besides)
{
  const char *names[VERB_COUNT];
  for (int i = 0; i < VERB_COUNT; i++) {
    names[i] = verbs[i].name;
  }
  const char *nearest = config_nearest(name, names, VERB_COUNT);
  if (nearest != NULL) {
    return command_refuse("there is no verb '%.100s'%s, did you mean %s?", name, besides, nearest);
  }
  return command_refuse("there is no verb '%.100s'%s; `luka help` lists them", name, besides);
}

/// Takes an argument that is no option: the verb, then its argument.
static int command_take_word(struct command *command, const char *word, bool is_first)
{
  if (is_first) {
    const struct verb *verb = command_find_verb(word);
    if (verb != NULL && verb->run == NULL) {
      return command_refuse("%s is not supported yet", word);
    }
    if (verb != NULL) {
      command->verb = verb;
      return COMMAND_OK;
    }
    size_t length = strlen(word);
    bool is_file = strchr(word, '/') != NULL || (length > 4 && strcmp(word + length - 4, ".lua") == 0);
    if (!is_file && access(word, F_OK) != 0) {
      return command_refuse_verb(word, " and no such file");
    }
  }
  if (command->argument != NULL || command->verb->run == command_version) {
    return command_refuse("%s: unexpected argument '%.100s'", command->verb->name, word);
  }
  command->argument = word;
  return COMMAND_OK;
}

static int command_take_level(struct command *command, const char *value)
{
  static const char *const levels[] = {"error", "warn", "info", "debug"};
  for (int i = 0; i < 4; i++) {
    if (strcmp(value, levels[i]) == 0) {
      command->log_level = i;
      return COMMAND_OK;
    }
  }
  return command_refuse("--log-level: got '%.100s', expected error, warn, info or debug", value);
}

static int command_take_format(struct command *command, const char *value)
{
  command->is_json = strcmp(value, "json") == 0;
  if (!command->is_json && strcmp(value, "text") != 0) {
    return command_refuse("--log-format: got '%.100s', expected text or json", value);
  }
  return COMMAND_OK;
}

/// Takes "key=value", which is cut in two; in a copy, since `ps` shows the arguments.
static int command_take_set(struct command *command, const char *value)
{
  const char *equals = strchr(value, '=');
  if (equals == NULL || equals == value) {
    return command_refuse("--set: got '%.100s', expected key=value", value);
  }
  char *key = mem_strdup(value);
  key[equals - value] = '\0';
  command->sets[command->set_count++] = (struct config_override){.key = key, .value = equals + 1};
  return COMMAND_OK;
}

/// Takes an option with its value, given behind '=' or as the next argument. `*index` moves to the last one used.
static int command_take_option(struct command *command, int argc, char **argv, int *index)
{
  static const char *const names[] = {"--set",   "--log-level", "--log-format", "--debug",
                                      "--adopt", "--help",      "--version"};
  enum { SET, LEVEL, FORMAT, DEBUG, ADOPT, HELP, VERSION, COUNT };
  char *option = argv[*index];
  size_t length = strcspn(option, "=");
  int which = 0;
  while (which < COUNT && (strlen(names[which]) != length || strncmp(option, names[which], length) != 0)) {
    which++;
  }
  if (strcmp(option, "-h") == 0) {
    which = HELP;
  }
  if (which == COUNT) {
    char *name = mem_printf("%.*s", (int)(length < 100 ? length : 100), option);
    const char *nearest = config_nearest(name, names, COUNT);
    int status = nearest != NULL ? command_refuse("there is no option %s, did you mean %s?", name, nearest)
                                 : command_refuse("there is no option %s; `luka help serve` lists them", name);
    mem_free(name);
    return status;
  }
  char *value = option[length] == '=' ? option + length + 1 : NULL;
  if (which >= DEBUG) {
    if (value != NULL) {
      return command_refuse("%s takes no value", names[which]);
    }
    command->is_debug = command->is_debug || which == DEBUG;
    command->is_adopting = command->is_adopting || which == ADOPT;
    command->is_help = command->is_help || which == HELP;
    command->verb = which == VERSION ? command_find_verb("version") : command->verb;
    return COMMAND_OK;
  }
  if (value == NULL && *index + 1 < argc) {
    *index += 1;
    value = argv[*index];
  }
  if (value == NULL) {
    return command_refuse("%s needs a value", names[which]);
  }
  return which == SET     ? command_take_set(command, value)
         : which == LEVEL ? command_take_level(command, value)
                          : command_take_format(command, value);
}

static int command_parse(int argc, char **argv, struct command *command)
{
  bool is_first = true;
  bool has_options = true;
  for (int i = 1; i < argc; i++) {
    int status = COMMAND_OK;
    if (has_options && strcmp(argv[i], "--") == 0) {
      has_options = false;
    } else if (has_options && argv[i][0] == '-' && argv[i][1] != '\0') {
      status = command_take_option(command, argc, argv, &i);
    } else {
      status = command_take_word(command, argv[i], is_first);
      is_first = false;
    }
    if (status != COMMAND_OK) {
      return status;
    }
  }
  return COMMAND_OK;
}

// ---- help and version ----

/// Flushes standard output: a full disk behind it is a failure too.
static int command_finish_output(void)
{
  return fflush(stdout) == 0 && !ferror(stdout) ? COMMAND_OK : COMMAND_FAILED;
}

static int command_help(const struct command *command)
{
  if (command->argument != NULL) {
    const struct verb *verb = command_find_verb(command->argument);
    if (verb == NULL) {
      return command_refuse_verb(command->argument, "");
    }
    if (verb->run == NULL) {
      return command_refuse("%s is not supported yet", verb->name);
    }
    fputs(verb->help, stdout);
    return command_finish_output();
  }
  fputs(
      "usage: luka [serve] [CONFIG.LUA] [--set KEY=VALUE ...]\n"
      "       luka version | help [VERB]\n"
      "\n"
      "A message broker that speaks Apache Kafka's protocol, keeps its on-disk format and is configured in Lua.\n"
      "\n",
      stdout);
  for (int i = 0; i < VERB_COUNT; i++) {
    if (verbs[i].run != NULL) {
      printf("  %-8s  %s\n", verbs[i].name, verbs[i].summary);
    }
  }
  fputs("\nTo come, and refused until then:", stdout);
  for (int i = 0; i < VERB_COUNT; i++) {
    if (verbs[i].run == NULL) {
      printf(" %s", verbs[i].name);
    }
  }
  fputs("\n", stdout);
  return command_finish_output();
}

static int command_version(const struct command *command)
{
  (void)command;
  // lua_state_new() works with GC64 builds only, so that need not be found out.
  printf("luka %s (%s, GC64)\n", LUKA_VERSION, LUAJIT_VERSION);
  return command_finish_output();
}

// ---- serve ----

/// Prints the one line that says why the broker is not running: for machines as a line of the log.
static void command_fail(const struct command *command, const char *message)
{
  if (command->is_json) {
    slog_error("%s", message);
  } else {
    char line[COMMAND_LINE_SIZE];
    snprintf(line, sizeof line, "%s", message);
    command_print_line(line);
  }
}

/// SIGPROF or SIGALRM while the configuration is evaluated: it is stuck in a library function, which nothing in Lua can
/// stop, or its file is a pipe that nobody writes to.
static void command_watchdog(int number)
{
  (void)number;
  static const char stuck[] = ": evaluation took too long inside a library function (a pattern that never ends?)\n";
  static const char unread[] = "the configuration took too long to read\n";
  const struct lua_state_position *position = lua_config_position();
  char line[LUA_STATE_TEXT_SIZE + sizeof stuck + 16];
  size_t length = 0;
  if (position != NULL && position->line > 0) {
    length = strnlen(position->source, sizeof position->source);
    memcpy(line, position->source, length);
    char digits[12];
    size_t count = 0;
    for (int rest = position->line; rest > 0; rest /= 10) {
      digits[count++] = (char)('0' + rest % 10);
    }
    line[length++] = ':';
    while (count > 0) {
      line[length++] = digits[--count];
    }
    memcpy(line + length, stuck, sizeof stuck - 1);
    length += sizeof stuck - 1;
  } else {
    length = sizeof unread - 1;
    memcpy(line, unread, length);
  }
  ssize_t ignored = write(STDERR_FILENO, line, length);
  (void)ignored;
  _exit(COMMAND_USAGE);
}

/// Evaluates the configuration, with a watchdog.
static int command_load(const struct command *command, struct lua_config *config)
{
  enum { READ_LIMIT_S = 5 }; // for reading, which takes no processor time
  struct sigaction watchdog = {.sa_handler = command_watchdog};
  struct sigaction before_prof;
  struct sigaction before_alarm;
  // A quarter of a second of processor time after Lua's own limit.
  int limit_ms = LUA_CONFIG_BUDGET_MS + 250;
  struct itimerval timer = {.it_value = {.tv_sec = limit_ms / 1000, .tv_usec = (limit_ms % 1000) * 1000L}};
  struct itimerval read_timer = {.it_value = {.tv_sec = READ_LIMIT_S}};
  struct itimerval off = {.it_value = {0}};
  sigaction(SIGPROF, &watchdog, &before_prof);
  sigaction(SIGALRM, &watchdog, &before_alarm);
  setitimer(ITIMER_PROF, &timer, NULL);
  setitimer(ITIMER_REAL, &read_timer, NULL);
  struct lua_config_error error;
  int result = lua_config_load(command->argument, command->sets, command->set_count, command->is_debug, config, &error);
  setitimer(ITIMER_PROF, &off, NULL);
  setitimer(ITIMER_REAL, &off, NULL);
  sigaction(SIGPROF, &before_prof, NULL);
  sigaction(SIGALRM, &before_alarm, NULL);
  if (result < 0) {
    command_fail(command, error.message);
    if (error.trace != NULL) {
      fprintf(stderr, "%s\n", error.trace);
    }
    mem_free(error.trace);
  }
  return result;
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

/// Waits until the broker is asked to stop. The signals are blocked in all threads.
static void command_wait(const sigset_t *signals)
{
  for (;;) {
    int number = 0;
    if (sigwait(signals, &number) != 0) {
      continue;
    }
    if (number == SIGHUP) {
      slog_warn("SIGHUP: reload is not supported yet; restart the broker to apply a new configuration");
      continue;
    }
    command_asked_ms = clock_mono_ms();
    slog_info("stopping: %s", number == SIGTERM ? "SIGTERM" : "SIGINT");
    struct sigaction at_once = {.sa_handler = command_stop_at_once, .sa_flags = SA_RESTART};
    sigaction(SIGTERM, &at_once, NULL);
    sigaction(SIGINT, &at_once, NULL);
    pthread_sigmask(SIG_UNBLOCK, signals, NULL);
    return;
  }
}

/// Says what this is, and where its configuration and its data are.
static void command_announce(const struct command *command, const struct broker_options *options)
{
  slog_info("luka %s with %s (GC64)", LUKA_VERSION, LUAJIT_VERSION);
  char *file = NULL;
  const char *sets = command->set_count > 0 ? " and --set" : "";
  if (command->argument == NULL) {
    slog_info("no configuration file%s", command->set_count > 0 ? ", but --set" : ": all is default");
  } else if (options_real_path(command->argument, &file) == 0) {
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
static int command_serve_options(const struct command *command, const struct broker_options *options,
                                 const sigset_t *signals)
{
  struct broker *broker = NULL;
  int result = broker_start(options, &broker);
  if (result < 0) {
    // The message for a line of the configuration begins with its place, as others about the configuration do.
    char message[ERROR_MESSAGE_SIZE + 8];
    snprintf(message, sizeof message, "%s%s", result == ERR_TOPIC_BLOCK ? "" : "luka: ", error_last()->message);
    command_fail(command, message);
    return result == ERR_CONFIG || result == ERR_TOPIC_BLOCK ? COMMAND_USAGE : COMMAND_FAILED;
  }
  command_wait(signals);
  result = broker_stop(broker);
  if (result < 0) {
    slog_error("stopped, but not cleanly: %s", error_last()->message);
    return COMMAND_FAILED;
  }
  slog_info("stopped");
  return COMMAND_OK;
}

static int command_serve(const struct command *command)
{
  slog_setup(command->log_level >= 0 ? (enum slog_level)command->log_level : SLOG_INFO, command->is_json);
  const char *faults = getenv("LUKA_ERRINJ");
  if (faults != NULL && errinj_parse(faults) < 0) {
    return command_refuse("LUKA_ERRINJ: got '%.100s', expected point=nth:errno, ...", faults);
  }
  sigset_t signals;
  command_block_signals(&signals);
  struct lua_config config;
  if (command_load(command, &config) < 0) {
    return COMMAND_USAGE;
  }
  if (command->log_level < 0 && config.log_level >= 0) {
    slog_setup((enum slog_level)config.log_level, command->is_json);
  }
  int status = COMMAND_FAILED;
  struct broker_options options;
  if (options_create(&config, &options) < 0) {
    command_fail(command, error_last()->message);
  } else {
    options.is_adopting = command->is_adopting;
    command_announce(command, &options);
    status = command_serve_options(command, &options, &signals);
    options_destroy(&options);
  }
  lua_config_destroy(&config);
  return status;
}
