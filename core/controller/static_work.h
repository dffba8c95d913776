// SPDX-License-Identifier: Apache-2.0
//
// Applying the topic blocks of a configuration, at the start (load_static.c) and at a reload (reload.c): asks for what
// was last applied, has static_topics.c decide on each block, and adds what has to be written. What is to be opened,
// configured and published differs, and is the caller's. Control thread.
#pragma once

#include "controller/controller.h"
#include "controller/static_topics.h"

struct metadata_draft;
struct metastore_op;

/// The blocks under way. Zero-initialised is no block.
struct static_work {
  const struct static_topic *blocks; ///< in the order of the configuration, borrowed
  int32_t block_count;               ///< how many
  struct static_topic_plan *plans;   ///< one for each block, in the arena
  int32_t plan_count;                ///< how many are decided
  int32_t applied_count;             ///< blocks that are applied now
};

/// Asks for what the blocks need.
void static_work_ask(const struct static_work *work, struct writes *reads);

/// Takes the answers to that, decides on every block, and adds what has to be written: a fence and the blocks' steps,
/// or nothing when no block has changed.
///
/// @param context    decisions are made against its image and its configuration
/// @param is_strict  refuse a block that asks for what it does not get, instead of a warning
/// @param ops        the answers, borrowed
/// @param writes     empty; its arena has what the plans point to
/// @return 0, ERR_CORRUPT, ERR_TOPIC_BLOCK (the sentence begins with the block's place); plans of earlier blocks stay
int static_work_take(struct static_work *work, const struct topic_plan_context *context,
                     const struct controller *controller, bool is_strict, const struct metastore_op *ops,
                     struct writes *writes);

/// All is written: says of a block's topic what its plan did.
void static_work_report(const struct static_work *work);

/// Puts the topics that are new or changed into an image.
void static_work_put(const struct static_work *work, struct metadata_draft *draft);

/// Frees the plans.
void static_work_destroy(struct static_work *work);
