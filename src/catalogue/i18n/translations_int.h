/* SPDX-License-Identifier: GPL-2.0-or-later */
/* translations_int.h - what finding files and looking into them share. */
#ifndef CW_CATALOGUE_I18N_TRANSLATIONS_INT_H
#define CW_CATALOGUE_I18N_TRANSLATIONS_INT_H

#include <stdatomic.h>

#include "base/arena.h"
#include "catalogue/i18n/mo.h"
#include "catalogue/i18n/translations.h"

struct cw_language {
    cw_str tag;
    cw_mo *files;
    size_t n_files;
};

struct cw_translations {
    atomic_uint refs;
    cw_arena arena;
    cw_language *items; /* sorted by tag */
    size_t n;
    const cw_language *default_value;
};

#endif
