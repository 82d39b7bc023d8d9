/* SPDX-License-Identifier: GPL-2.0-or-later */
/* err.c - messages are built aside and then moved into the struct, so that the arguments may point
 * into the message that is being replaced. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Large enough to see the character that CW_ERR_MSG_MAX would split. */
#define DRAFT_MAX (2 * CW_ERR_MSG_MAX)

typedef struct draft {
    char text[DRAFT_MAX];
    size_t n;
} draft;

static const char *const texts[] = {
#define CW_X(name, text) text,
    CW_CODES(CW_X)
#undef CW_X
};

static bool is_outcome(cw_code code)
{
    return code == CW_OK || code == CW_AGAIN || code == CW_DECLINED || code == CW_DONE;
}

CW_PRINTF(2, 0) static void draft_vprintf(draft *d, const char *fmt, va_list args)
{
    int n = vsnprintf(d->text, sizeof(d->text), fmt, args);
    d->n = n < 0 ? 0 : (size_t)n;
    if (d->n >= sizeof(d->text))
        d->n = sizeof(d->text) - 1;
}

static void draft_add(draft *d, const char *text)
{
    size_t n = strlen(text);
    if (n > sizeof(d->text) - d->n)
        n = sizeof(d->text) - d->n;
    memcpy(d->text + d->n, text, n);
    d->n += n;
}

static cw_code store(cw_err *err, cw_code code, const draft *d)
{
    size_t n = cw_utf8_cut(cw_str_make(d->text, d->n), sizeof(err->msg) - 1);
    memcpy(err->msg, d->text, n);
    err->msg[n] = '\0';
    err->code = code;
    return code;
}

cw_code cw_fail(cw_err *err, cw_code code, const char *fmt, ...)
{
    if (!err || is_outcome(code))
        return code;
    draft d;
    va_list args;
    va_start(args, fmt);
    draft_vprintf(&d, fmt, args);
    va_end(args);
    return store(err, code, &d);
}

cw_code cw_fail_errno(cw_err *err, int errnum, const char *fmt, ...)
{
    cw_code code = errnum == ENOMEM ? CW_NOMEM : CW_IO;
    if (!err)
        return code;
    draft d;
    va_list args;
    va_start(args, fmt);
    draft_vprintf(&d, fmt, args);
    va_end(args);
    char text[128];
    draft_add(&d, ": ");
    draft_add(&d, strerror_r(errnum, text, sizeof(text)));
    return store(err, code, &d);
}

cw_code cw_wrap(cw_err *err, cw_code code, const char *fmt, ...)
{
    if (!err || is_outcome(code))
        return code;
    draft d;
    va_list args;
    va_start(args, fmt);
    draft_vprintf(&d, fmt, args);
    va_end(args);
    draft_add(&d, ": ");
    draft_add(&d, err->msg[0] ? err->msg : cw_code_text(code));
    return store(err, code, &d);
}

cw_code cw_fail_nomem(cw_err *err)
{
    return cw_fail(err, CW_NOMEM, "out of memory");
}

const char *cw_code_text(cw_code code)
{
    /* A number that is no code is a bug, and reads like one. */
    return texts[(size_t)code < CW_COUNT(texts) ? code : CW_INTERNAL];
}
