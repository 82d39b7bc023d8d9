/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read before each file by tidy.sh. The analyzer sees one file at a time: this tells it that what
 * reports a failure never returns CW_OK, which saves a false alarm after most calls. */
#if __has_include("base/err.h")
#include "base/err.h"
#define cw_fail(err, code, ...) ((void)cw_fail(err, code, __VA_ARGS__), (code))
#define cw_wrap(err, code, ...) ((void)cw_wrap(err, code, __VA_ARGS__), (code))
#define cw_fail_errno(...) ((void)cw_fail_errno(__VA_ARGS__), CW_IO)
#define cw_fail_nomem(err) ((void)cw_fail_nomem(err), CW_NOMEM)
#endif
