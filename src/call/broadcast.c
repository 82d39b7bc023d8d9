/* SPDX-License-Identifier: GPL-2.0-or-later */
/* broadcast.c - from one loop to the others: news of sources, answers and cancels of clients. */
#include <stdlib.h>

#include "call/call_int.h"

/* One loop's copy. */
typedef struct cw_loop_message {
    struct cw_loop_message *prev, *next; /* of those on their way */
    cw_runtime_loop *rl;
    cw_caller *caller; /* a reference, or NULL */
    cw_runtime_fn fn;
    size_t n;
    char bytes[];
} message;

static void list(message *l)
{
    cw_loop_messages *all = cw_runtime_messages(l->rl->runtime);
    pthread_mutex_lock(&all->lock);
    l->next = all->first;
    if (l->next)
        l->next->prev = l;
    all->first = l;
    pthread_mutex_unlock(&all->lock);
}

static void unlist(message *l)
{
    cw_loop_messages *all = cw_runtime_messages(l->rl->runtime);
    pthread_mutex_lock(&all->lock);
    if (l->next)
        l->next->prev = l->prev;
    if (l->prev)
        l->prev->next = l->next;
    else
        all->first = l->next;
    pthread_mutex_unlock(&all->lock);
}

static void free_message(message *l)
{
    cw_caller_unref(l->caller);
    free(l);
}

static void on_message(void *arg)
{
    message *l = arg;
    unlist(l);
    l->fn(l->rl, cw_str_make(l->bytes, l->n));
    free_message(l);
}

static void post(cw_runtime_loop *rl, cw_caller *caller, cw_runtime_fn fn, cw_str bytes)
{
    message *l = malloc(sizeof *l + bytes.n);
    if (l) {
        *l = (message){.rl = rl, .fn = fn, .n = bytes.n};
        if (caller)
            l->caller = cw_caller_ref(caller);
        if (bytes.n)
            memcpy(l->bytes, bytes.p, bytes.n);
        list(l);
        if (!cw_loop_post(rl->loop, on_message, l))
            return;
        unlist(l);
        free_message(l);
    }
    cw_log(CW_LOG_WARN, "call", "a loop could not be told something",
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

void cw_loop_messages_init(cw_loop_messages *letters)
{
    pthread_mutex_init(&letters->lock, NULL);
}

void cw_loop_messages_done(cw_loop_messages *letters)
{
    while (letters->first) {
        message *l = letters->first;
        letters->first = l->next;
        free_message(l);
    }
    pthread_mutex_destroy(&letters->lock);
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
