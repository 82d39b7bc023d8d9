/* SPDX-License-Identifier: GPL-2.0-or-later */
/* annotations.h - the mark of a remote tool: what the operator says, and where he says nothing what
 * the service says of itself. For overlay.c alone. */
#ifndef CW_SOURCE_REMOTE_ANNOTATIONS_H
#define CW_SOURCE_REMOTE_ANNOTATIONS_H

#include "source/remote/remote_int.h"

/* Make m->mark and the level, scopes and hides of m->needs. `described` is the method in the
 * document, or NULL. Invalid values of the service are left out, with a warning;
 * its hints are shown, and is_read_only and is_idempotent are what the operator says. */
CW_MUST_USE cw_code cw_remote_mark(cw_remote *r, const cw_config_overlay *o,
                                   const cw_json *described, cw_arena *scratch, cw_buf *warnings,
                                   cw_method *m, cw_err *err);

#endif
