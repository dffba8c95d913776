// SPDX-License-Identifier: Apache-2.0
#include "policy_broker.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "broker/broker.h"
#include "broker/options.h"
#include "policy/policy.h"
#include "policy_probe.h"

enum { POLICY_BROKER_SETS = 32 };

/// SIGUSR1 has endless calls return.
static void policy_broker_wait(const sigset_t *signals)
{
  int number = 0;
  while (sigwait(signals, &number) != 0 || number == SIGUSR1) {
    if (number == SIGUSR1) {
      probe_release();
      slog_info("released");
    }
  }
}

int policy_broker_serve(const char *const *sets, int count)
{
  struct config_override overrides[POLICY_BROKER_SETS];
  char *copies[POLICY_BROKER_SETS];
  for (int i = 0; i < count && i < POLICY_BROKER_SETS; i++) {
    copies[i] = mem_strdup(sets[i]);
    char *sign = strchr(copies[i], '=');
    *sign = '\0';
    overrides[i] = (struct config_override){.key = copies[i], .value = sign + 1};
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
  signal(SIGPIPE, SIG_IGN);
  struct lua_config config;
  struct lua_config_error error;
  if (lua_config_load(NULL, overrides, count, false, &config, &error) < 0) {
    fprintf(stderr, "%s\n", error.message);
    return 2;
  }
  config.policies = probe_set_new(1, false);
  struct broker_options options;
  struct broker *broker = NULL;
  int status = 1;
  if (options_create(&config, &options) == 0) {
    if (broker_start(&options, &broker) < 0) {
      fprintf(stderr, "%s\n", error_last()->message);
    } else {
      policy_broker_wait(&signals);
      status = broker_stop(broker) < 0 ? 1 : 0;
    }
    options_destroy(&options);
  }
  lua_config_destroy(&config);
  for (int i = 0; i < count && i < POLICY_BROKER_SETS; i++) {
    mem_free(copies[i]);
  }
  return status;
}
