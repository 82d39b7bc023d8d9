/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wasted_work.c - a lower limit for clients and sources that waste validation work.
 *
 * A request may cost limits.validation_steps, and a flood of requests that all fail could still occupy a
 * whole loop. So each expensive failure halves the limit of its network (for results: of its source),
 * down to 1/64, and each second doubles it again. Few others share a slot, and 1/64 is still ten times
 * more than an ordinary request needs.
 *
 * Valid requests do not use this table, except while some client on this loop wastes work.
 */
#include "base/clock.h"
#include "base/map.h"
#include "call/call_int.h"
#include "net/addr/network.h"

#define HALVINGS 6u
#define NS_PER_S UINT64_C(1000000000)

/* An address by its largest network; names of sources are no addresses and stay as they are. */
static cw_wasted_work *slot_of(cw_runtime_loop *rl, cw_str who)
{
    char text[CW_NETWORK_TEXT];
    cw_str network = cw_network_text(who, CW_NETWORK_LEVELS - 1, text);
    return &rl->waste[cw_hash(network) % CW_WASTED_WORK_SLOTS];
}

/* One halving less for each second that went by. */
static void recover(cw_wasted_work *w, uint64_t now)
{
    uint64_t seconds = (now - w->since_ns) / NS_PER_S;
    if (seconds == 0)
        return;
    w->halvings = seconds < w->halvings ? w->halvings - (uint32_t)seconds : 0;
    w->since_ns = now;
}

int64_t cw_wasted_work_ceiling(cw_runtime_loop *rl, cw_str who)
{
    int64_t steps = cw_call_steps(rl);
    if (CW_LIKELY(!rl->has_waste))
        return steps;
    cw_wasted_work *w = slot_of(rl, who);
    if (w->halvings)
        recover(w, cw_clock_ns());
    return steps >> w->halvings;
}

void cw_wasted_work_add(cw_runtime_loop *rl, cw_str who, int64_t steps)
{
    if (steps < cw_call_steps(rl) >> HALVINGS)
        return;
    uint64_t now = cw_clock_ns();
    cw_wasted_work *w = slot_of(rl, who);
    recover(w, now);
    if (w->halvings == 0)
        w->since_ns = now;
    if (w->halvings < HALVINGS)
        w->halvings++;
    rl->has_waste = true;
}
