/* SPDX-License-Identifier: GPL-2.0-or-later */
/* preset_events.h - events of known kinds of services, so that the operator only names them.
 *
 * Ownership: texts are static.
 * Threads:   constant.
 */
#ifndef CW_SOURCE_UPSTREAM_PRESET_EVENTS_H
#define CW_SOURCE_UPSTREAM_PRESET_EVENTS_H

#include "config/config.h"

/* The events of a preset; NULL: it has none. */
const cw_config_event *cw_preset_events(cw_str preset, size_t *ret_n);
/* An entry of the operator, with the values of a row of the preset where it has none. */
cw_config_event cw_preset_event_merge(const cw_config_event *own, const cw_config_event *row);

#endif
