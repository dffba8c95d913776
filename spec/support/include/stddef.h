// SPDX-License-Identifier: Apache-2.0
#pragma once
#define NULL ((void *)0)
#define offsetof(type, member) __builtin_offsetof(type, member)
