/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c - the entry of the program. */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cli/lib/cli.h"

/* A standard stream that the caller closed must not become the number of a socket or a log file.
 * Each is opened the wrong way round, so that using it still fails as if it were closed. */
static void keep_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        /* The lowest free number is taken, which is this one. */
        if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(CW_EXIT_FAILURE);
    }
}

int main(int argc, char **argv)
{
    keep_standard_streams();
    /* A reader that goes away is an error of the write, not a reason to die. */
    signal(SIGPIPE, SIG_IGN);
    return cw_cli_program(argc, argv);
}
