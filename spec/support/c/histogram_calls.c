// SPDX-License-Identifier: Apache-2.0
#include "histogram_calls.h"

#include "../../../scripts/bench/histogram.c"
