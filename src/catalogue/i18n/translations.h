/* SPDX-License-Identifier: GPL-2.0-or-later */
/* translations.h - the available languages, and their texts.
 *
 * Read from the .mo files of a folder, in the layouts that gettext's tools make:
 *
 *     de.mo    pt_BR.mo    fr/articles.mo    fr/LC_MESSAGES/shop.mo
 *
 * All files of a language count, in the order of their paths: the first that has a
 * text wins. The language that the texts of plugins are written in is there
 * without a file.
 *
 * Ownership: reference counted; a language lives as long as its translations.
 * Threads:   loaded on one thread, then read by all; references are counted atomically.
 * Limits:    max_bytes and CW_TRANSLATIONS_MAX_FILES of all files together.
 */
#ifndef CW_CATALOGUE_I18N_TRANSLATIONS_H
#define CW_CATALOGUE_I18N_TRANSLATIONS_H

#include "base/err.h"
#include "base/str.h"

typedef struct cw_translations cw_translations;
typedef struct cw_language cw_language;

typedef struct cw_translations_opts {
    const char *folder;
    cw_str original;      /* what the texts are written in: "en" */
    cw_str default_value; /* for those who ask for no other; one that is there */
    size_t max_bytes;     /* of all files; 0: CW_TRANSLATIONS_MAX_BYTES */
} cw_translations_opts;

/* CW_IO when the folder or a file cannot be read, CW_PARAMS when a file is not right or there is no
 * language `initial`, CW_LIMIT, CW_NOMEM; the message names the file. */
CW_MUST_USE cw_code cw_translations_load(const cw_translations_opts *opts, cw_translations **ret,
                                         cw_err *err);
/* NULL is fine for all of these. */
cw_translations *cw_translations_ref(cw_translations *t);
void cw_translations_unref(cw_translations *t);
/* Whether both have the same languages with the same files, byte for byte. */
bool cw_translations_equal(const cw_translations *a, const cw_translations *b);

/* The i-th language by its tag; NULL behind the last. */
const cw_language *cw_translations_at(const cw_translations *t, size_t i);
const cw_language *cw_translations_default(const cw_translations *t);
/* The language for `range`: itself, else a wider one ("pt" for "pt-BR"), else the first narrower
 * one ("pt-BR" for "pt"); NULL if none matches. */
const cw_language *cw_translations_match(const cw_translations *t, cw_str range);

/* "pt-BR". NULL has the empty tag. */
cw_str cw_language_tag(const cw_language *language);
/* The text of a method in this language: as translated for this method (msgctxt is its id), else as
 * translated without a context, else as it is. NULL: as it is. */
cw_str cw_language_text(const cw_language *language, cw_str method, cw_str text);

#endif
