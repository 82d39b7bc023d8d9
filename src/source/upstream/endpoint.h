/* SPDX-License-Identifier: GPL-2.0-or-later */
/* endpoint.h - one service of the configuration with everything resolved: its address, its protocol
 * and the credentials for it.
 *
 *     config entry ─► preset ─► words ─► secrets ─► cw_endpoint ─► upstreams, one per loop
 *
 * Secrets are read when an endpoint is made, so a reload reads them again. They are never logged,
 * shown or written, even if the service repeats them (base/redact.h).
 *
 * A service that is reached by one stream (socket, WebSocket, program) has one shared connection, on
 * the main loop. The connection outlives an endpoint that is made again from an equal configuration:
 * a new discovery does not restart a program.
 *
 * Ownership: reference counted.
 * Threads:   immutable once made; references are counted atomically.
 */
#ifndef CW_SOURCE_UPSTREAM_ENDPOINT_H
#define CW_SOURCE_UPSTREAM_ENDPOINT_H

#include <stdatomic.h>

#include "config/config.h"
#include "net/client/client.h"
#include "net/stream/channel.h"
#include "source/upstream/preset.h"

#define CW_ENDPOINT_HEADERS 40u /* of every request, at most */

typedef enum cw_endpoint_kind {
    CW_ENDPOINT_HTTP,
    CW_ENDPOINT_STREAM,
    CW_ENDPOINT_WEBSOCKET,
    CW_ENDPOINT_PROGRAM,
} cw_endpoint_kind;

typedef struct cw_endpoint {
    atomic_uint refs;
    cw_config *owner;        /* a reference: has the texts of `config` */
    cw_arena arena;          /* of all other texts below */
    cw_config_remote config; /* with its preset applied */
    cw_preset_values words;
    cw_protocol_opts protocol; /* with the secret */
    cw_secrets secrets;        /* replaced or dropped when the service repeats them */
    cw_endpoint_kind kind;
    cw_client_url url; /* HTTP */
    /* HTTP, and the handshake of a WebSocket */
    cw_http_header headers[CW_ENDPOINT_HEADERS];
    size_t n_headers;
    cw_str oauth_basic; /* "Basic …" for the token endpoint; empty: no OAuth */
    cw_str oauth_form;  /* the body of the request for a token */
    /* other transports; spawner, sizes and callbacks are those of the shared connection */
    cw_channel_opts channel;
    cw_confinement confinement; /* of a program */
    const cw_json *replies;     /* an object, or NULL */
} cw_endpoint;

/* Resolve an entry of `owner`, of which a reference is taken; NULL: the entry outlives the service.
 * CW_CONFIG or CW_IO with a text that names the key. */
CW_MUST_USE cw_code cw_endpoint_new(const cw_config_remote *config, cw_config *owner,
                                    cw_endpoint **ret, cw_err *err);
cw_endpoint *cw_endpoint_ref(cw_endpoint *s);
/* NULL is fine. */
void cw_endpoint_unref(cw_endpoint *s);
/* Whether both have the same address, with any protocol. */
bool cw_endpoint_is_same_address(const cw_endpoint *a, const cw_endpoint *b);
/* Whether a shared connection of one can serve the other. */
bool cw_endpoint_is_same_protocol(const cw_endpoint *a, const cw_endpoint *b);
/* The path of calls to `method`, empty where all go to that of the URL. */
CW_MUST_USE cw_code cw_endpoint_call_path(const cw_endpoint *s, cw_str method, cw_arena *arena,
                                          cw_str *ret, cw_err *err);
/* The result for a request of the service, JSON text, or empty: an unknown method. `params`
 * may be NULL. */
cw_str cw_endpoint_reply(const cw_endpoint *s, cw_str method, const cw_json *params);

#endif
