/* SPDX-License-Identifier: GPL-2.0-or-later */
/* short_text.h - descriptions that cost few tokens: their first sentence.
 *
 * A sentence ends at '.', '!' or '?' before white space that no lower-case letter follows, or at an empty
 * line. White space becomes single spaces. The whole text stays with the method: `describe`, the lock
 * file and validation use that.
 *
 * Threads: no state.
 * Limits:  CW_SHORT_TEXT_MAX bytes of a sentence; a longer one is cut between words.
 */
#ifndef CW_CATALOGUE_TOOL_SHORT_TEXT_H
#define CW_CATALOGUE_TOOL_SHORT_TEXT_H

#include "base/buf.h"
#include "json/json.h"

#define CW_SHORT_TEXT_MAX 240u

/* Append the first sentence. Errors are sticky in `out`. */
void cw_short_text_add(cw_buf *out, cw_str text);
/* Append a JSON Schema whose descriptions are their first sentences. Values (enum, const, default,
 * examples) stay as they are. Errors are sticky in `out`. */
void cw_short_text_add_schema(cw_buf *out, const cw_json *schema);

#endif
