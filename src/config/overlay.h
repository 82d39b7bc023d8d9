/* SPDX-License-Identifier: GPL-2.0-or-later */
/* overlay.h - a file with what the operator says about the methods of one service, as
 * `causeway import` writes it:
 *
 *     methods:
 *       - method: aria2.tellStatus
 *         tool: false
 *         read_only: true
 *
 * The same keys as `methods`, `resources`, `templates` and `prompts` of an entry of `sources`, in a
 * file of their own.
 *
 * Ownership: the file owns its texts.
 * Threads:   immutable.
 */
#ifndef CW_CONFIG_OVERLAY_H
#define CW_CONFIG_OVERLAY_H

#include "config/config.h"

typedef struct cw_config_overlay_file cw_config_overlay_file;

/* CW_CONFIG with the first mistake ("overlay.yaml:3:5: methods[0].ttitle: unknown key…") and the
 * number of others; CW_IO, CW_NOMEM. All mistakes are added to `problems`, which may be NULL. */
CW_MUST_USE cw_code cw_config_overlay_read(const char *path, cw_config_overlay_file **ret,
                                           cw_config_problems *problems, cw_err *err);
/* None of NULL. */
cw_config_overlay_lists cw_config_overlay_lists_of(const cw_config_overlay_file *file);
/* NULL is fine. */
void cw_config_overlay_free(cw_config_overlay_file *file);

/* Whether two entries say the same, whatever line they stand on. */
bool cw_config_remote_equal(const cw_config_remote *a, const cw_config_remote *b);
/* The same for events of plugins. */
bool cw_config_events_equal(const cw_config_events *a, const cw_config_events *b);

#endif
