/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sealed_fields.c - the time and some texts, with NULs between them, sealed. */
#include "door/page/sealed_fields.h"

#include "base/buf.h"
#include "base/clock.h"

cw_code cw_sealed_fields_close(const cw_seal *seal, cw_str purpose, const cw_str *fields, size_t n,
                               cw_arena *arena, cw_str *ret)
{
    cw_buf plain;
    cw_buf_init(&plain, CW_SEALED_FIELDS_MAX_BYTES);
    cw_buf_add_i64(&plain, cw_clock_wall_ms());
    for (size_t i = 0; i < n; i++) {
        cw_buf_add_char(&plain, '\0');
        cw_buf_add(&plain, fields[i]);
    }
    cw_code rc = plain.code;
    if (!rc)
        rc = cw_seal_close(seal, purpose, cw_buf_str(&plain), arena, ret, NULL);
    cw_buf_done(&plain);
    return rc;
}

cw_code cw_sealed_fields_open(const cw_seal *seal, cw_str purpose, cw_str text, int64_t age_ms,
                              cw_arena *arena, cw_str *fields, size_t n)
{
    cw_str plain, rest;
    uint64_t at;
    cw_code rc = cw_seal_open(seal, purpose, text, arena, &plain);
    if (rc)
        return rc == CW_PARSE ? rc : CW_NOMEM;
    if (!cw_str_to_u64(cw_str_cut(plain, '\0', &rest), &at))
        return CW_PARSE;
    for (size_t i = 0; i < n; i++) {
        if (!rest.p)
            return CW_PARSE;
        fields[i] = cw_str_cut(rest, '\0', &rest);
    }
    int64_t age = cw_clock_wall_ms() - (int64_t)at;
    if (rest.p)
        return CW_PARSE;
    return age < -CW_SEALED_FIELDS_SKEW_MS || age > age_ms ? CW_TIMEOUT : CW_OK;
}
