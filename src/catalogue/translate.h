/* SPDX-License-Identifier: GPL-2.0-or-later */
/* translate.h - methods and tools in another language.
 *
 * Title, usage and the descriptions of parameters are translated. Names, schemas and annotations stay as
 * their author wrote them, including the texts inside them.
 *
 * Threads: no state.
 */
#ifndef CW_CATALOGUE_TRANSLATE_H
#define CW_CATALOGUE_TRANSLATE_H

#include "base/buf.h"
#include "catalogue/i18n/translations.h"
#include "catalogue/view.h"

/* The method in this language: a copy in the arena, which borrows from both, or the method itself
 * where nothing is translated. NULL without memory. */
const cw_method *cw_translate_method(const cw_language *language, const cw_method *method,
                                     cw_arena *arena);
/* Append the tool object. Errors are sticky in `out`. */
void cw_translate_tool(cw_buf *out, const cw_entry *entry, cw_tool_form form,
                       const cw_language *language);

/* A text that can be translated. */
typedef struct cw_phrase {
    cw_str text;
    cw_str param; /* whose description it is; empty: of the method */
    bool is_title;
} cw_phrase;

/* The i-th text of a method that is not empty, in order: title, usage, parameters. *at begins with
 * 0; false at the end. */
bool cw_phrase_next(const cw_method *method, size_t *at, cw_phrase *ret);

#endif
