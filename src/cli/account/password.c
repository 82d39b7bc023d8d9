/* SPDX-License-Identifier: GPL-2.0-or-later */
/* password.c - reads passwords and tokens from a file, standard input or a terminal, never from an
 * argument. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "access/credentials.h"
#include "base/file.h"
#include "base/utf8.h"
#include "cli/lib/db.h"

/* A password, a line break of two, and one byte more to see that it is too long. */
#define INPUT_MAX (CW_PASSWORD_MAX + 3u)

typedef struct input {
    char bytes[INPUT_MAX];
    size_t n;
} input;

static void wipe(input *in)
{
    /* Not memset: that one may be left out. */
    volatile char *p = in->bytes;
    for (size_t i = 0; i < sizeof in->bytes; i++)
        p[i] = 0;
    in->n = 0;
}

/* Up to the end, or up to the end of a line on a terminal. */
static cw_code read_all(int fd, bool is_terminal, input *in, cw_err *err)
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
static cw_code ask(int fd, const char *prompt, input *in, cw_err *err)
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

static cw_code ask_twice(input *in, cw_err *err)
{
    input again = {0};
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return cw_fail_errno(err, errno, "open '/dev/tty'");
    cw_code rc = ask(fd, "New password: ", in, err);
    if (!rc)
        rc = ask(fd, "The same again: ", &again, err);
    if (!rc && (again.n != in->n || memcmp(again.bytes, in->bytes, in->n) != 0))
        rc = cw_fail(err, CW_PARAMS, "the two are not the same");
    wipe(&again);
    close(fd);
    return rc;
}

static cw_code read_file(const char *path, input *in, cw_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cw_fail_errno(err, errno, "open '%s'", path);
    cw_code rc = read_all(fd, /* is_terminal= */ false, in, err);
    close(fd);
    return rc;
}

/* Characters, not bytes; what is no UTF-8 is counted by bytes. */
static size_t count_characters(cw_str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; n++) {
        unsigned length = cw_utf8_len(text.p + i, text.n - i);
        i += length ? length : 1;
    }
    return n;
}

static cw_code check_length(cw_str password, uint32_t min, cw_err *err)
{
    if (count_characters(password) >= min)
        return CW_OK;
    return cw_fail(err, CW_PARAMS,
                   "the password is too short: it needs %u characters (access.password_length)",
                   min);
}

cw_code cw_cli_read_password(const char *file, uint32_t min, char *out, cw_err *err)
{
    input in = {0};
    cw_code rc;
    if (file && strcmp(file, "-") != 0)
        rc = read_file(file, &in, err);
    else if (!file && isatty(STDIN_FILENO))
        rc = ask_twice(&in, err);
    else
        rc = read_all(STDIN_FILENO, /* is_terminal= */ false, &in, err);
    if (!rc)
        rc = check_length(cw_str_make(in.bytes, in.n), min, err);
    if (!rc)
        rc = cw_password_hash(cw_str_make(in.bytes, in.n), out, err);
    wipe(&in);
    return rc;
}

cw_code cw_cli_db_read_token(const char *file, cw_buf *header, cw_err *err)
{
    cw_buf_add(header, CW_STR("Bearer "));
    cw_code rc = cw_file_read(file, CW_FILE_ANY, header, err);
    while (!rc && (header->p[header->n - 1] == '\n' || header->p[header->n - 1] == '\r'))
        header->n--;
    return rc;
}
