/* SPDX-License-Identifier: GPL-2.0-or-later */
/* section.c - the types that have keys of their own: sections, lists of items, named items. */
#include "config/keys/list.h"

/* A name farther than this, or farther than half its length, is no slip of the finger. */
#define NEAR_MAX 3u

static void *key_field(const cw_key *key, void *base)
{
    return (char *)base + key->offset;
}

const void *cw_key_const_field(const cw_key *key, const void *base)
{
    return (const char *)base + key->offset;
}

static const cw_key *find_key(const cw_key *keys, cw_str name)
{
    for (; keys->name; keys++)
        if (cw_str_is(name, keys->name))
            return keys;
    return NULL;
}

static const cw_key *find_nearest(const cw_key *keys, cw_str name)
{
    const cw_key *nearest = NULL;
    unsigned best = NEAR_MAX + 1;
    for (; keys->name; keys++) {
        unsigned distance = cw_str_distance_within(name, cw_str_from(keys->name), NEAR_MAX);
        if (distance < best) {
            best = distance;
            nearest = keys;
        }
    }
    return nearest;
}

/* The section at the top that has a key of this name: people forget or move the indentation. */
static const cw_key *find_home(const cw_key *root, cw_str name)
{
    for (const cw_key *top = root->children; top->name; top++)
        if (top->type == &cw_type_section && find_key(top->children, name))
            return top;
    return NULL;
}

static cw_code list_known(cw_checker *c, const cw_key *keys, const cw_place *place,
                          const cw_json *name)
{
    cw_buf known;
    cw_buf_init(&known, 4096);
    for (const cw_key *i = keys; i->name; i++)
        cw_buf_printf(&known, "%s%s", i == keys ? "" : ", ", i->name);
    cw_code rc = known.code ? cw_fail_nomem(c->err)
                            : cw_check_problem(c, place, name, "unknown key; known here: %.*s",
                                               CW_STR_ARG(cw_buf_str(&known)));
    cw_buf_done(&known);
    return rc;
}

static cw_code unknown_key(cw_checker *c, const cw_key *keys, const cw_place *place,
                           const cw_json *name)
{
    cw_str text = cw_json_text(name);
    const cw_key *nearest = find_nearest(keys, text);
    if (nearest)
        return cw_check_problem(c, place, name, "unknown key; did you mean \"%s\"?", nearest->name);
    const cw_key *home = c->root ? find_home(c->root, text) : NULL;
    if (home)
        return cw_check_problem(c, place, name, "unknown key here; did you mean \"%s.%.*s\"?",
                                home->name, CW_STR_ARG(text));
    if (c->root && find_key(c->root->children, text))
        return cw_check_problem(c, place, name,
                                "unknown key here; \"%.*s\" stands at the top, without indentation",
                                CW_STR_ARG(text));
    return list_known(c, keys, place, name);
}

static cw_code check_required(cw_checker *c, const cw_key *keys, const cw_place *place,
                              const cw_json *v)
{
    for (; keys->name; keys++) {
        if (!keys->is_required || cw_json_get(v, cw_str_from(keys->name)))
            continue;
        cw_code rc = cw_check_problem(c, place, v, "missing key \"%s\"", keys->name);
        if (rc)
            return rc;
    }
    return CW_OK;
}

static cw_code read_members(cw_checker *c, const cw_key *keys, const cw_place *place,
                            const cw_json *v, void *base)
{
    size_t before = c->problems->total;
    for (const cw_json *name = cw_json_first(v); name; name = cw_json_next_key(name)) {
        cw_place inner = {.up = place, .name = cw_json_text(name)};
        const cw_key *key = find_key(keys, inner.name);
        cw_code rc =
            key ? key->type->read(c, key, &inner, cw_json_value(name), key_field(key, base))
                : unknown_key(c, keys, &inner, name);
        if (rc)
            return rc;
    }
    /* A misspelt key would be reported as missing as well. */
    return c->problems->total == before ? check_required(c, keys, place, v) : CW_OK;
}

static void write_members(cw_json_writer *w, const cw_key *keys, const void *base)
{
    cw_json_open_object(w);
    for (; keys->name; keys++) {
        cw_json_add_key(w, cw_str_from(keys->name));
        keys->type->write(w, keys, cw_key_const_field(keys, base));
    }
    cw_json_close(w);
}

/* ---- section ---- */

static cw_code read_section(cw_checker *c, const cw_key *key, const cw_place *place,
                            const cw_json *v, void *field)
{
    /* All keys of a section commented out leave "limits:", which is null. */
    if (cw_json_is(v, CW_JSON_NULL))
        return CW_OK;
    if (!cw_json_is(v, CW_JSON_OBJECT))
        return cw_check_expected(c, place, v, cw_type_section.name, NULL);
    return read_members(c, key->children, place, v, field);
}

static void write_section(cw_json_writer *w, const cw_key *key, const void *field)
{
    write_members(w, key->children, field);
}

static void describe_required(cw_json_writer *w, const cw_key *keys)
{
    bool is_open = false;
    for (; keys->name; keys++) {
        if (!keys->is_required)
            continue;
        if (!is_open) {
            cw_json_add_key(w, CW_STR("required"));
            cw_json_open_array(w);
        }
        is_open = true;
        cw_json_add_string(w, cw_str_from(keys->name));
    }
    if (is_open)
        cw_json_close(w);
}

static void describe_members(cw_json_writer *w, const cw_key *keys, const void *defaults)
{
    cw_json_add_key(w, CW_STR("properties"));
    cw_json_open_object(w);
    for (const cw_key *i = keys; i->name; i++) {
        char help[CW_KEY_HELP_SIZE];
        cw_json_add_key(w, cw_str_from(i->name));
        cw_json_open_object(w);
        cw_json_add_string_member(w, CW_STR("description"), cw_str_from(cw_key_help(i, help)));
        i->type->describe(w, i);
        if (i->type != &cw_type_section && !i->is_required) {
            cw_json_add_key(w, CW_STR("default"));
            i->type->write(w, i, cw_key_const_field(i, defaults));
        }
        cw_json_close(w);
    }
    cw_json_close(w);
    describe_required(w, keys);
    cw_json_add_bool_member(w, CW_STR("additionalProperties"), false);
}

static void describe_section(cw_json_writer *w, const cw_key *key)
{
    cw_key_add_type(w, "object", /* or_null= */ true);
    describe_members(w, key->children,
                     key->item_defaults ? key->item_defaults : &cw_config_defaults);
}

const cw_key_type cw_type_section = {"a mapping of keys to values", read_section, write_section,
                                     describe_section, NULL};

/* ---- items ---- */

static cw_code read_item(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                         void *item)
{
    memcpy(item, key->item_defaults, key->item_size);
    if (key->line_offset) {
        uint32_t line = cw_check_line(c, v);
        memcpy((char *)item + key->line_offset, &line, sizeof line);
    }
    if (cw_json_is(v, CW_JSON_OBJECT))
        return read_members(c, key->children, place, v, item);
    const cw_key *child = key->shorthand;
    if (!child)
        return cw_check_expected(c, place, v, cw_type_section.name, NULL);
    return child->type->read(c, child, place, v, key_field(child, item));
}

static cw_code read_items(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                          void *field)
{
    cw_key_list found;
    /* "sources:" with everything below it commented out is an empty list. */
    if (key->min == 0 && cw_json_is(v, CW_JSON_NULL))
        return CW_OK;
    memcpy(&found, field, sizeof found);
    cw_code rc = cw_key_list_read(c, key, place, v, key->item_size, read_item, &found);
    memcpy(field, &found, sizeof found);
    return rc;
}

static void write_items(cw_json_writer *w, const cw_key *key, const void *field)
{
    cw_key_list found;
    memcpy(&found, field, sizeof found);
    cw_json_open_array(w);
    for (size_t i = 0; i < found.n; i++)
        write_members(w, key->children, (const char *)found.items + i * key->item_size);
    cw_json_close(w);
}

/* The spellings of one item, as members of an open anyOf. */
static void describe_item(cw_json_writer *w, const cw_key *key)
{
    const cw_key *child = key->shorthand;
    if (child) {
        cw_json_open_object(w);
        child->type->describe(w, child);
        cw_json_close(w);
    }
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("object"));
    describe_members(w, key->children, key->item_defaults);
    cw_json_close(w);
}

static void describe_any_item(cw_json_writer *w, const cw_key *key)
{
    cw_json_add_key(w, CW_STR("anyOf"));
    cw_json_open_array(w);
    describe_item(w, key);
    cw_json_close(w);
}

static void describe_items(cw_json_writer *w, const cw_key *key)
{
    cw_json_add_key(w, CW_STR("anyOf"));
    cw_json_open_array(w);
    describe_item(w, key);
    cw_json_open_object(w);
    cw_key_list_describe_array(w, key, describe_any_item);
    cw_json_close(w);
    if (key->min == 0) {
        cw_json_open_object(w);
        cw_json_add_string_member(w, CW_STR("type"), CW_STR("null"));
        cw_json_close(w);
    }
    cw_json_close(w);
}

const cw_key_type cw_type_items = {"a list", read_items, write_items, describe_items, NULL};

/* ---- mapped: names to items ---- */

static cw_code read_mapped_item(cw_checker *c, const cw_key *key, const cw_place *place,
                                const cw_json *v, void *item)
{
    memcpy(item, key->item_defaults, key->item_size);
    return read_section(c, key, place, v, item);
}

static cw_code read_mapped(cw_checker *c, const cw_key *key, const cw_place *place,
                           const cw_json *v, void *field)
{
    cw_key_list found;
    memcpy(&found, field, sizeof found);
    cw_code rc = cw_key_list_read_map(c, key, place, v, key->item_size, read_mapped_item, &found);
    memcpy(field, &found, sizeof found);
    return rc;
}

static void write_mapped(cw_json_writer *w, const cw_key *key, const void *field)
{
    cw_key_list found;
    memcpy(&found, field, sizeof found);
    cw_json_open_object(w);
    for (size_t i = 0; i < found.n; i++) {
        const char *item = (const char *)found.items + i * key->item_size;
        cw_str name;
        memcpy(&name, item, sizeof name);
        cw_json_add_key(w, name);
        write_members(w, key->children, item);
    }
    cw_json_close(w);
}

static void describe_mapped(cw_json_writer *w, const cw_key *key)
{
    cw_key_add_type(w, "object", /* or_null= */ true);
    cw_key_list_describe_map(w, key, describe_section);
}

const cw_key_type cw_type_mapped = {"a mapping of names to mappings", read_mapped, write_mapped,
                                    describe_mapped, NULL};
