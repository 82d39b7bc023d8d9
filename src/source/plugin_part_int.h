/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_part_int.h - between the calls of a part (plugin_part.c) and its life (plugin.c). */
#ifndef CW_SOURCE_PLUGIN_PART_INT_H
#define CW_SOURCE_PLUGIN_PART_INT_H

#include "source/plugin_int.h"

extern const cw_worker_ops cw_plugin_part_worker_ops;

void cw_plugin_op_unlink(cw_plugin_op *op);
/* Back to the pool. */
void cw_plugin_op_free(cw_plugin_part *part, cw_plugin_op *op);
/* Close a part of a retired plugin that has no calls. */
void cw_plugin_part_settle(cw_plugin_part *part);
/* A worker has nothing to do. */
void cw_plugin_part_rest(cw_plugin_part *part, cw_worker *w);
void cw_plugin_part_on_retry(uv_timer_t *timer);
void cw_plugin_part_on_hungry(cw_deadline *d);
/* Free a closing part whose last worker is gone. */
void cw_plugin_part_check_gone(cw_plugin_part *part);

#endif
