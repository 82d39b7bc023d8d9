/* SPDX-License-Identifier: GPL-2.0-or-later */
/* units.c - parses durations and sizes such as "75s" and "4MB". */
#include "config/syntax/units.h"

#include <inttypes.h>
#include <stdio.h>

#define DIGITS_MAX 9u

typedef struct unit {
    const char *name;
    uint64_t factor;
} unit;

/* Largest first: formatting takes the first that divides. */
static const unit durations[] = {{"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
static const unit sizes[] = {{"GB", 1u << 30}, {"MB", 1u << 20}, {"KB", 1u << 10}};

static bool parse(cw_str text, const unit *units, size_t n_units, uint64_t *ret)
{
    size_t digits = 0;
    while (digits < text.n && text.p[digits] >= '0' && text.p[digits] <= '9')
        digits++;
    uint64_t number;
    if (digits > DIGITS_MAX || (digits > 1 && text.p[0] == '0') ||
        !cw_str_to_u64(cw_str_make(text.p, digits), &number))
        return false;
    cw_str name = cw_str_make(text.p + digits, text.n - digits);
    for (size_t i = 0; i < n_units; i++) {
        if (cw_str_is(name, units[i].name)) {
            /* Below 10^9 * 2^30: no overflow. */
            *ret = number * units[i].factor;
            return true;
        }
    }
    return false;
}

static const unit *largest(uint64_t value, const unit *units, size_t n_units)
{
    for (size_t i = 0; i < n_units; i++)
        if (value && value % units[i].factor == 0)
            return &units[i];
    return NULL;
}

bool cw_units_parse_duration(cw_str text, uint64_t *ret_ms)
{
    return parse(text, durations, CW_COUNT(durations), ret_ms);
}

bool cw_units_parse_size(cw_str text, uint64_t *ret_bytes)
{
    return parse(text, sizes, CW_COUNT(sizes), ret_bytes);
}

const char *cw_units_format_duration(uint64_t ms, char out[CW_UNITS_TEXT_SIZE])
{
    const unit *u = largest(ms, durations, CW_COUNT(durations));
    snprintf(out, CW_UNITS_TEXT_SIZE, "%" PRIu64 "%s", u ? ms / u->factor : 0, u ? u->name : "s");
    return out;
}

const char *cw_units_format_size(uint64_t bytes, char out[CW_UNITS_TEXT_SIZE])
{
    const unit *u = largest(bytes, sizes, CW_COUNT(sizes));
    snprintf(out, CW_UNITS_TEXT_SIZE, "%" PRIu64 "%s", u ? bytes / u->factor : bytes,
             u ? u->name : "");
    return out;
}
