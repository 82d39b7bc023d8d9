/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call.h - one call of a method, from its arguments to the frame that answers it.
 *
 * The functions of causeway/plugin.h work on this struct: args.c reads arguments,
 * result.c writes the answer straight into the wire's `out`, report.c sends what
 * cannot wait for it.
 *
 *     out  … [head {"jsonrpc":"2.0","id":7,"result":  value being written
 *             ^start                                ^value
 *
 * An error takes the place of the result from `start` on.
 *
 * Ownership: borrows everything; copies are in the arena, which is reset after the call.
 * Threads:   one thread.
 */
#ifndef CW_HOST_CALL_H
#define CW_HOST_CALL_H

#include "host/hosted.h"
#include "host/wire.h"

#define CW_CALL_LOG_MAX 4096u

struct cw_call {
    cw_wire *wire;
    cw_arena *arena;
    const cw_hosted_method *method;
    const cw_json *params; /* an object, or NULL */
    const cw_json *caller; /* an object, or NULL */
    uint64_t id;
    bool wants_progress;
    bool is_cancelled;
    bool has_error;   /* cw_error was called */
    bool needs_check; /* keys or foreign JSON were put: only reading tells whether all is well */
    size_t start;
    size_t value;         /* where the result, or the error's data, begins */
    const char *misuse;   /* the first mistake in putting the result, or NULL */
    const char *bad_args; /* the first argument of a wrong type, in words, or NULL */
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

/* report.c: a line of the host itself about a call, and where the lines of no call go. */
void cw_report_problem(cw_call *call, const char *problem);
void cw_report_use(cw_wire *wire);

#endif
