// SPDX-License-Identifier: Apache-2.0
#pragma once
typedef long ssize_t;
typedef long off_t;
