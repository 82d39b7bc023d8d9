/* SPDX-License-Identifier: GPL-2.0-or-later */
/* catalogue_wait.c - calls that wait until a loading source is ready. */
#include "call/catalogue_wait.h"

#include "call/call_int.h"

static void on_later(cw_deferred *later)
{
    cw_catalogue_wait *w = CW_CONTAINER(later, cw_catalogue_wait, later);
    cw_runtime_loop *rl = w->watch.rl;
    cw_view *old = w->view;
    cw_view *view =
        cw_runtime_view_in(rl, w->is_anonymous ? NULL : cw_view_caller(old), cw_view_toolset(old));
    w->view = NULL;
    rl->n_awaiting--;
    w->on_ready(w, view);
    cw_view_unref(old);
}

/* Not from within the callback: what is started now must not meet a catalogue in change. */
static void on_change(cw_runtime_watch *watch, unsigned lists)
{
    cw_catalogue_wait *w = CW_CONTAINER(watch, cw_catalogue_wait, watch);
    (void)lists;
    cw_list_remove(&watch->node);
    cw_loop_defer(watch->rl->loop, &w->later);
}

bool cw_catalogue_wait_begin(cw_runtime_loop *rl, cw_view *view, cw_catalogue_wait *w)
{
    if (!cw_runtime_settings_of(rl)->is_loading || rl->n_awaiting >= CW_CATALOGUE_WAIT_MAX)
        return false;
    rl->n_awaiting++;
    w->view = cw_view_ref(view);
    w->is_anonymous = cw_runtime_is_anonymous(rl, view);
    w->later = (cw_deferred){.fn = on_later};
    w->watch = (cw_runtime_watch){.is_always = true, .on_change = on_change};
    cw_runtime_watch_add(rl, &w->watch);
    return true;
}

void cw_catalogue_wait_end(cw_catalogue_wait *w)
{
    if (!cw_list_is_in(&w->watch.node) && !cw_loop_is_deferred(&w->later))
        return;
    cw_list_remove(&w->watch.node);
    cw_loop_cancel_deferred(&w->later);
    w->watch.rl->n_awaiting--;
    cw_view_unref(w->view);
    w->view = NULL;
}
