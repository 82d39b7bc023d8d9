/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seal_rows.c - rows that are opened with any key and sealed with the current one. */
#include "access/seal_rows.h"

#include "store/oauth.h"
#include "store/webhook.h"

/* CW_DONE: the current key has sealed it, or none of the keys; *ret is not set. */
static cw_code renew(const cw_seal *seal, cw_str purpose, cw_str text, cw_arena *arena, cw_str *ret,
                     cw_err *err)
{
    cw_str plain;
    const cw_seal_key *key = NULL;
    cw_code rc = cw_seal_open_with(seal, purpose, text, arena, &plain, &key);
    if (rc == CW_PARSE || (!rc && key == cw_seal_get_current(seal)))
        return CW_DONE;
    return rc ? cw_arena_fail(arena, err) : cw_seal_close(seal, purpose, plain, arena, ret, err);
}

cw_code cw_seal_renew_signing_keys(cw_db *db, const cw_seal *seal, cw_arena *arena, cw_err *err)
{
    static const cw_db_oauth_key_state used[] = {CW_DB_KEY_CURRENT, CW_DB_KEY_NEXT};
    cw_code rc = CW_OK;
    for (size_t i = 0; i < CW_COUNT(used) && !rc; i++) {
        cw_db_oauth_key *row = NULL;
        rc = cw_db_find_oauth_key(db, used[i], arena, &row, err);
        if (rc || !row)
            continue;
        rc = renew(seal, CW_SEAL_SIGNING_KEY, row->secret, arena, &row->secret, err);
        if (!rc)
            rc = cw_db_reseal_oauth_key(db, row, err);
        rc = rc == CW_DONE ? CW_OK : rc;
    }
    return rc;
}

/* Rows are written after all were read: a row that changes while they are read could come twice. */
typedef struct fresh_row {
    cw_str id, state;
    struct fresh_row *next;
} fresh_row;

typedef struct renewal {
    const cw_seal *seal;
    cw_arena *arena;
    fresh_row *rows;
} renewal;

static cw_code renew_webhook(const cw_db_webhook *row, void *ctx, cw_err *err)
{
    renewal *r = ctx;
    cw_str state;
    cw_code rc = renew(r->seal, CW_SEAL_WEBHOOK, row->state, r->arena, &state, err);
    if (rc)
        return rc == CW_DONE ? CW_OK : rc;
    fresh_row *fresh = cw_arena_alloc(r->arena, sizeof *fresh);
    cw_str id = cw_arena_dup_str(r->arena, row->id);
    if (!fresh || !id.p)
        return cw_arena_fail(r->arena, err);
    *fresh = (fresh_row){.id = id, .state = state, .next = r->rows};
    r->rows = fresh;
    return CW_OK;
}

cw_code cw_seal_renew_webhooks(cw_db *db, const cw_seal *seal, int64_t now, cw_arena *arena,
                               cw_err *err)
{
    renewal r = {.seal = seal, .arena = arena};
    cw_code rc = cw_db_each_webhook(db, now, renew_webhook, &r, err);
    for (const fresh_row *row = r.rows; row && !rc; row = row->next)
        rc = cw_db_reseal_webhook(db, row->id, row->state, err);
    return rc;
}
