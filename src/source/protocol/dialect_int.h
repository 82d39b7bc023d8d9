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

/* The members of a message that all dialects have in some way. */
typedef enum cw_member {
    CW_MEMBER_ID,
    CW_MEMBER_RESULT,
    CW_MEMBER_ERROR,
    CW_MEMBER_VERSION,
    CW_MEMBER_METHOD,
    CW_MEMBER_EVENT,    /* the name of a notification, where it is not the member of METHOD */
    CW_MEMBER_GREETING, /* its presence makes a message a greeting */
    CW_MEMBERS,
} cw_member;

/* Their values in one message; NULL: the message has no such member. */
typedef const cw_json *cw_member_values[CW_MEMBERS];

/* No key of a document: it is not UTF-8. */
#define CW_MEMBER_NONE CW_STR_INIT("\xff")

struct cw_dialect {
    const char *name;
    const char *version; /* of "jsonrpc", in requests and answers; NULL: there is none */
    cw_str names[CW_MEMBERS];
    const char *params;
    cw_error_style errors;
    bool is_exclusive; /* an answer has one of result and error, not both with a value */
    bool needs_params; /* a request always has them */
};

/* Find all of them in one walk. `message` may be NULL or no object: all are NULL then. */
void cw_dialect_find_members(const cw_dialect *d, const cw_json *message, cw_member_values ret);
bool cw_dialect_is_null(const cw_json *v);
/* The number in an id of ours: of the type that it was sent in. */
bool cw_dialect_id(const cw_protocol_opts *protocol, const cw_json *v, uint64_t *ret);

#endif
