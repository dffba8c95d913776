// SPDX-License-Identifier: Apache-2.0
//
// The program `luka`.
#include "broker/command.h"

int main(int argc, char **argv)
{
  return command_run(argc, argv);
}
