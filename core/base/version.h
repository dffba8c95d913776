// SPDX-License-Identifier: Apache-2.0
//
// Which Luka this is. The number is the first heading of CHANGELOG.md; the build compiles it into this one file.
#pragma once

/// "0.1.0"; for ever.
extern const char luka_version[];
