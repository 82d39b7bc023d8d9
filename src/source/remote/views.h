/* SPDX-License-Identifier: GPL-2.0-or-later */
/* views.h - the views of a service's tools (catalogue/ui.h): those that the operator sets, and those
 * that an MCP server has for its tools.
 *
 * Ownership: everything is in the arena of the source.
 * Threads:   the main one; it waits for the disk.
 * Limits:    CW_UI_MAX_BYTES of a file.
 */
#ifndef CW_SOURCE_REMOTE_VIEWS_H
#define CW_SOURCE_REMOTE_VIEWS_H

#include "source/remote/remote_int.h"

/* All zero before the first method. */
typedef struct cw_remote_views {
    cw_buf *warnings;  /* a view that reaches other servers has a line */
    cw_str file, html; /* that were read last: methods that share a file share its bytes */
} cw_remote_views;

/* Set the view of a tool, if it has one. CW_PARAMS with the reason; CW_NOMEM. */
CW_MUST_USE cw_code cw_remote_add_view(cw_remote_views *views, cw_remote *r,
                                       const cw_config_overlay *o, cw_method *m, cw_err *err);

#endif
