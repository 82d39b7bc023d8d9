/* SPDX-License-Identifier: GPL-2.0-or-later */
/* map_params.c - what is sent for the arguments of a call. */
#include "json/write.h"
#include "source/remote/mapping_int.h"

/* What goes out, in the call's arena: as large as the arguments and what the plan adds. */
typedef struct param_builder {
    const cw_param_map *map;
    const cw_json *const *arguments; /* or NULL */
    cw_buf *out;
    size_t n; /* values written */
} param_builder;

/* JSON text of a slot's value; empty: it is left out. */
static cw_str value_of(const param_builder *x, const cw_param_map_entry *slot)
{
    if (slot->fixed.n)
        return slot->fixed;
    bool is_shown = slot->argument != CW_PARAM_MAP_HIDDEN && x->arguments;
    const cw_json *v = is_shown ? x->arguments[slot->argument] : NULL;
    return v ? cw_json_span(v) : slot->default_value;
}

static void separate(param_builder *x)
{
    if (x->n++)
        cw_buf_add_char(x->out, ',');
}

static void add(param_builder *x, cw_str key, cw_str value)
{
    separate(x);
    cw_buf_add(x->out, key);
    cw_buf_add(x->out, value);
}

static void write_named(param_builder *x, size_t from)
{
    for (size_t i = from; i < x->map->n; i++) {
        cw_str value = value_of(x, &x->map->slots[i]);
        if (value.n)
            add(x, x->map->slots[i].key, value);
    }
    if (x->map->protocol->secret_member.n)
        add(x, CW_STR(""), x->map->protocol->secret_member);
}

/* The first `n` slots. */
static void write_list(param_builder *x, size_t n)
{
    cw_buf_add_char(x->out, '[');
    if (x->map->protocol->secret_first.n)
        add(x, CW_STR(""), x->map->protocol->secret_first);
    for (size_t i = 0; i < n; i++) {
        cw_str value = value_of(x, &x->map->slots[i]);
        add(x, CW_STR(""), value.n ? value : CW_STR("null"));
    }
    cw_buf_add_char(x->out, ']');
}

/* Slots up to the last that has a value, or up to the first that has none. */
static size_t count_given(const param_builder *x, bool without_gaps)
{
    size_t n = 0;
    for (size_t i = 0; i < x->map->n; i++) {
        bool is_given = value_of(x, &x->map->slots[i]).n;
        if (is_given)
            n = i + 1;
        else if (without_gaps)
            break;
    }
    return n;
}

static void write_mixed(param_builder *x)
{
    size_t n = count_given(x, /* without_gaps= */ true);
    cw_buf_add_char(x->out, '{');
    if (n || x->map->protocol->secret_first.n) {
        cw_buf_add(x->out, CW_STR("\"args\":"));
        write_list(x, n);
        x->n = 1;
    }
    write_named(x, n);
    cw_buf_add_char(x->out, '}');
}

/* The argument "params" is all of them. */
static void write_passed(param_builder *x)
{
    const cw_json *all = x->arguments ? x->arguments[0] : NULL;
    bool is_object = cw_json_is(all, CW_JSON_OBJECT), is_list = cw_json_is(all, CW_JSON_ARRAY);
    cw_str secret = x->map->protocol->secret_first;
    if (is_object || (!is_list && x->map->style == CW_PARAMS_NAMED)) {
        cw_buf_add_char(x->out, '{');
        for (const cw_json *k = is_object ? cw_json_first(all) : NULL; k; k = cw_json_next_key(k)) {
            separate(x);
            cw_json_escape(x->out, cw_json_text(k));
            cw_buf_add_char(x->out, ':');
            cw_buf_add(x->out, cw_json_span(cw_json_value(k)));
        }
        if (x->map->protocol->secret_member.n)
            add(x, CW_STR(""), x->map->protocol->secret_member);
        cw_buf_add_char(x->out, '}');
        return;
    }
    cw_buf_add_char(x->out, '[');
    if (secret.n)
        add(x, CW_STR(""), secret);
    for (const cw_json *v = is_list ? cw_json_first(all) : NULL; v; v = cw_json_next(v))
        add(x, CW_STR(""), cw_json_span(v));
    cw_buf_add_char(x->out, ']');
}

static void write_all(param_builder *x)
{
    if (x->map->passes_all) {
        write_passed(x);
        return;
    }
    switch (x->map->style) {
    case CW_PARAMS_POSITIONAL:
        write_list(x, count_given(x, /* without_gaps= */ false));
        return;
    case CW_PARAMS_MIXED:
        write_mixed(x);
        return;
    case CW_PARAMS_NAMED:
        break;
    }
    cw_buf_add_char(x->out, '{');
    write_named(x, 0);
    cw_buf_add_char(x->out, '}');
}

static cw_code read_continuation(const cw_param_map *map, const cw_json *const *arguments,
                                 cw_continuation *ret, cw_err *err)
{
    const cw_json *v = map->continues && arguments ? arguments[map->continuation] : NULL;
    *ret = (cw_continuation){.is_given = v != NULL};
    if (!v || (cw_json_is(v, CW_JSON_STRING) && cw_continuation_read(cw_json_text(v), ret)))
        return CW_OK;
    return cw_fail(err, CW_PARAMS,
                   "/" CW_PARAM_MAP_CONTINUATION ": expected what a result of this tool gave");
}

cw_code cw_param_map_apply(const cw_param_map *map, const cw_json *const *arguments,
                           cw_arena *arena, cw_str *ret, cw_continuation *ret_part, cw_err *err)
{
    cw_code rc = read_continuation(map, arguments, ret_part, err);
    if (rc)
        return rc;
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, SIZE_MAX / 2);
    param_builder x = {.map = map, .arguments = arguments, .out = &out};
    write_all(&x);
    if (out.code)
        return cw_fail_nomem(err);
    if (x.n == 0 && !map->protocol->sends_empty) {
        *ret = CW_STR("");
        return CW_OK;
    }
    *ret = cw_arena_dup_str(arena, cw_buf_str(&out));
    return ret->p ? CW_OK : cw_arena_fail(arena, err);
}
