/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wasted_work.h - a lower limit of work for networks and sources that waste it.
 *
 * One request, result or event may cost limits.validation_steps, and a flood of those that all fail could
 * still occupy a whole loop. So each expensive failure halves the limit of its network (for events: of
 * their source; for results: of source and caller), down to 1/64, and each second doubles it again. Few
 * others share a slot, and 1/64 is still ten times more than an ordinary request needs.
 *
 *     int64_t most = cw_wasted_work_ceiling(&waste, who, steps), left = most;
 *     if (validate(value, &left) == CW_PARAMS)
 *         cw_wasted_work_add(&waste, who, steps, most - left);
 *
 * Ownership: embedded in its owner; one without waste is zeroed memory.
 * Threads:   one at a time.
 * Limits:    CW_WASTED_WORK_SLOTS.
 */
#ifndef CW_NET_ADDR_WASTED_WORK_H
#define CW_NET_ADDR_WASTED_WORK_H

#include <stdint.h>

#include "base/str.h"

#define CW_WASTED_WORK_SLOTS 256u

/* Work that was expensive and failed, of all who share a slot. */
typedef struct cw_wasted_work_slot {
    uint64_t since_ns;
    uint32_t halvings; /* of the limit */
} cw_wasted_work_slot;

typedef struct cw_wasted_work {
    cw_wasted_work_slot slots[CW_WASTED_WORK_SLOTS];
    uint64_t until_ns; /* all slots have recovered then; 0: they have */
} cw_wasted_work;

/* `steps`, or less for the network of an address, or for other bytes that name a source, that has wasted
 * them. */
int64_t cw_wasted_work_ceiling(cw_wasted_work *w, cw_str who, int64_t steps);
/* Work that may cost `steps` has failed after `spent` of them. */
void cw_wasted_work_add(cw_wasted_work *w, cw_str who, int64_t steps, int64_t spent);

#endif
