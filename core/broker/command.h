// SPDX-License-Identifier: Apache-2.0
//
// The command line: finds out what is asked and does it. Main thread.
#pragma once

enum command_status {
  COMMAND_OK = 0,
  COMMAND_FAILED = 1, ///< it was understood and could not be done
  COMMAND_USAGE = 2,  ///< the command line or the configuration is wrong
};

/// Runs `luka argv[1] ...` to its end.
/// @return the exit status of the process, enum command_status
int command_run(int argc, char **argv);
