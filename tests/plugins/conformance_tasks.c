/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conformance_tasks.c - tools whose calls are tasks. */
#include "conformance.h"

#include <time.h>

/* Wait in steps, as a method that can be cancelled does. False: it was cancelled. */
static bool wait_s(cw_call *call, double seconds)
{
    const struct timespec step = {.tv_nsec = 20000000};
    long steps = (long)(seconds / 0.02);
    for (long i = 0; i < steps && !cw_call_cancelled(call); i++) {
        (void)nanosleep(&step, NULL);
        if (i % 25 == 0)
            cw_call_progress(call, (double)i, (double)steps, "computing");
    }
    return !cw_call_cancelled(call);
}

static void greet(cw_call *call)
{
    cw_content_format(call, "Hello, %s!", cw_arg_text(call, "name", "world"));
}
CW_METHOD(greet, "greet", .usage = "Greets a person.",
          .params = {{"name", .schema = CW_JSON({"type" : "string"}), .required = true}});
CW_TOOL(greet, .task = "never");

static void slow_compute(cw_call *call)
{
    if (wait_s(call, cw_value_double(call, cw_arg(call, "seconds"), 0)))
        cw_content_format(call, "Computed %s.", cw_arg_text(call, "label", "nothing"));
}
CW_METHOD(slow_compute, "slow_compute", .usage = "Takes some seconds.",
          .params = {{"seconds", .schema = CW_JSON({"type" : "number"}), .required = true},
                     {"label", .schema = CW_JSON({"type" : "string"})}});
CW_TOOL(slow_compute, .task = "always");

static void failing_job(cw_call *call)
{
    if (wait_s(call, 1))
        cw_error(call, 1, "This job always fails.");
}
CW_METHOD(failing_job, "failing_job", .usage = "Fails after a second.");
CW_TOOL(failing_job, .task = "required");

/* A result that is not what the method declares: the call fails as a whole. */
static void protocol_error_job(cw_call *call)
{
    if (wait_s(call, 0.2))
        cw_result_text(call, "no number");
}
CW_METHOD(protocol_error_job, "protocol_error_job", .usage = "Breaks its word.",
          .output = CW_JSON({"type" : "integer"}));
CW_TOOL(protocol_error_job, .task = "always");

#define CONFIRM                                                                                    \
    CW_JSON({                                                                                      \
        "type" : "object",                                                                         \
        "properties" : {"confirm" : {"type" : "boolean"}, "name" : {"type" : "string"}}            \
    })

static void confirm_delete(cw_call *call)
{
    const char *name = cw_arg_text(call, "filename", "");
    const cw_value *answer =
        cw_ask_form(call, "confirm", cw_format(call, "Delete %s?", name), CONFIRM);
    if (!answer)
        return;
    bool is_sure = cw_value_bool(call, cw_value_get(cw_answer_content(answer), "confirm"), false);
    cw_content_format(call, is_sure ? "Deleted %s." : "Kept %s.", name);
}
CW_METHOD(confirm_delete, "confirm_delete", .usage = "Deletes nothing, after a question.",
          .params = {{"filename", .schema = CW_JSON({"type" : "string"}), .required = true}});
CW_TOOL(confirm_delete, .task = "always");

static void multi_input(cw_call *call)
{
    const cw_value *first = cw_ask_form(call, "first", "The first?", CONFIRM);
    const cw_value *second = cw_ask_form(call, "second", "The second?", CONFIRM);
    if (first && second)
        cw_content_text(call, "Both are answered.");
}
CW_METHOD(multi_input, "multi_input", .usage = "Asks two things at once.");
CW_TOOL(multi_input, .task = "always");

/* The question comes within the time of grace, and the work takes longer. */
static void tool_with_task(cw_call *call)
{
    const cw_value *answer = cw_ask_form(call, "name", "Your name?", CW_JSON({
                                             "type" : "object",
                                             "properties" : {"name" : {"type" : "string"}},
                                             "required" : ["name"]
                                         }));
    if (answer && wait_s(call, 2))
        cw_content_format(
            call, "Done for %s.",
            cw_value_text(call, cw_value_get(cw_answer_content(answer), "name"), "nobody"));
}
CW_METHOD(tool_with_task, "test_tool_with_task", .usage = "Asks, and then takes its time.");
CW_TOOL(tool_with_task, .task = "auto");
