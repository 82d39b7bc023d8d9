/* SPDX-License-Identifier: GPL-2.0-or-later */
/* endpoint_int.h - what the two files of a service share: endpoint.c and endpoint_secrets.c (what
 * is not to be repeated when the service does). Nobody else includes it. */
#ifndef CW_SOURCE_UPSTREAM_ENDPOINT_INT_H
#define CW_SOURCE_UPSTREAM_ENDPOINT_INT_H

#include "source/upstream/endpoint.h"

/* Remember a secret, as it is and as it looks in JSON and in a URL. */
CW_MUST_USE cw_code cw_endpoint_redact(cw_endpoint *s, cw_str secret, cw_err *err);
/* The same with "NAME:PASSWORD", of which the second half is one, and `header`, "Basic …" of it. */
CW_MUST_USE cw_code cw_endpoint_redact_basic(cw_endpoint *s, cw_str pair, cw_str header,
                                             cw_err *err);
/* Those that the configuration itself has: headers, variables of a program and params of the
 * prelude whose names say so. */
CW_MUST_USE cw_code cw_endpoint_redact_config(cw_endpoint *s, cw_err *err);

#endif
