/* SPDX-License-Identifier: GPL-2.0-or-later */
/* preset.h - known kinds of services, so that their configuration can be short.
 *
 *     sources:
 *       - name: aria2
 *         preset: aria2
 *         url: http://127.0.0.1:6800/jsonrpc
 *
 * stands for the same source with params: positional, secret: {as: first_param, prefix: "token:"}
 * and discovery: system.
 *
 * A preset is one row of values of a cw_config_remote. Values of the operator take precedence. The
 * defaults of every service come last: 2.0, named params, numbers as ids, empty params omitted,
 * lines on a stream, `discovery: auto`.
 *
 * Threads: constant.
 */
#ifndef CW_SOURCE_UPSTREAM_PRESET_H
#define CW_SOURCE_UPSTREAM_PRESET_H

#include "config/config.h"
#include "net/stream/framing.h"
#include "source/describe/describe.h"
#include "source/protocol/dialect.h"
#include "source/relay/sessions.h"

/* NULL: none has that name; its texts are static. */
const cw_config_remote *cw_preset_find(cw_str name);
const char *cw_preset_names(void);

/* The words of a configuration as values. */
/* Where the trace context of a call is sent. */
typedef enum cw_trace_place {
    CW_TRACE_PLACE_AUTO, /* headers of HTTP, _meta of MCP; other services get none */
    CW_TRACE_PLACE_META, /* params._meta */
    CW_TRACE_PLACE_NONE,
} cw_trace_place;

typedef struct cw_preset_values {
    cw_protocol_opts protocol; /* without secrets */
    cw_framing framing;
    const cw_describer *describer; /* NULL: auto */
    bool gets;                     /* GET for everything */
    bool gets_reads;               /* GET for what is read only */
    cw_trace_place trace;          /* of the context of a call */
    bool is_php;                   /* writes an object without members as [] */
    /* Of an MCP server. */
    cw_relay_era pinned; /* UNKNOWN: not */
    cw_relay_mode sessions;
    bool is_strict;     /* results are validated */
    unsigned questions; /* CW_RELAY_… that clients may get */
} cw_preset_values;

/* Fill unset values of `config` from its preset and then from the defaults, and read its words.
 * CW_CONFIG: "dialect: there is no \"qpm\"; did you mean \"qmp\"?", and values that exclude each
 * other (GET on a stream, a secret as header on a stream, framing with HTTP, …). */
CW_MUST_USE cw_code cw_preset_apply(cw_config_remote *config, cw_preset_values *ret, cw_err *err);

#endif
