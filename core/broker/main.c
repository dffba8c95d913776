// SPDX-License-Identifier: Apache-2.0
//
// The program `luka`.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "broker/command.h"

/// Makes sure that descriptors 0 to 2 are taken. Somebody may have started us with one of them closed; the next file or
/// pipe that is opened would get its number, and lines of the log would be written into it. What stands in refuses what
/// the descriptor is for, so that it still is an error to read or write there.
static void main_hold_standard_descriptors(void)
{
  static const int refusing[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    // The lowest number that is free is this one, as those below are taken.
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", refusing[fd]) != fd) {
      abort();
    }
  }
}

int main(int argc, char **argv)
{
  main_hold_standard_descriptors();
  return command_run(argc, argv);
}
