/* SPDX-License-Identifier: GPL-2.0-or-later */
/* err.h - the one way a function says that it failed.
 *
 * A function that can fail returns a cw_code and takes `cw_err *err` last.
 * The error is a small struct owned by the caller: reporting never allocates,
 * never leaks, and `err` may be NULL if the text is not needed.
 *
 *     if (fd < 0)
 *         return cw_fail_errno(err, errno, "open '%s'", path);
 *     rc = read_all(fd, &text, err);
 *     if (rc)
 *         return cw_wrap(err, rc, "config '%s'", path);
 *
 * Outcomes (CW_AGAIN, CW_DECLINED, CW_DONE) are not errors and never fill err.
 * Foreign conventions (errno, libuv, OpenSSL) are translated at the call, in
 * the module that owns the library. An error is logged once, where it stops.
 *
 * Threads: no shared state.
 */
#ifndef CW_BASE_ERR_H
#define CW_BASE_ERR_H

#include "base/attr.h"

/* name, text */
#define CW_CODES(X)                                                                                \
    X(OK, "ok")                                                                                    \
    X(AGAIN, "try again")                                                                          \
    X(DECLINED, "declined")                                                                        \
    X(DONE, "done")                                                                                \
    X(NOMEM, "out of memory")                                                                      \
    X(LIMIT, "limit exceeded")                                                                     \
    X(PARSE, "syntax error")                                                                       \
    X(INVALID, "invalid request")                                                                  \
    X(PARAMS, "invalid value")                                                                     \
    X(NOTFOUND, "not found")                                                                       \
    X(CONFIG, "invalid configuration")                                                             \
    X(IO, "input/output error")                                                                    \
    X(TIMEOUT, "timed out")                                                                        \
    X(GONE, "peer is gone")                                                                        \
    X(INTERNAL, "internal error")

typedef enum cw_code {
#define CW_X(name, text) CW_##name,
    CW_CODES(CW_X)
#undef CW_X
} cw_code;

#define CW_ERR_MSG_MAX 248

typedef struct cw_err {
    cw_code code;
    char msg[CW_ERR_MSG_MAX];
} cw_err;

/* Record `code` and a message in `err` (unless NULL) and return `code`. A message that does not
 * fit is cut at a character boundary. */
CW_PRINTF(3, 4) cw_code cw_fail(cw_err *err, cw_code code, const char *fmt, ...);

/* Like cw_fail with the text of `errnum` appended: "open 'x': No such file". ENOMEM gives CW_NOMEM,
 * everything else CW_IO. */
CW_PRINTF(3, 4) cw_code cw_fail_errno(cw_err *err, int errnum, const char *fmt, ...);

/* Put context in front of the message that is in `err`: "context: message". Returns `code`. */
CW_PRINTF(3, 4) cw_code cw_wrap(cw_err *err, cw_code code, const char *fmt, ...);

/* CW_NOMEM with its standard text. */
cw_code cw_fail_nomem(cw_err *err);

/* Short English text of a code. */
const char *cw_code_text(cw_code code);

#endif
