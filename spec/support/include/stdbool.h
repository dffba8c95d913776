// SPDX-License-Identifier: Apache-2.0
#pragma once
#define true 1
#define false 0
