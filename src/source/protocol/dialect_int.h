/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dialect_int.h - the rows of the table, for dialect.c (out, and what a message is) and
 * response.c (answers). Nobody else includes it. */
#ifndef CW_SOURCE_PROTOCOL_DIALECT_INT_H
#define CW_SOURCE_PROTOCOL_DIALECT_INT_H

#include "source/protocol/dialect.h"

typedef enum cw_error_style {
    CW_ERROR_OBJECT, /* {"code":…,"message":…,"data":…} */
    CW_ERROR_ANY,    /* any value that is not null */
    CW_ERROR_CLASS,  /* {"class":…,"desc":…} */
    CW_ERROR_WORD,   /* `result` is "success", or else what went wrong */
} cw_error_style;

/* Names of members; NULL: there is none. */
struct cw_dialect {
    const char *name;
    const char *version; /* of "jsonrpc", in requests and answers */
    const char *id, *method, *params;
    const char *result, *error;
    const char *event;    /* what a notification has its name in */
    const char *greeting; /* the member that makes a message one */
    cw_error_style errors;
    bool is_exclusive; /* an answer has one of result and error, not both with a value */
    bool needs_params; /* a request always has them */
};

bool cw_dialect_is_null(const cw_json *v);
/* The number in an id of ours: of the type that it was sent in. */
bool cw_dialect_id(const cw_protocol_opts *protocol, const cw_json *v, uint64_t *ret);

#endif
