/* SPDX-License-Identifier: GPL-2.0-or-later */
/* types_rate.c - so many in so long: "10/s", "600/m burst 20". */
#include <stdio.h>

#include "config/keys/keys.h"

#define DIGITS_MAX 6u
#define PATTERN "^[1-9][0-9]{0,5}/(s|m|h)( burst [1-9][0-9]{0,5})?$"
#define EXPECTED "a rate such as \"10/s\" or \"600/m burst 20\""
#define TEXT_SIZE 40u

typedef struct period {
    char name;
    uint32_t ms;
} period;

static const period periods[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}};

/* A number from 1 on in front of the text, which is moved behind it. */
static bool take_number(cw_str *text, uint32_t *ret)
{
    size_t n = 0;
    uint64_t value;
    while (n < text->n && text->p[n] >= '0' && text->p[n] <= '9')
        n++;
    if (n == 0 || n > DIGITS_MAX || text->p[0] == '0' ||
        !cw_str_to_u64(cw_str_make(text->p, n), &value))
        return false;
    *ret = (uint32_t)value;
    *text = cw_str_make(text->p + n, text->n - n);
    return true;
}

static bool parse(cw_str text, cw_config_rate *ret)
{
    cw_config_rate rate = {0};
    if (!take_number(&text, &rate.n) || text.n < 2 || text.p[0] != '/')
        return false;
    for (size_t i = 0; i < CW_COUNT(periods); i++) {
        if (text.p[1] == periods[i].name)
            rate.period_ms = periods[i].ms;
    }
    if (!rate.period_ms)
        return false;
    text = cw_str_make(text.p + 2, text.n - 2);
    rate.burst = rate.n;
    if (cw_str_starts(text, CW_STR(" burst "))) {
        text = cw_str_make(text.p + 7, text.n - 7);
        if (!take_number(&text, &rate.burst))
            return false;
    }
    if (text.n)
        return false;
    *ret = rate;
    return true;
}

static cw_code read_rate(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                         void *field)
{
    (void)key;
    if (cw_json_is(v, CW_JSON_NULL)) {
        *(cw_config_rate *)field = (cw_config_rate){0};
        return CW_OK;
    }
    if (!cw_json_is(v, CW_JSON_STRING) || !parse(cw_json_text(v), field))
        return cw_check_expected(c, place, v, EXPECTED, NULL);
    return CW_OK;
}

static void write_rate(cw_json_writer *w, const cw_key *key, const void *field)
{
    const cw_config_rate *rate = field;
    char text[TEXT_SIZE];
    (void)key;
    if (!rate->n) {
        cw_json_add_null(w);
        return;
    }
    char unit = 's';
    for (size_t i = 0; i < CW_COUNT(periods); i++) {
        if (rate->period_ms == periods[i].ms)
            unit = periods[i].name;
    }
    if (rate->burst == rate->n)
        snprintf(text, sizeof text, "%u/%c", rate->n, unit);
    else
        snprintf(text, sizeof text, "%u/%c burst %u", rate->n, unit, rate->burst);
    cw_json_add_string(w, cw_str_from(text));
}

static void describe_rate(cw_json_writer *w, const cw_key *key)
{
    (void)key;
    cw_json_add_key(w, CW_STR("type"));
    cw_json_open_array(w);
    cw_json_add_string(w, CW_STR("string"));
    cw_json_add_string(w, CW_STR("null"));
    cw_json_close(w);
    cw_json_add_string_member(w, CW_STR("pattern"), CW_STR(PATTERN));
}

const cw_key_type cw_type_rate = {"a rate", read_rate, write_rate, describe_rate, NULL};
