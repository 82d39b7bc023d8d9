/* SPDX-License-Identifier: GPL-2.0-or-later */
/* types_list.c - the types with several values or parts: strings, addresses, log levels. */
#include <sys/un.h>

#include "config/keys/keys.h"
#include "config/syntax/names.h"

/* ---- strings: a list of them, or one alone ---- */

static cw_code read_entry(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                          cw_str *ret)
{
    if (!cw_json_is(v, CW_JSON_STRING) || !key->is_valid(cw_json_text(v)))
        return cw_check_expected(c, place, v, key->expected, NULL);
    return cw_check_copy(c, cw_json_text(v), ret);
}

static cw_code expected_count(cw_checker *c, const cw_key *key, const cw_place *place,
                              const cw_json *v, size_t n)
{
    if (n < key->min)
        return cw_check_problem(c, place, v, "expected at least one entry, got an empty list");
    return cw_check_problem(c, place, v, "expected at most %u entries, got %zu", (unsigned)key->max,
                            n);
}

static cw_code read_strings(cw_checker *c, const cw_key *key, const cw_place *place,
                            const cw_json *v, void *field)
{
    bool is_list = cw_json_is(v, CW_JSON_ARRAY);
    if (!is_list && !cw_json_is(v, CW_JSON_STRING))
        return cw_check_expected(c, place, v, key->type->name, NULL);
    size_t n = is_list ? cw_json_count(v) : 1;
    if (n < key->min || n > key->max)
        return expected_count(c, key, place, v, n);
    cw_str *items = cw_arena_calloc(c->arena, n, sizeof *items);
    if (!items)
        return cw_arena_fail(c->arena, c->err);
    cw_code rc = CW_OK;
    if (!is_list)
        rc = read_entry(c, key, place, v, &items[0]);
    cw_place inner = {.up = place};
    for (const cw_json *i = is_list ? cw_json_first(v) : NULL; i && !rc; i = cw_json_next(i)) {
        rc = read_entry(c, key, &inner, i, &items[inner.index]);
        inner.index++;
    }
    *(cw_config_strings *)field = (cw_config_strings){items, n};
    return rc;
}

static void write_strings(cw_json_writer *w, const cw_key *key, const void *field)
{
    (void)key;
    const cw_config_strings *list = field;
    cw_json_open_array(w);
    for (size_t i = 0; i < list->n; i++)
        cw_json_add_string(w, list->items[i]);
    cw_json_close(w);
}

static void describe_text(cw_json_writer *w, const char *pattern)
{
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("string"));
    cw_json_add_string_member(w, CW_STR("pattern"), cw_str_from(pattern));
}

static void describe_strings(cw_json_writer *w, const cw_key *key)
{
    cw_json_add_key(w, CW_STR("anyOf"));
    cw_json_open_array(w);
    cw_json_open_object(w);
    describe_text(w, key->pattern);
    cw_json_close(w);
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("array"));
    cw_json_add_key(w, CW_STR("items"));
    cw_json_open_object(w);
    describe_text(w, key->pattern);
    cw_json_close(w);
    cw_json_add_key(w, CW_STR("minItems"));
    cw_json_add_u64(w, key->min);
    cw_json_add_key(w, CW_STR("maxItems"));
    cw_json_add_u64(w, key->max);
    cw_json_close(w);
    cw_json_close(w);
}

const cw_key_type cw_type_strings = {"a list of strings", read_strings, write_strings,
                                     describe_strings, NULL};

/* ---- address ---- */

#define ADDRESS_EXPECTED "\"HOST:PORT\", \"[IPV6]:PORT\" or \"unix:PATH\""

/* Make the path absolute and put it into the text too. */
static cw_code read_unix(cw_checker *c, const cw_place *place, const cw_json *v,
                         cw_config_address *address)
{
    cw_code rc = cw_check_resolve(c, address->unix_path, &address->unix_path);
    if (rc)
        return rc;
    struct sockaddr_un un;
    if (address->unix_path.n >= sizeof un.sun_path)
        return cw_check_problem(c, place, v,
                                "the path of a unix socket has at most %zu bytes, this one %zu",
                                sizeof un.sun_path - 1, address->unix_path.n);
    char *text = cw_arena_printf(c->arena, "unix:%s", address->unix_path.p);
    if (!text)
        return cw_arena_fail(c->arena, c->err);
    address->text = cw_str_from(text);
    return CW_OK;
}

static cw_code read_address(cw_checker *c, const cw_key *key, const cw_place *place,
                            const cw_json *v, void *field)
{
    cw_str text = cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
    if (!cw_check_is_clean(text))
        return cw_check_expected(c, place, v, key->type->name, NULL);
    cw_config_address address;
    const char *wrong = cw_names_parse_address(text, &address);
    if (wrong)
        return cw_check_expected(c, place, v, key->type->name, wrong);
    cw_code rc;
    if (address.unix_path.n) {
        rc = read_unix(c, place, v, &address);
    } else {
        rc = cw_check_copy(c, address.text, &address.text);
        if (!rc)
            rc = cw_check_copy(c, address.host, &address.host);
    }
    if (!rc)
        *(cw_config_address *)field = address;
    return rc;
}

static void write_address(cw_json_writer *w, const cw_key *key, const void *field)
{
    (void)key;
    cw_json_add_string(w, ((const cw_config_address *)field)->text);
}

static void describe_address(cw_json_writer *w, const cw_key *key)
{
    (void)key;
    describe_text(w, CW_NAMES_ADDRESS_PATTERN);
}

const cw_key_type cw_type_address = {ADDRESS_EXPECTED, read_address, write_address,
                                     describe_address, NULL};

/* ---- levels: component to level ---- */

static cw_code read_level(cw_checker *c, const cw_key *key, const cw_place *place,
                          const cw_json *name, cw_config_level *ret)
{
    cw_place inner = {.up = place, .name = cw_json_text(name)};
    if (!cw_names_is_component(inner.name))
        return cw_check_problem(c, &inner, name,
                                "expected the name of a component such as \"net\"");
    int level = CW_LOG_OFF;
    cw_code rc = cw_choice_read(c, key->choices, &inner, cw_json_value(name), &level);
    ret->level = (cw_log_level)level;
    return rc ? rc : cw_check_copy(c, inner.name, &ret->component);
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
    if (cw_json_is(v, CW_JSON_NULL))
        return CW_OK;
    if (!cw_json_is(v, CW_JSON_OBJECT))
        return cw_check_expected(c, place, v, key->type->name, NULL);
    size_t n = cw_json_count(v);
    if (n > key->max)
        return expected_count(c, key, place, v, n);
    cw_config_level *items = cw_arena_calloc(c->arena, n, sizeof *items);
    if (!items)
        return cw_arena_fail(c->arena, c->err);
    size_t at = 0;
    size_t before = c->problems->total;
    for (const cw_json *i = cw_json_first(v); i; i = cw_json_next_key(i)) {
        cw_code rc = read_level(c, key, place, i, &items[at++]);
        if (rc)
            return rc;
    }
    if (c->problems->total > before)
        return CW_OK;
    cw_config_levels *levels = field;
    *levels = (cw_config_levels){items, n, CW_STR("")};
    return join_levels(c, key, levels);
}

static void write_levels(cw_json_writer *w, const cw_key *key, const void *field)
{
    const cw_config_levels *levels = field;
    cw_json_open_object(w);
    for (size_t i = 0; i < levels->n; i++) {
        cw_json_add_key(w, levels->items[i].component);
        cw_choice_write(w, key->choices, levels->items[i].level);
    }
    cw_json_close(w);
}

static void describe_levels(cw_json_writer *w, const cw_key *key)
{
    cw_json_add_key(w, CW_STR("type"));
    cw_json_open_array(w);
    cw_json_add_string(w, CW_STR("object"));
    cw_json_add_string(w, CW_STR("null"));
    cw_json_close(w);
    cw_json_add_key(w, CW_STR("propertyNames"));
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("pattern"), CW_STR(CW_NAMES_COMPONENT_PATTERN));
    cw_json_close(w);
    cw_json_add_key(w, CW_STR("additionalProperties"));
    cw_json_open_object(w);
    cw_choice_describe(w, key->choices);
    cw_json_close(w);
    cw_json_add_key(w, CW_STR("maxProperties"));
    cw_json_add_u64(w, key->max);
}

const cw_key_type cw_type_levels = {"a mapping of components to levels such as \"net: debug\"",
                                    read_levels, write_levels, describe_levels, NULL};
