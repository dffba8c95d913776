// SPDX-License-Identifier: Apache-2.0
//
// What has happened, for hooks that are told (policy/hooks.h): the callbacks of the layers below, which know nothing of
// hooks. Each is one relaxed load where nobody wants to know.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/mail.h"

struct coordinator_options;
struct event_loop;
struct hooks;
struct log_manager_hooks;
struct metadata_cache;
struct metadata_image;

/// Embed it.
struct events {
  struct hooks *hooks;                ///< borrowed
  const struct metadata_image *image; ///< what was told of last; one reference, NULL: nothing yet. Control thread
  bool is_serving;                    ///< the broker serves: changes are told. Control thread
  struct mail mail;                   ///< carries events_serve() to the control loop
  struct event_loop *control;         ///< the control loop
  struct metadata_cache *metadata;    ///< where images are
};

/// Adds those of the log manager: log.roll, log.delete, disk.fail.
void events_of_logs(struct events *events, struct log_manager_hooks *hooks);

/// Adds those of groups: group.rebalance, group.empty.
void events_of_groups(struct events *events, struct coordinator_options *options);

/// An image was published: leader.change, isr.change, broker.up, broker.down. Control thread.
void events_published(struct events *events, const struct metadata_image *image);

/// The broker serves: what there is now is told as having come. Any thread, once.
void events_serve(struct events *events);

/// A reload has ended. Control thread.
void events_reloaded(struct events *events, const char *config_file);

/// When the control loop has ended.
void events_destroy(struct events *events);
