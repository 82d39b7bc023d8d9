/* SPDX-License-Identifier: GPL-2.0-or-later */
/* broadcast.c - from one loop to the others: news of sources, answers and cancels of clients. */
#include <stdlib.h>

#include "call/call_int.h"

/* Messages on their way to one loop: a loop that is busy for long does not collect more. */
#define INCOMING_MAX 4096u

/* One loop's copy. */
typedef struct copy {
    cw_message message;
    cw_runtime_loop *rl;
    cw_caller *caller; /* a reference, or NULL */
    cw_runtime_fn fn;
    size_t n;
    char bytes[];
} copy;

static void free_copy(cw_message *message)
{
    copy *c = CW_CONTAINER(message, copy, message);
    atomic_fetch_sub(&c->rl->n_incoming, 1);
    cw_caller_unref(c->caller);
    free(c);
}

static void on_message(cw_message *message)
{
    copy *c = CW_CONTAINER(message, copy, message);
    c->fn(c->rl, cw_str_make(c->bytes, c->n));
    free_copy(message);
}

static copy *make_copy(cw_runtime_loop *rl, cw_caller *caller, cw_runtime_fn fn, cw_str bytes)
{
    bool is_full = atomic_fetch_add(&rl->n_incoming, 1) >= INCOMING_MAX;
    copy *c = is_full ? NULL : malloc(sizeof *c + bytes.n);
    if (!c) {
        atomic_fetch_sub(&rl->n_incoming, 1);
        return NULL;
    }
    *c = (copy){.message = {.fn = on_message, .drop = free_copy}, .rl = rl, .fn = fn, .n = bytes.n};
    if (caller)
        c->caller = cw_caller_ref(caller);
    if (bytes.n)
        memcpy(c->bytes, bytes.p, bytes.n);
    return c;
}

static void post(cw_runtime_loop *rl, cw_caller *caller, cw_runtime_fn fn, cw_str bytes)
{
    copy *c = make_copy(rl, caller, fn, bytes);
    if (c)
        cw_loop_post(rl->loop, &c->message);
    else
        cw_log(CW_LOG_WARN, "call", "message to event loop dropped",
               CW_KN("loop", rl->loop->index));
}

void cw_runtime_send(cw_runtime_loop *from, uint32_t index, cw_caller *caller, cw_runtime_fn fn,
                     cw_str bytes)
{
    cw_runtime_loop *rl = cw_runtime_loop_at(from->runtime, index);
    if (rl == from)
        fn(rl, bytes);
    else if (rl)
        post(rl, caller, fn, bytes);
}

void cw_runtime_broadcast(cw_runtime_loop *from, cw_runtime_fn fn, cw_str bytes)
{
    for (uint32_t i = 0; cw_runtime_loop_at(from->runtime, i); i++)
        cw_runtime_send(from, i, NULL, fn, bytes);
}

/* ---- news ---- */

/* In front of the address of the resource. */
typedef struct change_head {
    unsigned lists;
    const void *source;
} change_head;

static void on_change_event(cw_runtime_loop *rl, cw_str bytes)
{
    change_head head;
    memcpy(&head, bytes.p, sizeof head);
    cw_change change = {.lists = head.lists,
                        .uri = cw_str_make(bytes.p + sizeof head, bytes.n - sizeof head),
                        .source = head.source};
    cw_runtime_notify_watches(rl, &change, 0);
}

void cw_runtime_on_change(cw_change_sink *port, const cw_change *change)
{
    cw_runtime *b = cw_runtime_of_changes(port);
    char small[512];
    change_head head = {change->lists, change->source};
    size_t n = change->uri.n + sizeof head;
    char *bytes = n <= sizeof small ? small : malloc(n);
    if (!bytes) {
        cw_log(CW_LOG_WARN, "call", "no memory to pass news on");
        return;
    }
    memcpy(bytes, &head, sizeof head);
    if (change->uri.n)
        memcpy(bytes + sizeof head, change->uri.p, change->uri.n);
    for (uint32_t i = 0; cw_runtime_loop_at(b, i); i++)
        post(cw_runtime_loop_at(b, i), NULL, on_change_event, cw_str_make(bytes, n));
    if (bytes != small)
        free(bytes);
}
