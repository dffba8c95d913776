// SPDX-License-Identifier: Apache-2.0
//
// Reloading the configuration of a broker that runs: all of it is put in force or, with an error, nothing.
//
//   any thread --mail--> control: one at a time
//     -> pool: config.lua is evaluated again, with the same --set; limits of addresses are read
//     -> control: the controller decides on topic blocks and broker configs, writes them in one step, has replicas
//        opened and configured, publishes the image (controller/reload.c)
//     -> control: the rest, which cannot fail; the report is logged, and mailed to who asked
//
// What is read at the start only stays as it was, and is reported. Of the configurations read so far two live: the one
// that the broker was started with, as long as the broker, since much of it is borrowed; and the last one that was put
// in force, to compare the next one with.
#pragma once

#include <stdbool.h>

#include "base/list.h"
#include "broker/reload_report.h"
#include "event/mail.h"

struct broker_options;
struct controller;
struct event_loop;
struct events;
struct log_manager;
struct policies;
struct pool;
struct reloader;
struct script;
struct server;

/// A request to reload. Embed it, or allocate it; the reloader's until `done` is called.
struct reload_request {
  struct mail mail;                             ///< private
  struct list node;                             ///< private: in the line
  struct reloader *reloader;                    ///< private
  bool is_optional;                             ///< not done when another such request waits: one will read the file
  struct event_loop *reply;                     ///< loop that `done` runs on; NULL: the control loop
  void (*done)(struct reload_request *request); ///< called once
  void *arg;                                    ///< the caller's
  struct reload_report report;                  ///< out, owned by the caller: reload_report_destroy()
};

/// Everything is borrowed for the reloader's life.
struct reloader_settings {
  const struct broker_options *options; ///< what the broker was started with, and where that was read
  struct event_loop *control;           ///< the control loop
  struct pool *pool;                    ///< evaluates
  struct controller *controller;        ///< of topics and configs
  struct log_manager *logs;             ///< whose reserve may change
  struct policies *policies;            ///< functions
  struct events *events;                ///< hooks are told of a reload
  struct server *server;                ///< whose limits may change
};

/// Owned: reloader_delete().
struct reloader *reloader_new(const struct reloader_settings *settings);

/// Begins to work on requests: those that came before have waited. Any thread, once.
///
/// @param script  whose limits may change; borrowed until reloader_stop(). NULL: there is none
void reloader_start(struct reloader *reloader, struct script *script);

/// Reloads; several wait for each other. Any thread until the control loop ends; never blocks.
void reloader_submit(struct reloader *reloader, struct reload_request *request);

/// The same for SIGHUP: nobody waits for it, and what it did is in the log.
void reloader_signal(struct reloader *reloader);

/// Refuses what waits and what still comes, and waits for what is under way. While the control loop, the pool, and the
/// loops that wait for an answer run; any other thread, once.
void reloader_stop(struct reloader *reloader);

/// Once the control loop and the pool have ended. NULL is fine.
void reloader_delete(struct reloader *reloader);
