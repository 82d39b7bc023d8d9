/* SPDX-License-Identifier: GPL-2.0-or-later */
/* faults.c - everything that a plugin can do to its process and to the socket. */
#include <causeway/plugin.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOCKET 3 /* of the plugin host */
#define MEMORY_STEP (1u << 20)
#define MEMORY_MAX (512u << 20) /* where nobody has set a limit */

CW_PLUGIN("faults", "1.0");

/* A frame of which `sent` bytes are written. */
static void write_frame(cw_call *call, uint32_t length, const char *body, size_t sent)
{
    char frame[256] = {0};
    uint64_t id = 1;
    memcpy(frame, &length, sizeof(length));
    memcpy(frame + 4, &id, sizeof(id));
    memcpy(frame + 12, body, strlen(body));
    if (write(SOCKET, frame, sent) != (ssize_t)sent)
        cw_error(call, CW_ERROR_INTERNAL, "the socket took less than %zu bytes", sent);
}

static void ok(cw_call *call)
{
    cw_result_text(call, "ok");
}
CW_METHOD(ok, "faults.ok", .usage = "Does nothing wrong.", .permissions = {"access content"});
CW_TOOL(ok);

static void segv(cw_call *call)
{
    (void)call;
    raise(SIGSEGV);
}
CW_METHOD(segv, "faults.segv", .permissions = {"access content"});
CW_TOOL(segv);

static void abort_now(cw_call *call)
{
    (void)call;
    abort();
}
CW_METHOD(abort_now, "faults.abort", .permissions = {"access content"});
CW_TOOL(abort_now);

static void exit_now(cw_call *call)
{
    (void)call;
    exit(3);
}
CW_METHOD(exit_now, "faults.exit", .permissions = {"access content"});
CW_TOOL(exit_now);

static volatile int spin = 1;

static void hang(cw_call *call)
{
    while (spin)
        ;
    cw_put_null(call, NULL);
}
CW_METHOD(hang, "faults.hang", .permissions = {"access content"});
CW_TOOL(hang);

static void deadlock(cw_call *call)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
    cw_put_null(call, NULL);
}
CW_METHOD(deadlock, "faults.deadlock", .permissions = {"access content"});
CW_TOOL(deadlock);

static void garbage(cw_call *call)
{
    const char *body = "{\"jsonrpc\": 2.0, \"result\" \x01 ]";
    write_frame(call, (uint32_t)strlen(body), body, 12 + strlen(body));
    cw_put_null(call, NULL);
}
CW_METHOD(garbage, "faults.garbage", .permissions = {"access content"});
CW_TOOL(garbage);

static void half(cw_call *call)
{
    const char *body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":true}";
    write_frame(call, (uint32_t)strlen(body), body, 12 + strlen(body) / 2);
    _exit(0);
}
CW_METHOD(half, "faults.half", .permissions = {"access content"});
CW_TOOL(half);

static void oversized(cw_call *call)
{
    write_frame(call, 0xfffffff0u, "{", 13);
    cw_put_null(call, NULL);
}
CW_METHOD(oversized, "faults.oversized", .permissions = {"access content"});
CW_TOOL(oversized);

static void memory(cw_call *call)
{
    (void)call;
    for (size_t n = 0; n < MEMORY_MAX; n += MEMORY_STEP) {
        char *volatile p = malloc(MEMORY_STEP);
        if (!p)
            break;
        memset(p, 1, MEMORY_STEP);
    }
    abort();
}
CW_METHOD(memory, "faults.memory", .permissions = {"access content"});
CW_TOOL(memory);
