// SPDX-License-Identifier: Apache-2.0
//
// How fast the log cleaner may read and write: log.cleaner.io.max.bytes.per.second, of all its threads together. Every
// step takes its place behind those before it, and is made once its time has come; what was not used is not saved up.
//
//   step of 3 s   step of 1 s          step
//   |-------------|-----|~~~~~~~~~~~~~~|----
//   at once       waits until here     at once: nobody came in between
//
// Pure: the time comes in, so that specs drive it without waiting. The cleaner's lock guards it (cleaner_private.h).
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// The limit, and who has taken his place. All zero: no limit.
struct cleaner_pace {
  double bytes_per_second; ///< the limit; 0 and less: none
  int64_t free_ns;         ///< monotonic time from which on more may be read and written
  int64_t changes;         ///< of the limit
};

/// A step's place.
struct cleaner_turn {
  int64_t from_ns; ///< monotonic time from which on it may be made
  int64_t changes; ///< of the limit until then: what was worked out by another one does not hold
};

/// Sets the limit. When it is another one, those who wait by the old one need not any longer.
void cleaner_pace_set(struct cleaner_pace *pace, double bytes_per_second);

/// Takes the place of a step that reads or writes so many bytes. A step makes the next one wait for an hour at most.
struct cleaner_turn cleaner_pace_take(struct cleaner_pace *pace, int64_t now_ns, int64_t bytes);

/// Whether a step's time has come.
bool cleaner_pace_is_due(const struct cleaner_pace *pace, const struct cleaner_turn *turn, int64_t now_ns);
