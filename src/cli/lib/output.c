/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output.c - prints output, errors and colours. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/lib/cli.h"

#define COMPLAINT_MAX 1024u

/* Set once by --color, before anything is printed. */
static enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } color_mode = COLOR_AUTO;

bool cw_cli_set_color(cw_str when)
{
    if (cw_str_is(when, "auto"))
        color_mode = COLOR_AUTO;
    else if (cw_str_is(when, "always"))
        color_mode = COLOR_ALWAYS;
    else if (cw_str_is(when, "never"))
        color_mode = COLOR_NEVER;
    else
        return false;
    return true;
}

static bool has_color(int fd)
{
    if (color_mode != COLOR_AUTO)
        return color_mode == COLOR_ALWAYS;
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    if ((no_color && no_color[0]) || (term && strcmp(term, "dumb") == 0))
        return false;
    return isatty(fd) == 1;
}

const char *cw_cli_escape(int fd, cw_cli_style style)
{
    if (!has_color(fd))
        return "";
    switch (style) {
    case CW_CLI_PLAIN:
        return "\033[0m";
    case CW_CLI_BOLD:
        return "\033[1m";
    case CW_CLI_RED:
        return "\033[1;31m";
    case CW_CLI_GREEN:
        return "\033[32m";
    }
    return "";
}

/* Set once, before anything is printed. */
static cw_buf *complaints;

void cw_cli_keep_complaints(cw_buf *out)
{
    complaints = out;
}

static void keep_complaint(const char *text)
{
    if (!complaints)
        return;
    if (complaints->n)
        cw_buf_add(complaints, CW_STR("; "));
    cw_buf_add(complaints, cw_str_from(text));
}

CW_PRINTF(1, 0) static void complain(const char *fmt, va_list args)
{
    char text[COMPLAINT_MAX];
    va_list copy;
    va_copy(copy, args);
    vsnprintf(text, sizeof text, fmt, copy);
    va_end(copy);
    keep_complaint(text);
    fprintf(stderr, "%scauseway:%s ", cw_cli_escape(STDERR_FILENO, CW_CLI_RED),
            cw_cli_escape(STDERR_FILENO, CW_CLI_PLAIN));
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
}

int cw_cli_usage(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    complain(fmt, args);
    va_end(args);
    return CW_EXIT_USAGE;
}

int cw_cli_failure(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    complain(fmt, args);
    va_end(args);
    return CW_EXIT_FAILURE;
}

int cw_cli_config_failure(cw_code code, const cw_config_problems *problems, const cw_err *err)
{
    if (code == CW_NOMEM)
        return cw_cli_failure("%s", err->msg);
    for (size_t i = 0; i < problems->n; i++) {
        fprintf(stderr, "%s\n", problems->items[i].text);
        keep_complaint(problems->items[i].text);
    }
    if (problems->n == 0)
        return cw_cli_usage("%s", err->msg);
    if (problems->total > problems->n)
        return cw_cli_usage("the configuration has %zu problems; these are the first %zu",
                            problems->total, problems->n);
    return cw_cli_usage("the configuration has %zu problem%s", problems->total,
                        problems->total == 1 ? "" : "s");
}

const char *cw_cli_config_path(const char *option)
{
    if (option)
        return option;
    const char *variable = getenv("CAUSEWAY_CONFIG");
    return variable && variable[0] ? variable : NULL;
}

int cw_cli_load_config(const char *option, cw_config **ret)
{
    const cw_config_source source = {.path = cw_cli_config_path(option)};
    cw_err err = {0};
    cw_config_problems problems;
    cw_config_problems_init(&problems);
    cw_code rc = cw_config_load(&source, ret, &problems, &err);
    int code = rc ? cw_cli_config_failure(rc, &problems, &err) : -1;
    cw_config_problems_done(&problems);
    return code;
}

int cw_cli_print(cw_str text)
{
    if (fwrite(text.p, 1, text.n, stdout) == text.n && fflush(stdout) == 0)
        return CW_EXIT_OK;
    int errnum = errno;
    /* Without this, exit would try to write the rest again and hide the failure. */
    if (freopen("/dev/null", "w", stdout) == NULL)
        errno = errnum;
    return cw_cli_failure("cannot write to standard output: %s", strerror(errnum));
}

int cw_cli_print_buf(cw_buf *text)
{
    int code = text->code ? cw_cli_failure("%s", cw_code_text(text->code))
                          : cw_cli_print(cw_buf_str(text));
    cw_buf_done(text);
    return code;
}
