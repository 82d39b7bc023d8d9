/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text.c - small functions for strings and types. */
#include "schema/model/model.h"

static bool is_ascii(cw_str text)
{
    uint64_t all = 0;
    size_t i = 0;
    for (; i + 8 <= text.n; i += 8)
        all |= cw_json_load8(text.p + i);
    /* The last eight bytes, some of them for the second time. */
    if (text.n >= 8)
        all |= cw_json_load8(text.p + text.n - 8);
    else
        for (; i < text.n; i++)
            all |= (uint8_t)text.p[i];
    return !(all & UINT64_C(0x8080808080808080));
}

/* Bytes that do not continue a character, eight at a time. */
size_t cw_schema_code_points(cw_str text)
{
    if (is_ascii(text))
        return text.n;
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t continued = 0;
    size_t i = 0;
    for (; i + 8 <= text.n; i += 8) {
        uint64_t x = cw_json_load8(text.p + i);
        uint64_t bits = x >> 7 & ~(x >> 6) & ones;
        continued += (size_t)(bits * ones >> 56);
    }
    for (; i < text.n; i++)
        continued += ((uint8_t)text.p[i] & 0xC0) == 0x80;
    return text.n - continued;
}

uint32_t cw_schema_type_bit(cw_str name)
{
    static const struct {
        cw_str name;
        uint32_t bits;
    } types[] = {
        {CW_STR_INIT("string"), TYPE_BIT(CW_JSON_STRING)},
        {CW_STR_INIT("integer"), TYPE_INTEGER},
        {CW_STR_INIT("number"), TYPE_BIT(CW_JSON_NUMBER)},
        {CW_STR_INIT("boolean"), TYPE_BIT(CW_JSON_FALSE) | TYPE_BIT(CW_JSON_TRUE)},
        {CW_STR_INIT("object"), TYPE_BIT(CW_JSON_OBJECT)},
        {CW_STR_INIT("array"), TYPE_BIT(CW_JSON_ARRAY)},
        {CW_STR_INIT("null"), TYPE_BIT(CW_JSON_NULL)},
    };
    for (size_t i = 0; i < CW_COUNT(types); i++) {
        if (cw_str_eq(types[i].name, name))
            return types[i].bits;
    }
    return 0;
}

uint32_t cw_schema_type_bits(const cw_json *type)
{
    if (cw_json_is(type, CW_JSON_STRING))
        return cw_schema_type_bit(cw_json_text(type));
    uint32_t bits = 0;
    for (const cw_json *t = cw_json_first(type); t; t = cw_json_next(t))
        bits |= cw_schema_type_bit(cw_json_text(t));
    return bits;
}
