/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slow.c - a plugin that takes its time to load: longer than a client on a pipe is waited for. */
#include <causeway/plugin.h>

#include <time.h>

CW_PLUGIN("slow", "1.0");

#define LOAD_MS 900

__attribute__((constructor)) static void take_time(void)
{
    struct timespec t = {.tv_sec = 0, .tv_nsec = LOAD_MS * 1000000L};
    while (nanosleep(&t, &t) != 0)
        ;
}

static void echo(cw_call *call)
{
    cw_put_text(call, NULL, cw_arg_text(call, "message", ""));
}
CW_METHOD(echo, "slow.echo", .usage = "Returns the message.",
          .params = {{"message", .schema = CW_JSON({"type" : "string"}), .required = true}},
          .permissions = {"access content"});
CW_TOOL(echo);
