/* SPDX-License-Identifier: GPL-2.0-or-later */
/* running.c - collects the running calls of all loops. */
#include "call/running.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "call/call_int.h"

typedef struct part {
    cw_message message;
    struct collection *whole;
    cw_runtime_loop *rl;
    cw_running_call *items; /* CW_RUNNING_CALLS of them */
    uint32_t n, n_left_out;
} part;

/* One list that is being made. */
typedef struct collection {
    cw_message message; /* to the main loop, with the last part */
    cw_loop *home;
    cw_running_fn fn;
    void *ctx;
    cw_running_call *items; /* of all parts */
    unsigned n_parts;
    atomic_uint n_open; /* parts without an answer */
    part parts[];
} collection;

/* ---- on a loop ---- */

static uint8_t copy(char *out, size_t max, cw_str text)
{
    size_t n = cw_utf8_cut(text, max);
    if (n)
        memcpy(out, text.p, n);
    return (uint8_t)n;
}

static void describe(const cw_exchange *ex, cw_running_call *ret)
{
    const cw_entry *entry = ex->entry;
    const cw_caller *caller = cw_view_caller(ex->view);
    cw_str name = cw_caller_is_anonymous(caller) ? CW_STR("") : cw_caller_name(caller);
    *ret = (cw_running_call){.begun_ns = ex->call.begun_ns,
                             .request = ex->ids.request,
                             .door = ex->door_name,
                             .is_waiting = ex->call.is_waiting};
    ret->n_tool = copy(ret->tool, sizeof ret->tool,
                       entry->tool_name.n ? entry->tool_name : entry->method->id);
    ret->n_source = copy(ret->source, sizeof ret->source, ex->active->source->name);
    ret->n_caller = copy(ret->caller, sizeof ret->caller, name);
}

static void close_part(part *p)
{
    collection *whole = p->whole;
    if (atomic_fetch_sub(&whole->n_open, 1) == 1)
        cw_loop_post(whole->home, &whole->message);
}

/* The calls of an operator who watches are left out. */
static void on_part(cw_message *message)
{
    part *p = CW_CONTAINER(message, part, message);
    const cw_runtime_loop *rl = p->rl;
    for (uint32_t i = 0; i < rl->n_slots; i++) {
        const cw_exchange *ex = rl->slots[i];
        if (ex->state != CW_EXCHANGE_RUNNING || cw_call_is_watching(ex->entry))
            continue;
        if (p->n < CW_RUNNING_CALLS)
            describe(ex, &p->items[p->n++]);
        else
            p->n_left_out++;
    }
    close_part(p);
}

/* The loop has ended: it has no calls. */
static void drop_part(cw_message *message)
{
    close_part(CW_CONTAINER(message, part, message));
}

/* ---- on the main loop ---- */

static int compare(const void *a, const void *b)
{
    const cw_running_call *x = a, *y = b;
    return (x->begun_ns > y->begun_ns) - (x->begun_ns < y->begun_ns);
}

static void free_collection(collection *whole)
{
    free(whole->items);
    free(whole);
}

/* The parts lie one behind the other, with room between them. */
static void join(collection *whole, cw_running_list *ret)
{
    *ret = (cw_running_list){.items = whole->items};
    for (unsigned i = 0; i < whole->n_parts; i++) {
        const part *p = &whole->parts[i];
        memmove(ret->items + ret->n, p->items, p->n * sizeof *p->items);
        ret->n += p->n;
        ret->left_out += p->n_left_out;
    }
    if (ret->n)
        qsort(ret->items, ret->n, sizeof *ret->items, compare);
}

static void on_collected(cw_message *message)
{
    collection *whole = CW_CONTAINER(message, collection, message);
    cw_running_list list;
    join(whole, &list);
    whole->fn(&list, whole->ctx);
    free_collection(whole);
}

static void drop_collected(cw_message *message)
{
    collection *whole = CW_CONTAINER(message, collection, message);
    whole->fn(NULL, whole->ctx);
    free_collection(whole);
}

cw_code cw_runtime_list_calls(cw_runtime *runtime, cw_loop *main_loop, cw_running_fn fn, void *ctx,
                              cw_err *err)
{
    unsigned n = cw_runtime_n_loops(runtime);
    collection *whole = calloc(1, sizeof *whole + n * sizeof *whole->parts);
    cw_running_call *items = calloc(n, CW_RUNNING_CALLS * sizeof *items);
    if (!whole || !items) {
        free(whole);
        free(items);
        return cw_fail_nomem(err);
    }
    whole->message = (cw_message){.fn = on_collected, .drop = drop_collected};
    whole->home = main_loop;
    whole->fn = fn;
    whole->ctx = ctx;
    whole->items = items;
    whole->n_parts = n;
    atomic_init(&whole->n_open, n);
    for (unsigned i = 0; i < n; i++)
        whole->parts[i] = (part){.message = {.fn = on_part, .drop = drop_part},
                                 .whole = whole,
                                 .rl = cw_runtime_part(runtime, i),
                                 .items = items + (size_t)i * CW_RUNNING_CALLS};
    for (unsigned i = 0; i < n; i++)
        cw_loop_post(whole->parts[i].rl->loop, &whole->parts[i].message);
    return CW_OK;
}
