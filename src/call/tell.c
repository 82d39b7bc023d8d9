/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tell.c - from one loop to the others: news of sources, answers and cancels of clients. */
#include <stdlib.h>

#include "call/call_int.h"

/* One loop's copy. */
typedef struct cw_letter {
    struct cw_letter *prev, *next; /* of those on their way */
    cw_bridge_loop *bl;
    cw_caller *caller; /* a reference, or NULL */
    cw_bridge_fn fn;
    size_t n;
    char bytes[];
} letter;

static void list(letter *l)
{
    cw_letters *all = cw_bridge_letters(l->bl->bridge);
    pthread_mutex_lock(&all->lock);
    l->next = all->first;
    if (l->next)
        l->next->prev = l;
    all->first = l;
    pthread_mutex_unlock(&all->lock);
}

static void unlist(letter *l)
{
    cw_letters *all = cw_bridge_letters(l->bl->bridge);
    pthread_mutex_lock(&all->lock);
    if (l->next)
        l->next->prev = l->prev;
    if (l->prev)
        l->prev->next = l->next;
    else
        all->first = l->next;
    pthread_mutex_unlock(&all->lock);
}

static void free_letter(letter *l)
{
    cw_caller_unref(l->caller);
    free(l);
}

static void on_letter(void *arg)
{
    letter *l = arg;
    unlist(l);
    l->fn(l->bl, cw_str_make(l->bytes, l->n));
    free_letter(l);
}

static void post(cw_bridge_loop *bl, cw_caller *caller, cw_bridge_fn fn, cw_str bytes)
{
    letter *l = malloc(sizeof *l + bytes.n);
    if (l) {
        *l = (letter){.bl = bl, .fn = fn, .n = bytes.n};
        if (caller)
            l->caller = cw_caller_ref(caller);
        if (bytes.n)
            memcpy(l->bytes, bytes.p, bytes.n);
        list(l);
        if (!cw_loop_post(bl->loop, on_letter, l))
            return;
        unlist(l);
        free_letter(l);
    }
    cw_log(CW_LOG_WARN, "call", "a loop could not be told something",
           CW_KN("loop", bl->loop->index));
}

void cw_bridge_tell_one(cw_bridge_loop *from, uint32_t index, cw_caller *caller, cw_bridge_fn fn,
                        cw_str bytes)
{
    cw_bridge_loop *bl = cw_bridge_loop_at(from->bridge, index);
    if (bl == from)
        fn(bl, bytes);
    else if (bl)
        post(bl, caller, fn, bytes);
}

void cw_bridge_tell(cw_bridge_loop *from, cw_bridge_fn fn, cw_str bytes)
{
    for (uint32_t i = 0; cw_bridge_loop_at(from->bridge, i); i++)
        cw_bridge_tell_one(from, i, NULL, fn, bytes);
}

void cw_letters_init(cw_letters *letters)
{
    pthread_mutex_init(&letters->lock, NULL);
}

void cw_letters_done(cw_letters *letters)
{
    while (letters->first) {
        letter *l = letters->first;
        letters->first = l->next;
        free_letter(l);
    }
    pthread_mutex_destroy(&letters->lock);
}

/* ---- news ---- */

/* In front of the address of the resource. */
typedef struct news_head {
    unsigned lists;
    const void *source;
} news_head;

static void on_news(cw_bridge_loop *bl, cw_str bytes)
{
    news_head head;
    memcpy(&head, bytes.p, sizeof head);
    cw_news news = {.lists = head.lists,
                    .uri = cw_str_make(bytes.p + sizeof head, bytes.n - sizeof head),
                    .source = head.source};
    cw_bridge_tell_watches(bl, &news, 0);
}

void cw_bridge_on_news(cw_news_port *port, const cw_news *news)
{
    cw_bridge *b = cw_bridge_of_news(port);
    char small[512];
    news_head head = {news->lists, news->source};
    size_t n = news->uri.n + sizeof head;
    char *bytes = n <= sizeof small ? small : malloc(n);
    if (!bytes) {
        cw_log(CW_LOG_WARN, "call", "no memory to pass news on");
        return;
    }
    memcpy(bytes, &head, sizeof head);
    if (news->uri.n)
        memcpy(bytes + sizeof head, news->uri.p, news->uri.n);
    for (uint32_t i = 0; cw_bridge_loop_at(b, i); i++)
        post(cw_bridge_loop_at(b, i), NULL, on_news, cw_str_make(bytes, n));
    if (bytes != small)
        free(bytes);
}
