/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_server.h - the section `access.server` of a configuration: the built-in authorization server.
 *
 * Ownership and threads: as config.h, which includes this, says.
 */
#ifndef CW_CONFIG_CONFIG_SERVER_H
#define CW_CONFIG_CONFIG_SERVER_H

#include "config/config_remote.h"

/* The only audience of the assertions of a client. */
typedef enum cw_assertion_audience {
    CW_ASSERTION_FOR_ISSUER,
    CW_ASSERTION_FOR_TOKEN_ENDPOINT,
} cw_assertion_audience;

typedef enum cw_token_format {
    CW_TOKEN_OPAQUE,
    CW_TOKEN_JWT, /* RFC 9068 */
} cw_token_format;

typedef enum cw_signing_algorithm {
    CW_SIGNING_ES256,
    CW_SIGNING_RS256,
} cw_signing_algorithm;

/* An OAuth client that the operator registers. */
typedef struct cw_config_oauth_client {
    cw_str id;   /* unique */
    cw_str name; /* empty: the id */
    cw_config_strings redirect_uris;
    cw_str secret_file;     /* empty: no secret */
    cw_str jwks, jwks_file; /* public keys, as JSON or in a file; both empty: none */
    cw_assertion_audience assertion_audience;
    cw_config_strings ceiling; /* roles; none: those of the server */
    cw_str account;            /* for client_credentials; empty: not offered */
    cw_config_strings scopes;  /* of that account's tokens */
    bool device;               /* it may use the device grant */
} cw_config_oauth_client;

typedef struct cw_config_oauth_clients {
    const cw_config_oauth_client *items;
    size_t n;
} cw_config_oauth_clients;

typedef struct cw_config_server {
    bool enabled;
    cw_config_oauth_clients clients;
    cw_config_strings ceiling; /* roles that bound grants; none: all but administration */
    bool dynamic_registration; /* clients may register themselves */
    bool client_documents;     /* clients may be described by a document */
    cw_config_strings client_document_hosts; /* of documents; none: any */
    cw_str client_document_ca_file;          /* empty: the system's */
    bool client_document_allow_private;
    cw_config_strings redirect_uris; /* of other schemes than http and https, exactly */
    cw_token_format token_format;
    cw_signing_algorithm signing_algorithm; /* of new keys */
    uint32_t access_token_ms;
    size_t grant_idle_ms, grant_lifetime_ms;
    uint32_t refresh_grace_ms;
    uint32_t grants;        /* of one account */
    uint32_t access_tokens; /* of one grant */
} cw_config_server;

#endif
