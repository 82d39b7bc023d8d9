/* SPDX-License-Identifier: GPL-2.0-or-later */
/* postgres_url.h - from store.url to the parameters of a connection. For files of this folder.
 *
 * Over the network the server must prove its name by a certificate, unless the operator allows less.
 * A URL holds no password: URLs get into logs, process lists and backups.
 */
#ifndef CW_STORE_POSTGRES_POSTGRES_URL_H
#define CW_STORE_POSTGRES_POSTGRES_URL_H

#include "store/db.h"
#include "store/postgres/libpq.h"

#define CW_POSTGRES_PARAMS 64u
#define CW_POSTGRES_NAME 128u

typedef struct cw_postgres_params {
    const cw_libpq *pq;
    PQconninfoOption *options; /* owns the values of the URL */
    char password[1024];       /* empty: none */
    const char *keywords[CW_POSTGRES_PARAMS + 1], *values[CW_POSTGRES_PARAMS + 1];
    size_t n;
    char timeout[24];
    char name[CW_POSTGRES_NAME]; /* hosts and database, for messages */
} cw_postgres_params;

/* Read the URL and the file with the password. CW_CONFIG: the URL is wrong, or not safe. */
CW_MUST_USE cw_code cw_postgres_params_init(cw_postgres_params *p, const cw_libpq *pq,
                                            const cw_db_opts *opts, cw_err *err);
/* Fine for one that is zeroed. Wipes the password. */
void cw_postgres_params_done(cw_postgres_params *p);

#endif
