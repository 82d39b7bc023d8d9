/* SPDX-License-Identifier: GPL-2.0-or-later */
/* error.h - error answers: the one way in which every door makes them.
 *
 *     cw_door_fail(item, 200, CW_RPC_PARAMS, "name must be a string");
 *     cw_door_reply_error(item, &(cw_door_error){.status = 404, .code = CW_MCP_SESSION,
 *                                                .message = CW_STR("Session not found")});
 *     cw_door_reply_error_all(req, &cw_door_rest, &(cw_door_error){.status = 415, …});
 *
 * An item is one message of a request (rpc_batch.h); `_all` answers a request as a whole. The form
 * of the door decides how the error is written. When memory runs out the answer is the form's
 * static failure.
 *
 * Ownership: borrows; what an error points to must live until the function returns.
 * Threads:   the loop of the request.
 */
#ifndef CW_DOOR_ERROR_H
#define CW_DOOR_ERROR_H

#include "door/authenticate.h"
#include "door/rpc_batch.h"
#include "door/rpc_message.h"

typedef struct cw_door_error {
    unsigned status;  /* of HTTP; counts for a single message only */
    int64_t code;     /* of JSON-RPC */
    const char *name; /* of REST: its code */
    cw_str message;   /* .p NULL: JSON-RPC's message for the code; REST's is `text` */
    cw_str text;      /* with such a message: a readable text, as data; empty: none */
    cw_str data;      /* JSON; empty: none */
    cw_str challenge; /* WWW-Authenticate; empty: none */
    uint32_t retry_s; /* Retry-After; 0: none */
} cw_door_error;

/* How a door writes errors. */
struct cw_door_form {
    void (*write)(cw_buf *out, const cw_door_error *error, cw_str id);
    cw_str failure;       /* static: the answer when memory runs out */
    cw_str plain_failure; /* static: cw_response.plain then; empty: none */
    cw_str id;            /* in an error of the request as a whole; .p NULL: none */
    unsigned bad_status;  /* when memory runs out */
    bool is_rest;         /* members of data that only JSON-RPC has are omitted */
    bool names_all;       /* cw_challenge_input.names_all */
    /* MCP: the message of an error has its reason, and without an id the error is a sentence. */
    bool explains;
};

extern const cw_door_form cw_door_mcp, cw_door_jsonrpc, cw_door_rest;

void cw_door_reply_error(cw_rpc_item *item, const cw_door_error *error);
void cw_door_reply_error_all(cw_http_req *req, const cw_door_form *form,
                             const cw_door_error *error);
/* JSON-RPC's message for the code, and a text as data (NULL: none). */
void cw_door_fail(cw_rpc_item *item, unsigned status, int64_t code, const char *text);
/* The same for a request as a whole that may have come over standard input. `id` is that of its
 * one message; .p NULL: none. */
void cw_door_fail_to(cw_responder *responder, const cw_door_form *form, cw_str id, unsigned status,
                     int64_t code, const char *text);
/* 500 with the form's static failure. */
void cw_door_fail_static(cw_responder *responder, const cw_door_form *form);
void cw_door_fail_static_all(cw_http_req *req, const cw_door_form *form);
/* Append a text as one sentence: "Session not found." */
void cw_door_add_sentence(cw_buf *out, cw_str text);
/* The same in the arena; without memory, another sentence. */
cw_str cw_door_sentence(cw_arena *arena, cw_str text);
/* The beginning of a text of the request, as an error may repeat it: at most CW_CALL_MAX_REPEATED
 * bytes, without a part of a character. */
cw_str cw_door_excerpt(cw_str text);
/* A message and data out of buffers, which end here; when one of them has failed, that is the
 * error. */
void cw_door_fail_with(cw_rpc_item *item, unsigned status, int64_t code, cw_buf *message,
                       cw_buf *data);
void cw_door_fail_nomem(cw_rpc_item *item);
void cw_door_fail_nomem_all(cw_http_req *req, const cw_door_form *form);
/* A rate limit: 429, with the time to wait. */
void cw_door_fail_rate_limited(cw_rpc_item *item, const cw_call_error *refusal);
void cw_door_fail_rate_limited_all(cw_http_req *req, const cw_door_form *form,
                                   const cw_call_error *refusal);
/* A refusal of the gate: 401 or 403, with a challenge. `needs` is NULL when the caller lacks a
 * general permission. */
void cw_door_refuse(cw_rpc_item *item, cw_verdict verdict, const cw_requirements *needs);
void cw_door_refuse_all(cw_http_req *req, const cw_door_form *form, cw_runtime_loop *rl,
                        const cw_view *view, cw_verdict verdict, const cw_requirements *needs);

#endif
