/* SPDX-License-Identifier: GPL-2.0-or-later */
/* types_list.c - types with several values or parts: strings, addresses, levels, pairs, roles,
 * scopes. */
#include <sys/un.h>

#include "config/keys/list.h"
#include "config/syntax/names.h"

/* ---- strings: a list of them, or one alone ---- */

static cw_code read_string(cw_checker *c, const cw_key *key, const cw_place *place,
                           const cw_json *v, void *item)
{
    if (!cw_json_is(v, CW_JSON_STRING) || !key->is_valid(cw_json_text(v)))
        return cw_check_expected(c, place, v, key->expected, NULL);
    return cw_check_copy(c, cw_json_text(v), item);
}

static cw_code read_texts(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                          cw_key_list_item_fn read, cw_config_strings *texts)
{
    cw_key_list list = {texts->items, texts->n};
    if (!cw_json_is(v, CW_JSON_ARRAY) && !cw_json_is(v, CW_JSON_STRING))
        return cw_check_expected(c, place, v, key->type->name, NULL);
    cw_code rc = cw_key_list_read(c, key, place, v, sizeof(cw_str), read, &list);
    *texts = (cw_config_strings){list.items, list.n};
    return rc;
}

static cw_code read_strings(cw_checker *c, const cw_key *key, const cw_place *place,
                            const cw_json *v, void *field)
{
    return read_texts(c, key, place, v, read_string, field);
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

static void describe_string(cw_json_writer *w, const cw_key *key)
{
    describe_text(w, key->pattern);
}

static void describe_strings(cw_json_writer *w, const cw_key *key)
{
    cw_json_add_key(w, CW_STR("anyOf"));
    cw_json_open_array(w);
    cw_json_open_object(w);
    describe_string(w, key);
    cw_json_close(w);
    cw_json_open_object(w);
    cw_key_list_describe_array(w, key, describe_string);
    cw_json_close(w);
    cw_json_close(w);
}

const cw_key_type cw_type_strings = {"a list of strings", read_strings, write_strings,
                                     describe_strings, NULL};

/* ---- paths: a list of them, or one alone ---- */

static cw_code read_path(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                         void *item)
{
    if (!cw_json_is(v, CW_JSON_STRING) || !key->is_valid(cw_json_text(v)))
        return cw_check_expected(c, place, v, key->expected, NULL);
    return cw_check_resolve(c, cw_json_text(v), item);
}

static cw_code read_paths(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                          void *field)
{
    return read_texts(c, key, place, v, read_path, field);
}

const cw_key_type cw_type_paths = {"a list of paths", read_paths, write_strings, describe_strings,
                                   NULL};

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

/* ---- pairs: name to text ---- */

static cw_code read_pair(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                         void *item)
{
    const cw_key *child = key->children;
    return child->type->read(c, child, place, v, &((cw_config_pair *)item)->value);
}

static cw_code read_pairs(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                          void *field)
{
    cw_config_pairs *pairs = field;
    cw_key_list list = {pairs->items, pairs->n};
    cw_code rc = cw_key_list_read_map(c, key, place, v, sizeof(cw_config_pair), read_pair, &list);
    *pairs = (cw_config_pairs){list.items, list.n};
    return rc;
}

static void write_pairs(cw_json_writer *w, const cw_key *key, const void *field)
{
    (void)key;
    const cw_config_pairs *pairs = field;
    cw_json_open_object(w);
    for (size_t i = 0; i < pairs->n; i++)
        cw_json_add_string_member(w, pairs->items[i].name, pairs->items[i].value);
    cw_json_close(w);
}

static void describe_child(cw_json_writer *w, const cw_key *key)
{
    key->children->type->describe(w, key->children);
}

static void describe_pairs(cw_json_writer *w, const cw_key *key)
{
    cw_key_add_type(w, "object", /* or_null= */ true);
    cw_key_list_describe_map(w, key, describe_child);
}

const cw_key_type cw_type_pairs = {"a mapping of names to texts", read_pairs, write_pairs,
                                   describe_pairs, NULL};

/* ---- roles: name to permissions ---- */

static cw_code read_role(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                         void *item)
{
    const cw_key *child = key->children;
    if (cw_json_is(v, CW_JSON_NULL))
        return CW_OK;
    return child->type->read(c, child, place, v, &((cw_config_role *)item)->permissions);
}

static cw_code read_roles(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                          void *field)
{
    cw_config_roles *roles = field;
    cw_key_list list = {roles->items, roles->n};
    cw_code rc = cw_key_list_read_map(c, key, place, v, sizeof(cw_config_role), read_role, &list);
    *roles = (cw_config_roles){list.items, list.n};
    return rc;
}

static void write_roles(cw_json_writer *w, const cw_key *key, const void *field)
{
    const cw_config_roles *roles = field;
    cw_json_open_object(w);
    for (size_t i = 0; i < roles->n; i++) {
        cw_json_add_key(w, roles->items[i].name);
        key->children->type->write(w, key->children, &roles->items[i].permissions);
    }
    cw_json_close(w);
}

static void describe_role(cw_json_writer *w, const cw_key *key)
{
    cw_json_add_key(w, CW_STR("anyOf"));
    cw_json_open_array(w);
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("null"));
    cw_json_close(w);
    cw_json_open_object(w);
    describe_child(w, key);
    cw_json_close(w);
    cw_json_close(w);
}

static void describe_roles(cw_json_writer *w, const cw_key *key)
{
    cw_key_add_type(w, "object", /* or_null= */ true);
    cw_key_list_describe_map(w, key, describe_role);
}

const cw_key_type cw_type_roles = {"a mapping of roles to lists of permissions", read_roles,
                                   write_roles, describe_roles, NULL};

/* ---- scopes: a list of names, or a mapping of names to labels ---- */

#define LABEL_MAX 200u
#define LABEL_EXPECTED "a label of one line such as \"Read Content\""

static cw_code read_label(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                          void *item)
{
    (void)key;
    if (!cw_json_is(v, CW_JSON_STRING) || cw_json_text(v).n > LABEL_MAX ||
        !cw_check_is_clean(cw_json_text(v)))
        return cw_check_expected(c, place, v, LABEL_EXPECTED, NULL);
    return cw_check_copy(c, cw_json_text(v), &((cw_config_pair *)item)->value);
}

static cw_code read_labels(cw_checker *c, const cw_key *key, const cw_place *place,
                           const cw_json *v, cw_config_scopes *ret)
{
    cw_key_list list = {0};
    size_t before = c->problems->total;
    cw_code rc = cw_key_list_read_map(c, key, place, v, sizeof(cw_config_pair), read_label, &list);
    if (rc || c->problems->total > before)
        return rc;
    const cw_config_pair *pairs = list.items;
    cw_str *names = cw_arena_calloc(c->arena, list.n ? 2 * list.n : 1, sizeof *names);
    if (!names)
        return cw_arena_fail(c->arena, c->err);
    for (size_t i = 0; i < list.n; i++) {
        names[i] = pairs[i].name;
        names[list.n + i] = pairs[i].value;
    }
    *ret = (cw_config_scopes){names, list.n, names + list.n};
    return CW_OK;
}

static cw_code read_scopes(cw_checker *c, const cw_key *key, const cw_place *place,
                           const cw_json *v, void *field)
{
    cw_config_scopes *scopes = field;
    if (cw_json_is(v, CW_JSON_OBJECT))
        return read_labels(c, key, place, v, scopes);
    cw_config_strings names = {scopes->items, scopes->n};
    cw_code rc = cw_type_strings.read(c, key, place, v, &names);
    *scopes = (cw_config_scopes){names.items, names.n, NULL};
    return rc;
}

static void write_scopes(cw_json_writer *w, const cw_key *key, const void *field)
{
    const cw_config_scopes *scopes = field;
    if (!scopes->labels) {
        cw_type_strings.write(w, key, &(cw_config_strings){scopes->items, scopes->n});
        return;
    }
    cw_json_open_object(w);
    for (size_t i = 0; i < scopes->n; i++)
        cw_json_add_string_member(w, scopes->items[i], scopes->labels[i]);
    cw_json_close(w);
}

static void describe_label(cw_json_writer *w, const cw_key *key)
{
    (void)key;
    describe_text(w, CW_NAMES_CLEAN_PATTERN);
}

static void describe_scopes(cw_json_writer *w, const cw_key *key)
{
    cw_json_add_key(w, CW_STR("anyOf"));
    cw_json_open_array(w);
    cw_json_open_object(w);
    cw_type_strings.describe(w, key);
    cw_json_close(w);
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("object"));
    cw_key_list_describe_map(w, key, describe_label);
    cw_json_close(w);
    cw_json_close(w);
}

const cw_key_type cw_type_scopes = {"a list of scopes, or a mapping of scopes to labels",
                                    read_scopes, write_scopes, describe_scopes, NULL};
