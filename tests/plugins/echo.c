/* SPDX-License-Identifier: GPL-2.0-or-later */
/* echo.c - well-behaved methods, for tests and benchmarks of everything around them. */
#include <causeway/plugin.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

CW_PLUGIN("echo", "1.0");

static void nap(int64_t ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&t, &t) != 0)
        ;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void echo(cw_call *call)
{
    cw_open_object(call, NULL);
    cw_put_text(call, "message", cw_arg_text(call, "message", ""));
    cw_close(call);
}
CW_METHOD(echo, "test.echo", .usage = "Returns the message.",
          .params = {{"message", .schema = CW_JSON({"type" : "string"}),
                      .description = "What to return", .required = true}},
          .output = CW_JSON({
              "type" : "object",
              "properties" : {"message" : {"type" : "string"}},
              "required" : ["message"]
          }),
          .permissions = {"access content"});
CW_TOOL(echo, .title = "Echo", .annotations = CW_JSON({"readOnlyHint" : true}));

static void sleep_ms(cw_call *call)
{
    int64_t ms = cw_arg_int(call, "ms", 100), began = now_ms(), done;
    /* By the clock: on a busy machine each nap takes much longer than it should. */
    while ((done = now_ms() - began) < ms) {
        if (cw_call_cancelled(call)) {
            cw_error(call, CW_ERROR_CANCELLED, "cancelled after %d ms", (int)done);
            return;
        }
        nap(ms - done < 5 ? ms - done : 5);
    }
    cw_put_int(call, NULL, ms);
}
CW_METHOD(sleep_ms, "test.sleep", .usage = "Sleeps, and looks for a cancellation every 5 ms.",
          .params = {{"ms", .schema = CW_JSON({"type" : "integer", "minimum" : 0}),
                      .default_value = "100"}},
          .permissions = {"access content"});
CW_TOOL(sleep_ms);

static void sleep_deaf(cw_call *call)
{
    int64_t ms = cw_arg_int(call, "ms", 100);
    nap(ms);
    cw_put_int(call, NULL, ms);
}
CW_METHOD(sleep_deaf, "test.sleep_deaf", .usage = "Sleeps and never looks for a cancellation.",
          .params = {{"ms", .schema = CW_JSON({"type" : "integer", "minimum" : 0}),
                      .default_value = "100"}},
          .permissions = {"access content"});
CW_TOOL(sleep_deaf);

static void progress(cw_call *call)
{
    int64_t steps = cw_arg_int(call, "steps", 3);
    int64_t ms = cw_arg_int(call, "ms", 10);
    for (int64_t i = 1; i <= steps; i++) {
        nap(ms);
        if (cw_call_cancelled(call)) {
            cw_error(call, CW_ERROR_CANCELLED, "cancelled in step %d", (int)i);
            return;
        }
        cw_call_progress(call, (double)i, (double)steps, cw_arg_text(call, "message", "working"));
    }
    cw_open_object(call, NULL);
    cw_put_int(call, "steps", steps);
    cw_close(call);
}
CW_METHOD(progress, "test.progress", .usage = "Reports progress, one step at a time.",
          .params = {{"steps", .schema = CW_JSON({"type" : "integer"}), .default_value = "3"},
                     {"ms", .schema = CW_JSON({"type" : "integer"}), .default_value = "10"},
                     {"message", .schema = CW_JSON({"type" : "string"})}},
          .permissions = {"access content"});
CW_TOOL(progress);

static void caller(cw_call *call)
{
    cw_open_object(call, NULL);
    cw_put_text(call, "id", cw_caller_id(call));
    cw_put_text(call, "name", cw_caller_name(call));
    cw_put_text(call, "language", cw_caller_language(call));
    cw_put_bool(call, "may_access_content", cw_caller_may(call, "access content"));
    cw_open_array(call, "permissions");
    const char *name;
    for (size_t i = 0; (name = cw_caller_permission(call, i)) != NULL; i++)
        cw_put_text(call, NULL, name);
    cw_close(call);
    cw_close(call);
}
CW_METHOD(caller, "test.caller", .usage = "Returns who calls.", .permissions = {"access content"});
CW_TOOL(caller);

static void fail(cw_call *call)
{
    cw_error(call, (int)cw_arg_int(call, "code", -32000), "%s",
             cw_arg_text(call, "message", "failed on purpose"));
    if (cw_arg_has(call, "data"))
        cw_put_value(call, NULL, cw_arg(call, "data"));
}
CW_METHOD(fail, "test.fail", .usage = "Reports an error.",
          .params = {{"code", .schema = CW_JSON({"type" : "integer"})},
                     {"message", .schema = CW_JSON({"type" : "string"})},
                     {"data"}},
          .permissions = {"access content"});
CW_TOOL(fail);

static void log_line(cw_call *call)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    const char *wanted = cw_arg_text(call, "level", "info");
    for (int i = 0; i < 4; i++)
        if (strcmp(wanted, names[i]) == 0)
            cw_call_log(call, (cw_level)i, "%s", cw_arg_text(call, "message", ""));
    cw_put_bool(call, NULL, true);
}
CW_METHOD(log_line, "test.log", .usage = "Writes a log line.",
          .params = {{"message", .schema = CW_JSON({"type" : "string"}), .required = true},
                     {"level", .schema = CW_JSON({"enum" : [ "error", "warn", "info", "debug" ]})}},
          .permissions = {"access content"});
CW_TOOL(log_line);

static void large(cw_call *call)
{
    int64_t n = cw_arg_int(call, "bytes", 1024);
    char *text = n < 0 ? NULL : malloc((size_t)n + 1);
    if (!text) {
        cw_error(call, CW_ERROR_INTERNAL, "no memory for so many bytes");
        return;
    }
    memset(text, 'x', (size_t)n);
    cw_put_string(call, NULL, text, (size_t)n);
    free(text);
}
CW_METHOD(large, "test.large", .usage = "Returns a string of so many bytes.",
          .params = {{"bytes", .schema = CW_JSON({"type" : "integer", "minimum" : 0}),
                      .required = true}},
          .permissions = {"access content"});
CW_TOOL(large);

static void admin(cw_call *call)
{
    cw_result_text(call, "administered");
}
CW_METHOD(admin, "test.admin", .usage = "Only for administrators.",
          .permissions = {"administer site"});
CW_TOOL(admin);

static void scoped(cw_call *call)
{
    cw_result_text(call, "in scope");
}
CW_METHOD(scoped, "test.scoped", .usage = "Only for tokens with both scopes.",
          .permissions = {"access content"});
CW_TOOL(scoped, .title = "Scoped", .scopes = {"content:read", "content:write"},
        .auth_level = "required", .auth_description = "Needs a token.");

static void unmarked(cw_call *call)
{
    cw_result_text(call, "unmarked");
}
CW_METHOD(unmarked, "test.unmarked", .usage = "A method that is no tool.",
          .permissions = {"access content"});
