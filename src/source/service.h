/* SPDX-License-Identifier: GPL-2.0-or-later */
/* service.h - one service of the configuration with everything resolved: where it is, how it is
 * spoken to, our credentials there.
 *
 *     config entry ─► preset ─► words ─► secrets ─► cw_service ─► ways (one per loop), or a hub
 *
 * Secrets are read when a service is made, so a reload reads them again. They are never logged,
 * shown or written anywhere, also where the service says them again (base/secrets.h).
 *
 * A service that is reached by one stream (socket, WebSocket, program) has a hub: its only
 * connection, on the main loop. The hub outlives a service that is made anew from an equal
 * configuration: asking a program what it offers does not start it again.
 *
 * Ownership: reference counted.
 * Threads:   immutable once made; references are counted atomically.
 */
#ifndef CW_SOURCE_SERVICE_H
#define CW_SOURCE_SERVICE_H

#include <stdatomic.h>

#include "config/config.h"
#include "net/channel.h"
#include "net/client.h"
#include "source/preset.h"

#define CW_SERVICE_HEADERS 40u /* of every request, at most */

typedef enum cw_service_kind {
    CW_SERVICE_HTTP,
    CW_SERVICE_STREAM,
    CW_SERVICE_WEBSOCKET,
    CW_SERVICE_PROGRAM,
} cw_service_kind;

typedef struct cw_service {
    atomic_uint refs;
    cw_config *owner;        /* a reference: has the texts of `config` */
    cw_arena arena;          /* of all other texts below */
    cw_config_remote config; /* with its preset applied */
    cw_preset_words words;
    cw_speech speech;   /* with the secret */
    cw_secrets secrets; /* all that are not to be repeated when the service does */
    cw_service_kind kind;
    cw_client_url url; /* HTTP */
    /* HTTP, and the handshake of a WebSocket */
    cw_http_header headers[CW_SERVICE_HEADERS];
    size_t n_headers;
    cw_str oauth_basic; /* "Basic …" for the token endpoint; empty: no OAuth */
    cw_str oauth_form;  /* what is sent there */
    /* the others; spawner, sizes and callbacks are the hub's */
    cw_channel_opts channel;
    const cw_json *replies; /* an object, or NULL */
} cw_service;

/* Resolve an entry of `owner`, of which a reference is taken; NULL: the entry outlives the service.
 * CW_CONFIG or CW_IO with a text that names the key. */
CW_MUST_USE cw_code cw_service_new(const cw_config_remote *config, cw_config *owner,
                                   cw_service **ret, cw_err *err);
cw_service *cw_service_ref(cw_service *s);
/* NULL is fine. */
void cw_service_unref(cw_service *s);
/* Whether both are the same service, however it is spoken to. */
bool cw_service_is_same_place(const cw_service *a, const cw_service *b);
/* Whether both are reached and served in the same way, so that the hub of one serves the other. */
bool cw_service_is_same_way(const cw_service *a, const cw_service *b);
/* The path of calls to `method`, empty where all go to that of the URL. */
CW_MUST_USE cw_code cw_service_call_path(const cw_service *s, cw_str method, cw_arena *arena,
                                         cw_str *ret, cw_err *err);
/* The result for a request of the service, JSON text, or empty: there is no such method. `params`
 * may be NULL. */
cw_str cw_service_reply(const cw_service *s, cw_str method, const cw_json *params);

#endif
