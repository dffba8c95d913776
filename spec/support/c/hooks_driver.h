// SPDX-License-Identifier: Apache-2.0
//
// Drives policy/hooks.h for its specs, with a loop that asks. The spec is the script thread: it takes and answers by
// FFI, which cannot be called back on the loop, so what happens there is C, and specs look at the figures.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policy/hooks.h"

struct hooks_driver;

enum { HOOKS_DRIVER_ASKS = 8192 }; ///< asks of a driver's life, at most

/// What became of one ask. Read it after hooks_driver_settle().
struct hooks_driver_ask {
  int32_t done;                ///< how often `done` was called
  int32_t result;              ///< then
  bool is_misplaced;           ///< it was called elsewhere than on the loop that asked, or inside hooks_ask()
  char text[POLICY_TEXT_SIZE]; ///< why
  char name[64];               ///< the field `name` as it was then
};

/// Hooks and a loop. Owned: hooks_driver_delete().
struct hooks_driver *hooks_driver_new(void);

/// Stops the loop and frees all; hooks_close() first.
void hooks_driver_delete(struct hooks_driver *driver);

/// Borrowed.
struct hooks *hooks_driver_hooks(struct hooks_driver *driver);

/// Has the loop ask `count` times, with the fields `name` ("n1" ...) and `count`, and waits until it has.
void hooks_driver_ask(struct hooks_driver *driver, enum hook hook, int count);

/// Has the loop's clock go on by `ms`, and its timers fire.
void hooks_driver_pass(struct hooks_driver *driver, int64_t ms);

/// Waits until the loop has run all that was posted to it before.
void hooks_driver_settle(struct hooks_driver *driver);

/// By the order in which they were asked, from 0. Borrowed.
const struct hooks_driver_ask *hooks_driver_asked(struct hooks_driver *driver, int number);

/// How often the script thread was woken.
int hooks_driver_wakes(struct hooks_driver *driver);

/// Waits in a thread of its own for what was told (hooks_wait_told()), until hooks_driver_waited().
void hooks_driver_wait(struct hooks_driver *driver, int64_t wait_ms);

/// Whether that has come back.
bool hooks_driver_has_waited(struct hooks_driver *driver);

/// Waits for its end.
void hooks_driver_waited(struct hooks_driver *driver);
