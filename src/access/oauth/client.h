/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client.h - the record of an OAuth client of the built-in authorization server.
 *
 *     registered   by the operator: in the configuration, or with `causeway client add`
 *     dynamic      its id holds its whole registration, sealed (dcr.h)
 *     document     its id is the URL of a document that describes it (cimd.h)
 *
 * A code and a grant keep a copy of the record as people saw it when they allowed the client
 * (a snapshot, JSON). A later change of a document changes neither.
 *
 * Ownership: all texts live in the arena that made the record.
 * Threads:   any.
 * Limits:    CW_OAUTH_MAX_REDIRECTS addresses, CW_OAUTH_MAX_ID bytes of an id.
 */
#ifndef CW_ACCESS_OAUTH_CLIENT_H
#define CW_ACCESS_OAUTH_CLIENT_H

#include "access/credentials.h"
#include "access/seal.h"
#include "base/arena.h"

#define CW_OAUTH_MAX_REDIRECTS 10u
#define CW_OAUTH_MAX_ID 1024u
#define CW_OAUTH_DYNAMIC_PREFIX "dcr."
#define CW_OAUTH_DOCUMENT_PREFIX "https://"

typedef enum cw_oauth_client_kind {
    CW_OAUTH_REGISTERED,
    CW_OAUTH_DYNAMIC,
    CW_OAUTH_DOCUMENT,
} cw_oauth_client_kind;

typedef struct cw_oauth_client {
    cw_oauth_client_kind kind;
    cw_str id;
    cw_str name;
    const cw_str *redirect_uris;
    size_t n_redirect_uris;
    bool has_secret; /* it authenticates with a secret, by Basic or in the form; else not at all */
    unsigned char secret[CW_DIGEST]; /* SHA-256 of the secret; not part of a snapshot */
    const cw_seal_key
        *key;    /* DYNAMIC: that has sealed its id, of the seal; not part of a snapshot */
    cw_str jwks; /* REGISTERED: public keys that verify its assertions (assertion.h); empty:
                             none; not part of a snapshot */
    bool is_for_endpoint;  /* their audience is the token endpoint, not the issuer */
    bool may_refresh;      /* its metadata asks for refresh tokens */
    bool may_use_device;   /* REGISTERED: device.h; not part of a snapshot */
    const cw_str *ceiling; /* REGISTERED: roles that bound its grants; none: those of the server */
    size_t n_ceiling;
    cw_str account;       /* REGISTERED: the account that client_credentials act for; empty: none */
    const cw_str *scopes; /* REGISTERED: of client_credentials */
    size_t n_scopes;
} cw_oauth_client;

/* "registered", "dynamic" or "document". */
cw_str cw_oauth_client_kind_name(cw_oauth_client_kind kind);
/* The record as JSON, in the arena, without its secret. Equal records have equal texts. CW_NOMEM. */
CW_MUST_USE cw_code cw_oauth_client_format(const cw_oauth_client *client, cw_arena *arena,
                                           cw_str *ret, cw_err *err);
/* And back. CW_PARSE: it is not such a text; CW_NOMEM. */
CW_MUST_USE cw_code cw_oauth_client_parse(cw_str json, cw_arena *arena, cw_oauth_client *ret,
                                          cw_err *err);

#endif
