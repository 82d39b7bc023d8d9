/* SPDX-License-Identifier: GPL-2.0-or-later */
/* password.c - reads passwords from a file, standard input or a terminal, never from an argument. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/account/rights.h"

void cw_cli_password_wipe(cw_cli_password *p)
{
    explicit_bzero(p, sizeof *p);
}

/* Up to the end, or up to the end of a line on a terminal. */
static cw_code read_all(int fd, bool is_terminal, cw_cli_password *in, cw_err *err)
{
    in->n = 0;
    while (in->n < sizeof in->bytes) {
        ssize_t got = read(fd, in->bytes + in->n, sizeof in->bytes - in->n);
        if (got < 0)
            return cw_fail_errno(err, errno, "read the password");
        if (got == 0)
            break;
        in->n += (size_t)got;
        if (is_terminal && in->bytes[in->n - 1] == '\n')
            break;
    }
    if (in->n && in->bytes[in->n - 1] == '\n')
        in->n--;
    if (in->n && in->bytes[in->n - 1] == '\r')
        in->n--;
    if (in->n == 0)
        return cw_fail(err, CW_PARAMS, "the password is empty");
    return CW_OK;
}

static void on_signal(int signum)
{
    (void)signum; /* ends the wait */
}

static void say(int fd, const char *text)
{
    (void)!write(fd, text, strlen(text));
}

/* Wait for a line. SIGINT, which is blocked, ends the wait, even if it came before it. */
static cw_code wait_for_line(int fd, const sigset_t *unblocked, cw_err *err)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    if (ppoll(&one, 1, NULL, unblocked) < 0)
        return cw_fail_errno(err, errno, "read the password");
    return CW_OK;
}

/* Prompts when the echo is off, so that an answer typed at once is neither shown nor flushed.
 * A signal restores the echo before it takes effect. */
static cw_code ask(int fd, const char *prompt, cw_cli_password *in, cw_err *err)
{
    struct termios old, quiet;
    struct sigaction action = {.sa_handler = on_signal}, before;
    sigset_t interrupt, unblocked;
    if (tcgetattr(fd, &old))
        return cw_fail_errno(err, errno, "terminal");
    quiet = old;
    quiet.c_lflag &= ~(tcflag_t)ECHO;
    sigemptyset(&action.sa_mask);
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &unblocked);
    sigaction(SIGINT, &action, &before);
    tcsetattr(fd, TCSAFLUSH, &quiet);
    say(fd, prompt);
    cw_code rc = wait_for_line(fd, &unblocked, err);
    sigprocmask(SIG_SETMASK, &unblocked, NULL);
    if (!rc)
        rc = read_all(fd, /* is_terminal= */ true, in, err);
    tcsetattr(fd, TCSAFLUSH, &old);
    say(fd, "\n");
    sigaction(SIGINT, &before, NULL);
    return rc;
}

static cw_code ask_twice(cw_cli_password *in, cw_err *err)
{
    cw_cli_password again = {0};
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return cw_fail_errno(err, errno, "open '/dev/tty'");
    cw_code rc = ask(fd, "New password: ", in, err);
    if (!rc)
        rc = ask(fd, "The same again: ", &again, err);
    if (!rc && (again.n != in->n || memcmp(again.bytes, in->bytes, in->n) != 0))
        rc = cw_fail(err, CW_PARAMS, "the two are not the same");
    cw_cli_password_wipe(&again);
    close(fd);
    return rc;
}

static cw_code read_file(const char *path, cw_cli_password *in, cw_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cw_fail_errno(err, errno, "open '%s'", path);
    cw_code rc = read_all(fd, /* is_terminal= */ false, in, err);
    close(fd);
    return rc;
}

/* A call carries it as JSON, and clients send passwords as UTF-8 (RFC 7617). */
static cw_code check_encoding(const cw_cli_password *p, cw_err *err)
{
    if (cw_utf8_is_valid(cw_str_make(p->bytes, p->n)))
        return CW_OK;
    return cw_fail(err, CW_PARAMS, "the password is not UTF-8");
}

cw_code cw_cli_password_read(const char *file, cw_cli_password *ret, cw_err *err)
{
    cw_code rc;
    if (file && strcmp(file, "-") != 0)
        rc = read_file(file, ret, err);
    else if (!file && isatty(STDIN_FILENO))
        rc = ask_twice(ret, err);
    else
        rc = read_all(STDIN_FILENO, /* is_terminal= */ false, ret, err);
    return rc ? rc : check_encoding(ret, err);
}
