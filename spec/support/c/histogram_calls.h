// SPDX-License-Identifier: Apache-2.0
//
// Gives specs the histogram of the load generator, which is no part of the library.
#pragma once

#include "../../../scripts/bench/histogram.h"
