/* SPDX-License-Identifier: GPL-2.0-or-later */
/* types.c - the types of single values: flags, numbers, words, paths, rates; and levels, which map
 * names to words. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/keys/list.h"
#include "config/syntax/names.h"
#include "config/syntax/units.h"

#define RANGE_SIZE 64u
#define EXPECTED_SIZE 160u

/* ---- bool ---- */

static cw_code read_bool(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                         void *field)
{
    if (!cw_json_is(v, CW_JSON_TRUE) && !cw_json_is(v, CW_JSON_FALSE))
        return cw_check_expected(c, place, v, key->type->name, NULL);
    *(bool *)field = cw_json_is(v, CW_JSON_TRUE);
    return CW_OK;
}

static void write_bool(cw_json_writer *w, const cw_key *key, const void *field)
{
    (void)key;
    cw_json_add_bool(w, *(const bool *)field);
}

static void describe_bool(cw_json_writer *w, const cw_key *key)
{
    (void)key;
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("boolean"));
}

const cw_key_type cw_type_bool = {"true or false", read_bool, write_bool, describe_bool, NULL};

/* ---- numbers: integer, duration, size ---- */

static void store_number(const cw_key *key, uint64_t value, void *field)
{
    if (key->size == sizeof(uint32_t)) {
        assert(key->max <= UINT32_MAX);
        *(uint32_t *)field = (uint32_t)value;
        return;
    }
    assert(key->size == sizeof(size_t));
    *(size_t *)field = (size_t)value;
}

static uint64_t load_number(const cw_key *key, const void *field)
{
    if (key->size == sizeof(uint32_t))
        return *(const uint32_t *)field;
    return *(const size_t *)field;
}

static cw_code expected_in_range(cw_checker *c, const cw_key *key, const cw_place *place,
                                 const cw_json *v)
{
    char range[RANGE_SIZE], expected[EXPECTED_SIZE];
    key->type->range(key, range, sizeof range);
    snprintf(expected, sizeof expected, "%s from %s", key->type->name, range);
    return cw_check_expected(c, place, v, expected, NULL);
}

static cw_code take_number(cw_checker *c, const cw_key *key, const cw_place *place,
                           const cw_json *v, uint64_t value, void *field)
{
    if (value < key->min || value > key->max)
        return expected_in_range(c, key, place, v);
    store_number(key, value, field);
    return CW_OK;
}

static void range_integer(const cw_key *key, char *out, size_t n)
{
    snprintf(out, n, "%" PRIu64 " to %" PRIu64, key->min, key->max);
}

static cw_code read_integer(cw_checker *c, const cw_key *key, const cw_place *place,
                            const cw_json *v, void *field)
{
    uint64_t value;
    if (!cw_json_to_u64(v, &value))
        return expected_in_range(c, key, place, v);
    return take_number(c, key, place, v, value, field);
}

static void write_integer(cw_json_writer *w, const cw_key *key, const void *field)
{
    cw_json_add_u64(w, load_number(key, field));
}

static void describe_range(cw_json_writer *w, uint64_t min, uint64_t max)
{
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("integer"));
    cw_json_add_key(w, CW_STR("minimum"));
    cw_json_add_u64(w, min);
    cw_json_add_key(w, CW_STR("maximum"));
    cw_json_add_u64(w, max);
}

static void describe_integer(cw_json_writer *w, const cw_key *key)
{
    describe_range(w, key->min, key->max);
}

const cw_key_type cw_type_integer = {"an integer", read_integer, write_integer, describe_integer,
                                     range_integer};

/* ---- a share: a number from 0 to 1, kept as millionths; null is CW_CONFIG_NO_SAMPLE ---- */

static cw_code read_ratio(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                          void *field)
{
    double value;
    if (cw_json_is(v, CW_JSON_NULL)) {
        *(uint32_t *)field = CW_CONFIG_NO_SAMPLE;
        return CW_OK;
    }
    if (!cw_json_is(v, CW_JSON_NUMBER) || !cw_json_to_double(v, &value) ||
        !(value >= 0 && value <= 1))
        return cw_check_expected(c, place, v, key->type->name, NULL);
    *(uint32_t *)field = (uint32_t)(value * CW_CONFIG_SAMPLE_ALL + 0.5);
    return CW_OK;
}

static void write_ratio(cw_json_writer *w, const cw_key *key, const void *field)
{
    uint32_t value = *(const uint32_t *)field;
    (void)key;
    if (value == CW_CONFIG_NO_SAMPLE)
        cw_json_add_null(w);
    else
        cw_json_add_double(w, value / (double)CW_CONFIG_SAMPLE_ALL);
}

static void describe_ratio(cw_json_writer *w, const cw_key *key)
{
    (void)key;
    cw_key_add_type(w, "number", /* or_null= */ true);
    cw_json_add_i64_member(w, CW_STR("minimum"), 0);
    cw_json_add_i64_member(w, CW_STR("maximum"), 1);
}

const cw_key_type cw_type_ratio = {"a number from 0 to 1", read_ratio, write_ratio, describe_ratio,
                                   NULL};

/* A whole number of `factor` or a text with a unit. */
static void describe_units(cw_json_writer *w, const cw_key *key, uint64_t factor,
                           const char *pattern, bool or_null)
{
    cw_json_add_key(w, CW_STR("anyOf"));
    cw_json_open_array(w);
    cw_json_open_object(w);
    describe_range(w, (key->min + factor - 1) / factor, key->max / factor);
    cw_json_close(w);
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("string"));
    cw_json_add_string_member(w, CW_STR("pattern"), cw_str_from(pattern));
    cw_json_close(w);
    if (or_null)
        cw_json_add_span(w, CW_STR("{\"type\":\"null\"}"));
    cw_json_close(w);
}

static cw_code read_duration(cw_checker *c, const cw_key *key, const cw_place *place,
                             const cw_json *v, void *field)
{
    uint64_t value;
    if (cw_json_is(v, CW_JSON_STRING) && cw_units_parse_duration(cw_json_text(v), &value))
        return take_number(c, key, place, v, value, field);
    /* Seconds; what would overflow is far above every maximum. */
    if (cw_json_to_u64(v, &value))
        return take_number(c, key, place, v, value > UINT32_MAX ? UINT64_MAX : value * 1000, field);
    return cw_check_expected(c, place, v, "a duration such as \"75s\" or \"500ms\"", NULL);
}

static void write_duration(cw_json_writer *w, const cw_key *key, const void *field)
{
    char text[CW_UNITS_TEXT_SIZE];
    cw_json_add_string(w, cw_str_from(cw_units_format_duration(load_number(key, field), text)));
}

static void describe_duration(cw_json_writer *w, const cw_key *key)
{
    describe_units(w, key, 1000, CW_UNITS_DURATION_PATTERN, /* or_null= */ false);
}

static void range_duration(const cw_key *key, char *out, size_t n)
{
    char min[CW_UNITS_TEXT_SIZE], max[CW_UNITS_TEXT_SIZE];
    snprintf(out, n, "%s to %s", cw_units_format_duration(key->min, min),
             cw_units_format_duration(key->max, max));
}

const cw_key_type cw_type_duration = {"a duration", read_duration, write_duration,
                                      describe_duration, range_duration};

static cw_code read_size(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                         void *field)
{
    uint64_t value;
    if (cw_json_is(v, CW_JSON_STRING) && cw_units_parse_size(cw_json_text(v), &value))
        return take_number(c, key, place, v, value, field);
    if (cw_json_to_u64(v, &value))
        return take_number(c, key, place, v, value, field);
    return cw_check_expected(c, place, v, "a size such as \"16KB\" or 4096 (bytes)", NULL);
}

static void write_size(cw_json_writer *w, const cw_key *key, const void *field)
{
    uint64_t value = load_number(key, field);
    if (value == 0 || value % 1024) {
        cw_json_add_u64(w, value);
        return;
    }
    char text[CW_UNITS_TEXT_SIZE];
    cw_json_add_string(w, cw_str_from(cw_units_format_size(value, text)));
}

static void describe_size(cw_json_writer *w, const cw_key *key)
{
    describe_units(w, key, 1, CW_UNITS_SIZE_PATTERN, /* or_null= */ false);
}

static void range_size(const cw_key *key, char *out, size_t n)
{
    char min[CW_UNITS_TEXT_SIZE], max[CW_UNITS_TEXT_SIZE];
    snprintf(out, n, "%s to %s", cw_units_format_size(key->min, min),
             cw_units_format_size(key->max, max));
}

const cw_key_type cw_type_size = {"a size", read_size, write_size, describe_size, range_size};

/* ---- a size that may be left open: null is CW_CONFIG_NO_SIZE ---- */

static cw_code read_size_option(cw_checker *c, const cw_key *key, const cw_place *place,
                                const cw_json *v, void *field)
{
    if (!cw_json_is(v, CW_JSON_NULL))
        return read_size(c, key, place, v, field);
    *(size_t *)field = CW_CONFIG_NO_SIZE;
    return CW_OK;
}

static void write_size_option(cw_json_writer *w, const cw_key *key, const void *field)
{
    if (*(const size_t *)field == CW_CONFIG_NO_SIZE)
        cw_json_add_null(w);
    else
        write_size(w, key, field);
}

static void describe_size_option(cw_json_writer *w, const cw_key *key)
{
    describe_units(w, key, 1, CW_UNITS_SIZE_PATTERN, /* or_null= */ true);
}

const cw_key_type cw_type_size_option = {"a size", read_size_option, write_size_option,
                                         describe_size_option, range_size};

/* ---- enum ---- */

/* An unquoted 1.2 is a number in JSON's eyes; a number's text is exact, so it may stand for a
 * choice of the same spelling. */
static const cw_choice *find_choice(const cw_choice *choices, const cw_json *v)
{
    if (!cw_json_is(v, CW_JSON_STRING) && !cw_json_is(v, CW_JSON_NUMBER))
        return NULL;
    for (; choices->name; choices++)
        if (cw_str_is(cw_json_text(v), choices->name))
            return choices;
    return NULL;
}

static cw_code read_choice(cw_checker *c, const cw_choice *choices, const cw_place *place,
                           const cw_json *v, int *ret)
{
    const cw_choice *found = find_choice(choices, v);
    if (found) {
        *ret = found->value;
        return CW_OK;
    }
    cw_buf expected;
    cw_buf_init(&expected, 1024);
    for (const cw_choice *i = choices; i->name; i++)
        cw_buf_printf(&expected, "%s\"%s\"",
                      i == choices ? ""
                      : i[1].name  ? ", "
                                   : " or ",
                      i->name);
    char *text = cw_buf_take(&expected, NULL);
    if (!text)
        return cw_fail_nomem(c->err);
    cw_code rc = cw_check_expected(c, place, v, text, NULL);
    free(text);
    return rc;
}

static void write_choice(cw_json_writer *w, const cw_choice *choices, int value)
{
    while (choices->name && choices->value != value)
        choices++;
    cw_json_add_string(w, cw_str_from(choices->name));
}

static void describe_choices(cw_json_writer *w, const cw_choice *choices)
{
    cw_json_add_key(w, CW_STR("enum"));
    cw_json_open_array(w);
    for (const cw_choice *i = choices; i->name; i++)
        cw_json_add_string(w, cw_str_from(i->name));
    /* A text that looks like a number may be written as one. */
    for (const cw_choice *i = choices; i->name; i++)
        if (i->name[strspn(i->name, "0123456789.")] == '\0')
            cw_json_add_span(w, cw_str_from(i->name));
    cw_json_close(w);
}

static cw_code read_enum(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                         void *field)
{
    if (key->size == sizeof(int))
        return read_choice(c, key->choices, place, v, field);
    assert(key->size == sizeof(bool));
    int value = *(bool *)field;
    cw_code rc = read_choice(c, key->choices, place, v, &value);
    *(bool *)field = value != 0;
    return rc;
}

static void write_enum(cw_json_writer *w, const cw_key *key, const void *field)
{
    bool is_flag = key->size == sizeof(bool);
    write_choice(w, key->choices, is_flag ? *(const bool *)field : *(const int *)field);
}

static void describe_enum(cw_json_writer *w, const cw_key *key)
{
    describe_choices(w, key->choices);
}

const cw_key_type cw_type_enum = {"one of a few words", read_enum, write_enum, describe_enum, NULL};

/* ---- option: an enum, or null ---- */

static cw_code read_option(cw_checker *c, const cw_key *key, const cw_place *place,
                           const cw_json *v, void *field)
{
    assert(key->size == sizeof(int));
    if (!cw_json_is(v, CW_JSON_NULL))
        return read_choice(c, key->choices, place, v, field);
    *(int *)field = 0;
    return CW_OK;
}

static void write_option(cw_json_writer *w, const cw_key *key, const void *field)
{
    int value = *(const int *)field;
    if (value)
        write_choice(w, key->choices, value);
    else
        cw_json_add_null(w);
}

static void describe_option(cw_json_writer *w, const cw_key *key)
{
    cw_json_add_key(w, CW_STR("enum"));
    cw_json_open_array(w);
    for (const cw_choice *i = key->choices; i->name; i++)
        cw_json_add_string(w, cw_str_from(i->name));
    cw_json_add_null(w);
    cw_json_close(w);
}

const cw_key_type cw_type_option = {"one of a few words, or null", read_option, write_option,
                                    describe_option, NULL};

/* ---- levels: component to level ---- */

static cw_code read_level(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                          void *item)
{
    int level = CW_LOG_OFF;
    cw_code rc = read_choice(c, key->choices, place, v, &level);
    ((cw_config_level *)item)->level = (cw_log_level)level;
    return rc;
}

static const char *choice_name(const cw_choice *choices, int value)
{
    while (choices->name && choices->value != value)
        choices++;
    return choices->name;
}

/* "net=debug,access=off" */
static cw_code join_levels(cw_checker *c, const cw_key *key, cw_config_levels *levels)
{
    cw_buf text;
    cw_buf_init(&text, CW_CONFIG_MAX_BYTES);
    for (size_t i = 0; i < levels->n; i++)
        cw_buf_printf(&text, "%s%.*s=%s", i ? "," : "", CW_STR_ARG(levels->items[i].component),
                      choice_name(key->choices, levels->items[i].level));
    cw_code rc =
        text.code ? cw_fail_nomem(c->err) : cw_check_copy(c, cw_buf_str(&text), &levels->text);
    cw_buf_done(&text);
    return rc;
}

static cw_code read_levels(cw_checker *c, const cw_key *key, const cw_place *place,
                           const cw_json *v, void *field)
{
    cw_config_levels *levels = field;
    cw_key_list list = {levels->items, levels->n};
    size_t before = c->problems->total;
    cw_code rc = cw_key_list_read_map(c, key, place, v, sizeof(cw_config_level), read_level, &list);
    if (rc || c->problems->total > before || cw_json_is(v, CW_JSON_NULL))
        return rc;
    *levels = (cw_config_levels){list.items, list.n, CW_STR("")};
    return join_levels(c, key, levels);
}

static void write_levels(cw_json_writer *w, const cw_key *key, const void *field)
{
    const cw_config_levels *levels = field;
    cw_json_open_object(w);
    for (size_t i = 0; i < levels->n; i++) {
        cw_json_add_key(w, levels->items[i].component);
        write_choice(w, key->choices, levels->items[i].level);
    }
    cw_json_close(w);
}

static void describe_level(cw_json_writer *w, const cw_key *key)
{
    describe_choices(w, key->choices);
}

static void describe_levels(cw_json_writer *w, const cw_key *key)
{
    cw_key_add_type(w, "object", /* or_null= */ true);
    cw_key_list_describe_map(w, key, describe_level);
}

const cw_key_type cw_type_levels = {"a mapping of components to levels such as \"net: debug\"",
                                    read_levels, write_levels, describe_levels, NULL};

/* ---- path ---- */

static cw_code read_path(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                         void *field)
{
    if (cw_json_is(v, CW_JSON_NULL)) {
        *(cw_str *)field = CW_STR("");
        return CW_OK;
    }
    if (!cw_json_is(v, CW_JSON_STRING) || !cw_check_is_clean(cw_json_text(v)))
        return cw_check_expected(c, place, v, key->type->name, NULL);
    return cw_check_resolve(c, cw_json_text(v), field);
}

static void write_path(cw_json_writer *w, const cw_key *key, const void *field)
{
    (void)key;
    cw_str path = *(const cw_str *)field;
    if (path.n)
        cw_json_add_string(w, path);
    else
        cw_json_add_null(w);
}

static void describe_path(cw_json_writer *w, const cw_key *key)
{
    (void)key;
    cw_json_add_key(w, CW_STR("type"));
    cw_json_open_array(w);
    cw_json_add_string(w, CW_STR("string"));
    cw_json_add_string(w, CW_STR("null"));
    cw_json_close(w);
    cw_json_add_string_member(w, CW_STR("pattern"), CW_STR(CW_NAMES_CLEAN_PATTERN));
}

const cw_key_type cw_type_path = {"the path of a file", read_path, write_path, describe_path, NULL};

/* ---- rate: "10/s", "600/m burst 20" ---- */

#define DIGITS_MAX 6u
#define RATE_PATTERN "^[1-9][0-9]{0,5}/(s|m|h)( burst [1-9][0-9]{0,5})?$"
#define RATE_EXPECTED "a rate such as \"10/s\" or \"600/m burst 20\""
#define RATE_TEXT_SIZE 40u

typedef struct period {
    char name;
    uint32_t ms;
} period;

static const period periods[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}};

/* A number from 1 on in front of the text, which is moved behind it. */
static bool parse_rate_number(cw_str *text, uint32_t *ret)
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

static bool parse_rate(cw_str text, cw_config_rate *ret)
{
    cw_config_rate rate = {0};
    if (!parse_rate_number(&text, &rate.n) || text.n < 2 || text.p[0] != '/')
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
        if (!parse_rate_number(&text, &rate.burst))
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
    if (!cw_json_is(v, CW_JSON_STRING) || !parse_rate(cw_json_text(v), field))
        return cw_check_expected(c, place, v, RATE_EXPECTED, NULL);
    return CW_OK;
}

static void write_rate(cw_json_writer *w, const cw_key *key, const void *field)
{
    const cw_config_rate *rate = field;
    char text[RATE_TEXT_SIZE];
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
    cw_key_add_type(w, "string", /* or_null= */ true);
    cw_json_add_string_member(w, CW_STR("pattern"), CW_STR(RATE_PATTERN));
}

const cw_key_type cw_type_rate = {"a rate", read_rate, write_rate, describe_rate, NULL};
