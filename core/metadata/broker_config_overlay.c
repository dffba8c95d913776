// SPDX-License-Identifier: Apache-2.0
//
// What may be changed of a broker's configuration while it runs, and the snapshot that a change makes. Control thread;
// snapshots are read by all.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "metadata/broker_config.h"
#include "metadata/config_private.h"

/// A config that may be changed at run time.
struct changeable {
  const char *name;                 ///< with dots
  enum broker_config_change change; ///< what that means here
};

/// All that Kafka 4.4 lets change, and what of Luka's own may, sorted by name; every other config is read-only.
static const struct changeable changeables[] = {
    // clang-format off
    {"background.threads", BROKER_CHANGE_UNSUPPORTED},
    {"compression.gzip.level", BROKER_CHANGE_ALLOWED},
    {"compression.lz4.level", BROKER_CHANGE_ALLOWED},
    {"compression.type", BROKER_CHANGE_ALLOWED},
    {"compression.zstd.level", BROKER_CHANGE_ALLOWED},
    {"config.providers", BROKER_CHANGE_UNSUPPORTED},
    {"cordoned.log.dirs", BROKER_CHANGE_OWN_ONLY},
    {"errors.deadletterqueue.auto.create.topics.enable", BROKER_CHANGE_UNSUPPORTED},
    {"errors.deadletterqueue.topic.name.prefix", BROKER_CHANGE_UNSUPPORTED},
    {"follower.fetch.last.tiered.offset.enable", BROKER_CHANGE_UNSUPPORTED},
    {"group.consumer.assignment.interval.ms", BROKER_CHANGE_ALLOWED},
    {"group.coordinator.cached.buffer.max.bytes", BROKER_CHANGE_UNSUPPORTED},
    {"group.share.assignment.interval.ms", BROKER_CHANGE_UNSUPPORTED},
    {"group.streams.assignment.interval.ms", BROKER_CHANGE_UNSUPPORTED},
    {"listener.security.protocol.map", BROKER_CHANGE_OWN_ONLY},
    {"listeners", BROKER_CHANGE_OWN_ONLY},
    {"log.cleaner.backoff.ms", BROKER_CHANGE_ALLOWED},
    {"log.cleaner.dedupe.buffer.size", BROKER_CHANGE_ALLOWED},
    {"log.cleaner.delete.retention.ms", BROKER_CHANGE_ALLOWED},
    {"log.cleaner.io.buffer.load.factor", BROKER_CHANGE_ALLOWED},
    {"log.cleaner.io.buffer.size", BROKER_CHANGE_ALLOWED},
    {"log.cleaner.io.max.bytes.per.second", BROKER_CHANGE_ALLOWED},
    {"log.cleaner.max.compaction.lag.ms", BROKER_CHANGE_ALLOWED},
    {"log.cleaner.min.cleanable.ratio", BROKER_CHANGE_ALLOWED},
    {"log.cleaner.min.compaction.lag.ms", BROKER_CHANGE_ALLOWED},
    {"log.cleaner.threads", BROKER_CHANGE_ALLOWED},
    {"log.cleanup.policy", BROKER_CHANGE_ALLOWED},
    {"log.flush.interval.messages", BROKER_CHANGE_ALLOWED},
    {"log.flush.interval.ms", BROKER_CHANGE_ALLOWED},
    {"log.index.interval.bytes", BROKER_CHANGE_ALLOWED},
    {"log.index.size.max.bytes", BROKER_CHANGE_ALLOWED},
    {"log.local.retention.bytes", BROKER_CHANGE_UNSUPPORTED},
    {"log.local.retention.ms", BROKER_CHANGE_UNSUPPORTED},
    {"log.message.timestamp.after.max.ms", BROKER_CHANGE_ALLOWED},
    {"log.message.timestamp.before.max.ms", BROKER_CHANGE_ALLOWED},
    {"log.message.timestamp.type", BROKER_CHANGE_ALLOWED},
    {"log.preallocate", BROKER_CHANGE_ALLOWED},
    {"log.remote.copy.lag.bytes", BROKER_CHANGE_UNSUPPORTED},
    {"log.remote.copy.lag.ms", BROKER_CHANGE_UNSUPPORTED},
    {"log.retention.bytes", BROKER_CHANGE_ALLOWED},
    {"log.retention.ms", BROKER_CHANGE_ALLOWED},
    {"log.roll.jitter.ms", BROKER_CHANGE_ALLOWED},
    {"log.roll.ms", BROKER_CHANGE_ALLOWED},
    {"log.segment.bytes", BROKER_CHANGE_ALLOWED},
    {"log.segment.delete.delay.ms", BROKER_CHANGE_ALLOWED},
    {"luka.producer.type", BROKER_CHANGE_ALLOWED},
    {"luka.validate", BROKER_CHANGE_ALLOWED},
    {"max.connection.creation.rate", BROKER_CHANGE_UNSUPPORTED},
    {"max.connections", BROKER_CHANGE_ALLOWED},
    {"max.connections.per.ip", BROKER_CHANGE_UNSUPPORTED},
    {"max.connections.per.ip.overrides", BROKER_CHANGE_UNSUPPORTED},
    {"max.decompressed.message.bytes", BROKER_CHANGE_ALLOWED},
    {"message.max.bytes", BROKER_CHANGE_ALLOWED},
    {"metric.reporters", BROKER_CHANGE_UNSUPPORTED},
    {"min.insync.replicas", BROKER_CHANGE_ALLOWED},
    {"num.io.threads", BROKER_CHANGE_UNSUPPORTED},
    {"num.network.threads", BROKER_CHANGE_UNSUPPORTED},
    {"num.recovery.threads.per.data.dir", BROKER_CHANGE_ALLOWED},
    {"num.replica.fetchers", BROKER_CHANGE_UNSUPPORTED},
    {"principal.builder.class", BROKER_CHANGE_OWN_ONLY},
    {"producer.id.expiration.ms", BROKER_CHANGE_ALLOWED},
    {"remote.fetch.max.wait.ms", BROKER_CHANGE_UNSUPPORTED},
    {"remote.list.offsets.request.timeout.ms", BROKER_CHANGE_UNSUPPORTED},
    {"remote.log.index.file.cache.total.size.bytes", BROKER_CHANGE_UNSUPPORTED},
    {"remote.log.manager.copier.thread.pool.size", BROKER_CHANGE_UNSUPPORTED},
    {"remote.log.manager.copy.max.bytes.per.second", BROKER_CHANGE_UNSUPPORTED},
    {"remote.log.manager.expiration.thread.pool.size", BROKER_CHANGE_UNSUPPORTED},
    {"remote.log.manager.fetch.max.bytes.per.second", BROKER_CHANGE_UNSUPPORTED},
    {"remote.log.manager.follower.thread.pool.size", BROKER_CHANGE_UNSUPPORTED},
    {"remote.log.reader.threads", BROKER_CHANGE_UNSUPPORTED},
    {"sasl.enabled.mechanisms", BROKER_CHANGE_OWN_ONLY},
    {"sasl.jaas.config", BROKER_CHANGE_OWN_ONLY},
    {"sasl.kerberos.kinit.cmd", BROKER_CHANGE_OWN_ONLY},
    {"sasl.kerberos.min.time.before.relogin", BROKER_CHANGE_OWN},
    {"sasl.kerberos.principal.to.local.rules", BROKER_CHANGE_OWN_ONLY},
    {"sasl.kerberos.service.name", BROKER_CHANGE_OWN_ONLY},
    {"sasl.kerberos.ticket.renew.jitter", BROKER_CHANGE_OWN},
    {"sasl.kerberos.ticket.renew.window.factor", BROKER_CHANGE_OWN},
    {"sasl.login.refresh.buffer.seconds", BROKER_CHANGE_OWN_ONLY},
    {"sasl.login.refresh.min.period.seconds", BROKER_CHANGE_OWN_ONLY},
    {"sasl.login.refresh.window.factor", BROKER_CHANGE_OWN_ONLY},
    {"sasl.login.refresh.window.jitter", BROKER_CHANGE_OWN_ONLY},
    {"sasl.mechanism.inter.broker.protocol", BROKER_CHANGE_OWN_ONLY},
    {"share.coordinator.cached.buffer.max.bytes", BROKER_CHANGE_UNSUPPORTED},
    {"ssl.cipher.suites", BROKER_CHANGE_OWN_ONLY},
    {"ssl.client.auth", BROKER_CHANGE_OWN_ONLY},
    {"ssl.enabled.protocols", BROKER_CHANGE_OWN_ONLY},
    {"ssl.endpoint.identification.algorithm", BROKER_CHANGE_OWN_ONLY},
    {"ssl.engine.factory.class", BROKER_CHANGE_OWN_ONLY},
    {"ssl.key.password", BROKER_CHANGE_OWN_ONLY},
    {"ssl.keymanager.algorithm", BROKER_CHANGE_OWN_ONLY},
    {"ssl.keystore.certificate.chain", BROKER_CHANGE_OWN_ONLY},
    {"ssl.keystore.key", BROKER_CHANGE_OWN_ONLY},
    {"ssl.keystore.location", BROKER_CHANGE_OWN_ONLY},
    {"ssl.keystore.password", BROKER_CHANGE_OWN_ONLY},
    {"ssl.keystore.type", BROKER_CHANGE_OWN_ONLY},
    {"ssl.protocol", BROKER_CHANGE_OWN_ONLY},
    {"ssl.provider", BROKER_CHANGE_OWN_ONLY},
    {"ssl.secure.random.implementation", BROKER_CHANGE_OWN_ONLY},
    {"ssl.trustmanager.algorithm", BROKER_CHANGE_OWN_ONLY},
    {"ssl.truststore.certificates", BROKER_CHANGE_OWN_ONLY},
    {"ssl.truststore.location", BROKER_CHANGE_OWN_ONLY},
    {"ssl.truststore.password", BROKER_CHANGE_OWN_ONLY},
    {"ssl.truststore.type", BROKER_CHANGE_OWN_ONLY},
    {"transaction.partition.verification.enable", BROKER_CHANGE_UNSUPPORTED},
    {"unclean.leader.election.enable", BROKER_CHANGE_ALLOWED},
    // clang-format on
};

/// Configs that give the same value in other units, the one that wins first.
static const struct {
  int count;                                                    ///< of `indexes`
  enum broker_config_index indexes[BROKER_CONFIG_SYNONYMS_MAX]; ///< the group
} synonym_groups[] = {
    {3, {BROKER_CONFIG_log_retention_ms, BROKER_CONFIG_log_retention_minutes, BROKER_CONFIG_log_retention_hours}},
    {2, {BROKER_CONFIG_log_roll_ms, BROKER_CONFIG_log_roll_hours}},
    {2, {BROKER_CONFIG_log_roll_jitter_ms, BROKER_CONFIG_log_roll_jitter_hours}},
    {2, {BROKER_CONFIG_log_flush_interval_ms, BROKER_CONFIG_log_flush_scheduler_interval_ms}},
};

static int compare_changeables(const void *left, const void *right)
{
  return strcmp(((const struct changeable *)left)->name, ((const struct changeable *)right)->name);
}

static int compare_names(const void *name, const void *item)
{
  return strcmp(name, *(const char *const *)item);
}

/// Whether a list of structs that begin with their names, sorted by them, has a name.
static bool has_name(const void *list, size_t count, size_t size, const char *name)
{
  return bsearch(name, list, count, size, compare_names) != NULL;
}

enum broker_config_change broker_config_change_of(const char *name)
{
  struct changeable key = {.name = name};
  size_t count = sizeof changeables / sizeof *changeables;
  const struct changeable *found = bsearch(&key, changeables, count, sizeof *changeables, compare_changeables);
  if (found) {
    return found->change;
  }
  // A request may name very many that are neither, hence no walk through the lists.
  int foreign_count = 0;
  const struct config_foreign *foreign = broker_config_foreign(&foreign_count);
  if (has_name(broker_config_defs(), BROKER_CONFIG_COUNT, sizeof(struct config_def), name) ||
      has_name(foreign, (size_t)foreign_count, sizeof *foreign, name)) {
    return BROKER_CHANGE_READ_ONLY;
  }
  return BROKER_CHANGE_UNKNOWN;
}

bool broker_config_is_changeable(const char *name)
{
  enum broker_config_change change = broker_config_change_of(name);
  return change == BROKER_CHANGE_ALLOWED || change == BROKER_CHANGE_OWN;
}

int broker_config_synonyms(enum broker_config_index index, enum broker_config_index *synonyms)
{
  for (size_t i = 0; i < sizeof synonym_groups / sizeof *synonym_groups; i++) {
    for (int j = 0; j < synonym_groups[i].count; j++) {
      if (synonym_groups[i].indexes[j] == index) {
        memcpy(synonyms, synonym_groups[i].indexes, sizeof synonym_groups[i].indexes);
        return synonym_groups[i].count;
      }
    }
  }
  synonyms[0] = index;
  return 1;
}

// ---- snapshots ----

static void lay(struct broker_config *config, enum broker_config_layer layer, const struct config_entry *entries,
                int count)
{
  for (int i = 0; i < count; i++) {
    int index = config_find(broker_config_defs(), BROKER_CONFIG_COUNT, entries[i].name);
    CHECK(index >= 0 && !config->layers[layer][index]);
    config->layers[layer][index] = mem_strdup(entries[i].value);
  }
}

/// What Kafka requires of the texts in effect beyond each config's own range, with its sentences.
static int check_times(const struct broker_config *config, char *message)
{
  const char *why = NULL;
  if (config->text[BROKER_CONFIG_log_roll_ms] && config->log_roll_ms < 1) {
    why = "log.roll.ms must be greater than or equal to 1";
  } else if (config->text[BROKER_CONFIG_log_roll_jitter_ms] && config->log_roll_jitter_ms < 0) {
    why = "log.roll.jitter.ms must be greater than or equal to 0";
  } else if (config->text[BROKER_CONFIG_log_retention_ms] && config->log_retention_ms == 0) {
    why = "log.retention.ms must be unlimited (-1) or, greater than or equal to 1";
  }
  if (!why) {
    return 0;
  }
  snprintf(message, CONFIG_MESSAGE_SIZE, "requirement failed: %s", why);
  return ERR_CONFIG;
}

/// Reads the texts in effect.
static int read_texts(struct broker_config *config, char *message)
{
  const struct config_def *defs = broker_config_defs();
  for (int i = 0; i < BROKER_CONFIG_COUNT; i++) {
    for (int layer = BROKER_LAYER_COUNT - 1; layer >= 0; layer--) {
      config->text[i] = config->layers[layer][i] ? config->layers[layer][i] : config->text[i];
    }
    if (config->text[i]) {
      TRY(config_set(&defs[i], config->text[i], config, message));
    }
  }
  TRY(check_times(config, message));
  if (broker_config_resolve(config) < 0) {
    snprintf(message, CONFIG_MESSAGE_SIZE, "%s", error_last()->message);
    return ERR_CONFIG;
  }
  return 0;
}

int broker_config_overlay(const struct broker_config *base, const struct config_entry *cluster, int cluster_count,
                          const struct config_entry *own, int own_count, struct broker_config **made, char *message)
{
  struct broker_config *config = mem_zalloc(sizeof *config);
  broker_config_create(config);
  atomic_init(&config->refs, 1);
  for (int i = 0; i < BROKER_CONFIG_COUNT; i++) {
    const char *text = base->layers[BROKER_LAYER_STATIC][i];
    config->layers[BROKER_LAYER_STATIC][i] = text ? mem_strdup(text) : NULL;
  }
  lay(config, BROKER_LAYER_CLUSTER, cluster, cluster_count);
  lay(config, BROKER_LAYER_OWN, own, own_count);
  if (read_texts(config, message) < 0) {
    broker_config_unref(config);
    return ERR_CONFIG;
  }
  *made = config;
  return 0;
}

void broker_config_merge(const struct broker_config *running, const struct broker_config *wanted,
                         struct broker_config *made)
{
  broker_config_create(made);
  for (int i = 0; i < BROKER_CONFIG_COUNT; i++) {
    const struct broker_config *from = broker_config_is_reloadable((enum broker_config_index)i) ? wanted : running;
    const char *text = from->layers[BROKER_LAYER_STATIC][i];
    made->layers[BROKER_LAYER_STATIC][i] = text ? mem_strdup(text) : NULL;
  }
}

int broker_config_layer_entries(const struct broker_config *config, enum broker_config_layer layer,
                                struct config_entry *entries)
{
  int count = 0;
  for (int i = 0; i < BROKER_CONFIG_COUNT; i++) {
    if (config->layers[layer][i]) {
      entries[count++] = (struct config_entry){broker_config_defs()[i].name, config->layers[layer][i]};
    }
  }
  return count;
}

void broker_config_ref(const struct broker_config *config)
{
  atomic_fetch_add_explicit(&((struct broker_config *)config)->refs, 1, memory_order_relaxed);
}

void broker_config_unref(const struct broker_config *config)
{
  struct broker_config *mine = (struct broker_config *)config;
  if (atomic_fetch_sub_explicit(&mine->refs, 1, memory_order_acq_rel) == 1) {
    broker_config_destroy(mine);
    mem_free(mine);
  }
}
