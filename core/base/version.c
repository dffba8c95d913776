// SPDX-License-Identifier: Apache-2.0
#include "base/version.h"

const char luka_version[] = LUKA_VERSION;
