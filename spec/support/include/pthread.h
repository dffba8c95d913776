// SPDX-License-Identifier: Apache-2.0
#pragma once
typedef unsigned long pthread_t;
typedef union {
  char size[40];
  long align;
} pthread_mutex_t;
typedef union {
  char size[48];
  long long align;
} pthread_cond_t;
