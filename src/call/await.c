/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call/await.h"

#include "call/call_int.h"

static void on_later(cw_later *later)
{
    cw_await *w = CW_CONTAINER(later, cw_await, later);
    cw_bridge_loop *bl = w->watch.bl;
    cw_caller *caller = w->caller;
    cw_view *view = caller ? cw_bridge_view(bl, caller) : cw_bridge_anonymous(bl);
    w->caller = NULL;
    bl->n_awaiting--;
    w->on_ready(w, view);
    cw_caller_unref(caller);
}

/* Not from within the callback: what is started now must not meet a catalogue in change. */
static void on_change(cw_bridge_watch *watch, unsigned lists)
{
    cw_await *w = CW_CONTAINER(watch, cw_await, watch);
    (void)lists;
    cw_bridge_watch_remove(watch);
    cw_loop_do_later(watch->bl->loop, &w->later);
}

bool cw_await_begin(cw_bridge_loop *bl, const cw_view *view, cw_await *w)
{
    if (!cw_bridge_settings_of(bl)->is_loading || bl->n_awaiting >= CW_AWAIT_MAX)
        return false;
    bool is_anonymous = view == cw_bridge_anonymous(bl);
    bl->n_awaiting++;
    w->caller = is_anonymous ? NULL : cw_caller_ref(cw_view_caller(view));
    w->later = (cw_later){.fn = on_later};
    w->watch = (cw_bridge_watch){.is_always = true, .on_change = on_change};
    cw_bridge_watch_add(bl, &w->watch);
    return true;
}

void cw_await_end(cw_await *w)
{
    if (!w->watch.next && !w->later.next)
        return;
    cw_bridge_watch_remove(&w->watch);
    cw_loop_forget_later(&w->later);
    w->watch.bl->n_awaiting--;
    cw_caller_unref(w->caller);
    w->caller = NULL;
}
