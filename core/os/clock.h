// SPDX-License-Identifier: Apache-2.0
//
// Clocks. Wall time goes into records and may jump; everything that waits uses the monotonic clock. Any thread.
#pragma once

#include <stdint.h>

int64_t clock_wall_ms(void); ///< milliseconds since 1970
int64_t clock_mono_ms(void); ///< milliseconds since some start
int64_t clock_mono_ns(void); ///< nanoseconds since the same start

/// Milliseconds of processor time that the calling thread has used: what a busy machine does to others does not count.
int64_t clock_thread_ms(void);
int64_t clock_thread_ns(void); ///< the same in nanoseconds
