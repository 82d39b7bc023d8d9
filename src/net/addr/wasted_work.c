/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wasted_work.c - slots of networks and sources, and their limits.
 *
 * Valid requests do not use the slots, except while some client wastes work and for HALVINGS seconds
 * after that.
 */
#include "net/addr/wasted_work.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/map.h"
#include "net/addr/network.h"

#define HALVINGS 6u
#define NS_PER_S UINT64_C(1000000000)

/* An address by its largest network; names of sources are no addresses and stay as they are. */
static cw_wasted_work_slot *slot_of(cw_wasted_work *w, cw_str who)
{
    char text[CW_NETWORK_TEXT];
    cw_str network = cw_network_text(who, CW_NETWORK_LEVELS - 1, text);
    return &w->slots[cw_hash(network) % CW_WASTED_WORK_SLOTS];
}

/* One halving less for each second that went by. */
static void recover(cw_wasted_work_slot *slot, uint64_t now)
{
    uint64_t seconds = (now - slot->since_ns) / NS_PER_S;
    if (seconds == 0)
        return;
    slot->halvings = seconds < slot->halvings ? slot->halvings - (uint32_t)seconds : 0;
    slot->since_ns += seconds * NS_PER_S;
}

int64_t cw_wasted_work_ceiling(cw_wasted_work *w, cw_str who, int64_t steps)
{
    if (CW_LIKELY(!w->until_ns))
        return steps;
    uint64_t now = cw_clock_ns();
    if (now >= w->until_ns) {
        w->until_ns = 0;
        return steps;
    }
    cw_wasted_work_slot *slot = slot_of(w, who);
    if (slot->halvings)
        recover(slot, now);
    return steps >> slot->halvings;
}

void cw_wasted_work_add(cw_wasted_work *w, cw_str who, int64_t steps, int64_t spent)
{
    if (spent < steps >> HALVINGS)
        return;
    uint64_t now = cw_clock_ns();
    cw_wasted_work_slot *slot = slot_of(w, who);
    recover(slot, now);
    if (slot->halvings == 0)
        slot->since_ns = now;
    if (slot->halvings < HALVINGS)
        slot->halvings++;
    w->until_ns = now + HALVINGS * NS_PER_S;
}
