// SPDX-License-Identifier: Apache-2.0
#pragma once
struct sockaddr_storage {
  unsigned short ss_family;
  char data[126];
};
