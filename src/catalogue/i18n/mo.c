/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mo.c - checks a .mo file and finds texts in it. */
#include "catalogue/i18n/mo.h"

#include "base/utf8.h"

#define MAGIC 0x950412DEu
#define MAGIC_SWAPPED 0xDE120495u
#define HEADER_BYTES 28u
#define ROW_BYTES 8u
#define NEWEST_MAJOR 1u
#define CONTEXT_END '\4'

static uint32_t read_u32(const cw_mo *mo, size_t at)
{
    uint32_t v;
    memcpy(&v, mo->bytes.p + at, sizeof v);
    return mo->is_swapped ? __builtin_bswap32(v) : v;
}

/* String `i` of one of the two tables, with its plural forms. */
static cw_str string_at(const cw_mo *mo, uint32_t table, uint32_t i)
{
    size_t row = table + (size_t)i * ROW_BYTES;
    return cw_str_make(mo->bytes.p + read_u32(mo, row + 4), read_u32(mo, row));
}

static cw_str first_form(cw_str s)
{
    cw_str rest;
    return cw_str_cut(s, '\0', &rest);
}

/* ---- checking ---- */

static cw_code check_table(const cw_mo *mo, uint32_t table, uint64_t *total, cw_err *err)
{
    uint64_t size = mo->bytes.n;
    if (table + (uint64_t)mo->n * ROW_BYTES > size)
        return cw_fail(err, CW_PARAMS, "a table reaches behind the end of the file");
    for (uint32_t i = 0; i < mo->n; i++) {
        size_t row = table + (size_t)i * ROW_BYTES;
        uint64_t length = read_u32(mo, row), at = read_u32(mo, row + 4);
        if (at + length >= size)
            return cw_fail(err, CW_PARAMS, "string %u reaches behind the end of the file", i);
        if (mo->bytes.p[at + length] != '\0')
            return cw_fail(err, CW_PARAMS, "string %u does not end with a NUL", i);
        /* Strings on top of each other would make a small file take long to read. */
        *total += length + 1;
        if (*total > size)
            return cw_fail(err, CW_PARAMS, "strings share bytes");
        if (!cw_utf8_is_valid(string_at(mo, table, i)))
            return cw_fail(err, CW_PARAMS, "string %u is not UTF-8", i);
    }
    return CW_OK;
}

/* Looking up halves the table again and again. */
static cw_code check_order(const cw_mo *mo, cw_err *err)
{
    for (uint32_t i = 1; i < mo->n; i++) {
        cw_str before = first_form(string_at(mo, mo->ids, i - 1));
        if (cw_str_cmp(before, first_form(string_at(mo, mo->ids, i))) >= 0)
            return cw_fail(err, CW_PARAMS, "string %u is not sorted", i);
    }
    return CW_OK;
}

/* The translation of "" is a header of lines such as "Content-Type: text/plain; charset=UTF-8". */
static cw_code check_charset(const cw_mo *mo, cw_err *err)
{
    const cw_str name = CW_STR("charset=");
    cw_str rest = CW_STR("");
    if (mo->n && string_at(mo, mo->ids, 0).n == 0)
        rest = string_at(mo, mo->texts, 0);
    while (rest.p) {
        cw_str line = cw_str_cut(rest, '\n', &rest);
        const char *at = line.n ? memmem(line.p, line.n, name.p, name.n) : NULL;
        if (!cw_str_starts(line, CW_STR("Content-Type:")) || !at)
            continue;
        cw_str charset = cw_str_make(at + name.n, (size_t)(line.p + line.n - at) - name.n);
        charset = cw_str_trim(charset);
        if (!cw_str_ieq(charset, CW_STR("UTF-8")) && !cw_str_ieq(charset, CW_STR("US-ASCII")) &&
            !cw_str_ieq(charset, CW_STR("ASCII")))
            return cw_fail(err, CW_PARAMS, "its charset is '%.*s', not UTF-8",
                           CW_STR_ARG(cw_str_make(charset.p, charset.n < 32 ? charset.n : 32)));
    }
    return CW_OK;
}

cw_code cw_mo_open(cw_str bytes, cw_mo *ret, cw_err *err)
{
    cw_mo mo = {.bytes = bytes};
    uint64_t total = 0;
    uint32_t magic = bytes.n >= HEADER_BYTES ? read_u32(&mo, 0) : 0;
    if (magic != MAGIC && magic != MAGIC_SWAPPED)
        return cw_fail(err, CW_PARAMS, "it is no .mo file");
    mo.is_swapped = magic == MAGIC_SWAPPED;
    uint32_t revision = read_u32(&mo, 4);
    if (revision >> 16 > NEWEST_MAJOR)
        return cw_fail(err, CW_PARAMS, "revision %u of .mo files is not known", revision >> 16);
    mo.n = read_u32(&mo, 8);
    mo.ids = read_u32(&mo, 12);
    mo.texts = read_u32(&mo, 16);
    cw_code rc = check_table(&mo, mo.ids, &total, err);
    if (!rc)
        rc = check_table(&mo, mo.texts, &total, err);
    if (!rc)
        rc = check_order(&mo, err);
    if (!rc)
        rc = check_charset(&mo, err);
    if (!rc)
        *ret = mo;
    return rc;
}

/* ---- looking up ---- */

/* "context\4text", or text alone, against an id; as cw_str_cmp. */
static int compare(cw_str context, cw_str text, cw_str id)
{
    if (!context.p)
        return cw_str_cmp(text, id);
    size_t n = context.n < id.n ? context.n : id.n;
    int order = cw_str_cmp(cw_str_make(context.p, n), cw_str_make(id.p, n));
    if (order)
        return order;
    if (id.n <= context.n)
        return 1; /* it is the beginning of ours */
    unsigned char end = (unsigned char)id.p[context.n];
    if (end != CONTEXT_END)
        return CONTEXT_END < end ? -1 : 1;
    return cw_str_cmp(text, cw_str_make(id.p + context.n + 1, id.n - context.n - 1));
}

cw_str cw_mo_find(const cw_mo *mo, cw_str context, cw_str text)
{
    const cw_str none = {NULL, 0};
    uint32_t low = 0, high = mo->n;
    /* "" is the header, and a text that looks as if it had a context is none of ours. */
    if (text.n == 0 || memchr(text.p, CONTEXT_END, text.n))
        return none;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = compare(context, text, first_form(string_at(mo, mo->ids, middle)));
        if (order == 0) {
            cw_str found = first_form(string_at(mo, mo->texts, middle));
            return found.n ? found : none;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return none;
}
