/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exchange_int.h - the parts of a token request that exchange.c and device.c share. */
#ifndef CW_ACCESS_OAUTH_EXCHANGE_INT_H
#define CW_ACCESS_OAUTH_EXCHANGE_INT_H

#include "access/oauth/exchange.h"

/* One request on its way. */
typedef struct cw_oauth_exchange_op {
    cw_db *db;
    const cw_oauth_settings *settings;
    const cw_oauth_token_request *request;
    int64_t now;
    cw_arena *arena;
    cw_oauth_client client;
    cw_oauth_tokens *ret;
} cw_oauth_exchange_op;

/* Set the error. Returns CW_OK: the database did its part. */
cw_code cw_oauth_exchange_refuse(const cw_oauth_exchange_op *x, cw_oauth_error error,
                                 const char *description);
/* Set x->client, or refuse. */
CW_MUST_USE cw_code cw_oauth_exchange_authenticate(cw_oauth_exchange_op *x, cw_err *err);
/* Add a grant and its first tokens. */
CW_MUST_USE cw_code cw_oauth_exchange_issue(const cw_oauth_exchange_op *x, cw_db_oauth_grant *grant,
                                            bool may_refresh, cw_err *err);
/* Whether the resource of the request is another one than the granted one. */
bool cw_oauth_exchange_is_other_resource(const cw_oauth_exchange_op *x, cw_str granted);

/* device.c: a device polls with its code. */
CW_MUST_USE cw_code cw_device_poll(cw_oauth_exchange_op *x, cw_err *err);

#endif
