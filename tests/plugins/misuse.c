/* SPDX-License-Identifier: GPL-2.0-or-later */
/* misuse.c - every wrong way to write a result or to read an argument. */
#include <causeway/plugin.h>

#include <math.h>
#include <stdlib.h>

CW_PLUGIN("misuse", "1.0");

static void nothing(cw_call *call)
{
    (void)call;
}
CW_METHOD(nothing, "misuse.nothing");

static void unclosed(cw_call *call)
{
    cw_open_object(call, NULL);
    cw_open_array(call, "list");
}
CW_METHOD(unclosed, "misuse.unclosed");

static void overclosed(cw_call *call)
{
    cw_open_object(call, NULL);
    cw_close(call);
    cw_close(call);
}
CW_METHOD(overclosed, "misuse.overclosed");

static void keyless(cw_call *call)
{
    cw_open_object(call, NULL);
    cw_put_int(call, NULL, 1);
    cw_close(call);
}
CW_METHOD(keyless, "misuse.keyless");

static void keyed(cw_call *call)
{
    cw_open_array(call, NULL);
    cw_put_int(call, "a", 1);
    cw_close(call);
}
CW_METHOD(keyed, "misuse.keyed");

static void twice(cw_call *call)
{
    cw_put_int(call, NULL, 1);
    cw_put_int(call, NULL, 2);
}
CW_METHOD(twice, "misuse.twice");

static void duplicate(cw_call *call)
{
    cw_open_object(call, NULL);
    cw_put_int(call, "a", 1);
    cw_put_int(call, "a", 2);
    cw_close(call);
}
CW_METHOD(duplicate, "misuse.duplicate");

static void raw(cw_call *call)
{
    cw_open_array(call, NULL);
    cw_put_json(call, NULL, "1],\"error\":[2");
    cw_close(call);
}
CW_METHOD(raw, "misuse.raw");

static void deep(cw_call *call)
{
    int64_t depth = cw_arg_int(call, "depth", 1000);
    for (int64_t i = 0; i < depth; i++)
        cw_open_array(call, NULL);
    for (int64_t i = 0; i < depth; i++)
        cw_close(call);
}
CW_METHOD(deep, "misuse.deep", .params = {{"depth"}});

static void data(cw_call *call)
{
    cw_error(call, 7, "the error stays");
    cw_close(call);
}
CW_METHOD(data, "misuse.data");

static void odd(cw_call *call)
{
    cw_open_array(call, NULL);
    cw_put_text(call, NULL, NULL);
    cw_put_text(call, NULL, "caf\xe9");
    cw_put_double(call, NULL, (double)NAN);
    cw_put_value(call, NULL, NULL);
    cw_call_progress(call, (double)INFINITY, 1, NULL);
    cw_call_log(call, (cw_level)99, "%s", "an unknown level");
    cw_call_log(NULL, CW_LEVEL_WARN, "of no call");
    cw_close(call);
}
CW_METHOD(odd, "misuse.odd");

/* Announcements of no call, right ones and wrong ones. */
static void announce(cw_call *call)
{
    cw_resource_updated(NULL, "x:y");
    cw_resource_updated(NULL, NULL);
    cw_lists_changed(NULL, "resources");
    cw_lists_changed(NULL, "all");
    cw_result_text(call, "announced");
}
CW_METHOD(announce, "misuse.announce");

/* Takes all the memory there is for as long as the result is put. */
static void starve(cw_call *call)
{
    enum { MAX = 4096 };
    static void *hoard[MAX];
    size_t n = 0;
    for (size_t size = (size_t)1 << 24; size >= 16; size /= 2)
        while (n < MAX && (hoard[n] = malloc(size)) != NULL)
            n++;
    cw_open_array(call, NULL);
    for (int i = 0; i < 1000; i++)
        cw_put_format(call, NULL, "%1000d", i);
    cw_close(call);
    while (n > 0)
        free(hoard[--n]);
}
CW_METHOD(starve, "misuse.starve");
