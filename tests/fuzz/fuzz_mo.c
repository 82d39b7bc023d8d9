/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_mo.c - a .mo file. These hold:
 *
 *   - opening ends with a file or CW_PARAMS
 *   - what is found lies in the file and is UTF-8
 */
#include "fuzz.h"

#include "base/utf8.h"
#include "catalogue/i18n/mo.h"

#define NO_CONTEXT ((cw_str){NULL, 0})

static void look(const cw_mo *mo, cw_str context, cw_str text)
{
    cw_str found = cw_mo_find(mo, context, text);
    if (!found.p)
        return;
    CHECK(found.n > 0 && cw_utf8_is_valid(found));
    CHECK(found.p >= mo->bytes.p && found.p + found.n < mo->bytes.p + mo->bytes.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_str bytes = cw_str_make((const char *)data, size);
    cw_mo mo;
    cw_code rc = cw_mo_open(bytes, &mo, NULL);
    CHECK(rc == CW_OK || rc == CW_PARAMS);
    if (rc)
        return 0;
    /* Whatever stands between two NULs may be a text, with a context in front of it or without. */
    for (cw_str rest = bytes; rest.p;) {
        cw_str text = cw_str_cut(rest, '\0', &rest), behind;
        cw_str context = cw_str_cut(text, '\4', &behind);
        look(&mo, NO_CONTEXT, text);
        if (behind.p)
            look(&mo, context, behind);
    }
    return 0;
}
