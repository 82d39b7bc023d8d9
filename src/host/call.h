/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call.h - one call of a method, from its arguments to the frame that answers it.
 *
 * The functions of causeway/plugin.h work on this struct: args.c reads arguments,
 * result.c writes the answer into the wire's `out`, report.c sends reports before it.
 * For causeway/mcp.h, content.c collects blocks in the wire's `content`, ask.c collects
 * questions, and complete.c runs a completion instead of the method.
 *
 *     out  … [head {"jsonrpc":"2.0","id":7,"result":  value being written
 *             ^start                                ^value
 *
 * An error takes the place of the result from `start` on, and so do open questions.
 *
 * Ownership: borrows everything; copies are in the arena, which is reset after the call.
 * Threads:   one thread.
 */
#ifndef CW_HOST_CALL_H
#define CW_HOST_CALL_H

#include "host/hosted.h"
#include "host/wire.h"

#define CW_CALL_LOG_MAX 4096u

typedef struct cw_question cw_question;

struct cw_call {
    cw_wire *wire;
    cw_arena *arena;
    const cw_hosted_method *method;
    const cw_json *params;   /* an object, or NULL */
    const cw_json *caller;   /* an object, or NULL */
    const cw_json *root;     /* the request, for what few methods ask; or NULL */
    const cw_json *complete; /* its "complete" when a completion runs and no method; or NULL */
    uint64_t id;
    bool wants_progress;
    bool is_cancelled;
    bool has_error;   /* cw_error was called */
    bool needs_check; /* keys or foreign JSON were put: only reading tells whether all is well */
    size_t start;
    size_t value;           /* where the result, or the error's data, begins */
    const char *misuse;     /* the first mistake in putting the result, or NULL */
    const char *bad_args;   /* the first argument of a wrong type, in words, or NULL */
    cw_question *questions; /* open ones */
    const char *state;      /* of cw_state_set, or NULL */
    const char *role;       /* of cw_content_role, or NULL */
    size_t n_values;        /* of the completion */
    bool has_block;         /* the last block in `content` is not closed yet */
    bool is_annotated;      /* and has annotations */
    cw_json_writer w;
};

/* Run a method and leave its answer, a whole frame, in the wire's `out`. All fields but those of
 * the answer are set by the caller of this. */
void cw_call_run(cw_call *call);

/* Append a frame with an error to `out`; `data` (.p NULL: none) is put as a string. It needs no
 * memory as long as the texts are short and `out` holds less than a KiB. */
void cw_call_refuse(cw_wire *wire, uint64_t id, int code, cw_str message, cw_str data);

/* result.c: begin and end the answer. */
void cw_call_open(cw_call *call);
void cw_call_finish(cw_call *call);
/* Remember the first misuse of the SDK: the call ends with an internal error. */
void cw_call_misuse(cw_call *call, const char *what);
/* JSON text of the plugin; NULL when it is none (a misuse) or there is no memory. */
const cw_json *cw_call_read(cw_call *call, const char *json, const char *what);

/* ask.c: the members "asks" and "state" of an answer. */
void cw_ask_write(const cw_call *call, cw_buf *out);

/* complete.c: run the completion of an argument as cw_call_run runs a method. */
void cw_complete_run(cw_call *call);

/* report.c: a line of the host itself about a call, and where the lines of no call go. */
void cw_report_problem(cw_call *call, const char *problem);
void cw_report_use(cw_wire *wire);

#endif
