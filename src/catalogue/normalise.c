/* SPDX-License-Identifier: GPL-2.0-or-later */
/* normalise.c - the tool object, field by field.
 *
 * Schemas and annotations are copied token by token: numbers keep their digits,
 * strings their escapes, members their order. White space between tokens goes, so
 * that a tool is one line whatever its document looked like.
 */
#include "catalogue/normalise.h"

#include "catalogue/refs.h"
#include "json/write.h"

static bool is_name_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '.' || c == '-';
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F');
}

static bool is_name(cw_str id)
{
    for (size_t i = 0; i < id.n; i++) {
        if (!is_name_char(id.p[i]))
            return false;
    }
    return true;
}

/* What stands at i would be read back as an escape. */
static bool looks_escaped(cw_str id, size_t i)
{
    return id.n - i >= 4 && id.p[i] == '_' && id.p[i + 1] == 'x' && is_hex(id.p[i + 2]) &&
           is_hex(id.p[i + 3]);
}

/* '/' becomes '.', every other byte outside the set becomes _xHH, and so does a '_' that would be
 * taken for the beginning of one. Stops as soon as the result is too long. */
static size_t map_name(cw_str id, char out[CW_TOOL_NAME_MAX + 4])
{
    static const char digits[] = "0123456789ABCDEF";
    size_t n = 0;
    for (size_t i = 0; i < id.n && n <= CW_TOOL_NAME_MAX; i++) {
        unsigned char c = (unsigned char)id.p[i];
        if (c == '/') {
            out[n++] = '.';
        } else if (is_name_char(id.p[i]) && !looks_escaped(id, i)) {
            out[n++] = id.p[i];
        } else {
            out[n++] = '_';
            out[n++] = 'x';
            out[n++] = digits[c >> 4];
            out[n++] = digits[c & 15];
        }
    }
    return n;
}

cw_code cw_tool_name(cw_str id, cw_arena *arena, cw_str *ret, cw_err *err)
{
    if (id.n == 0)
        return cw_fail(err, CW_PARAMS, "an empty id has no tool name");
    char mapped[CW_TOOL_NAME_MAX + 4];
    cw_str name = is_name(id) ? id : cw_str_make(mapped, map_name(id, mapped));
    if (name.n > CW_TOOL_NAME_MAX)
        return cw_fail(err, CW_PARAMS, "its tool name would be longer than %u characters",
                       CW_TOOL_NAME_MAX);
    cw_str copy = cw_arena_dup_str(arena, name);
    if (!copy.p)
        return cw_arena_fail(arena, err);
    *ret = copy;
    return CW_OK;
}

/* The tool that is being written, and room for its parts. */
typedef struct maker {
    cw_buf out;
    cw_buf schema;
    cw_buf place;
    cw_json_writer w;
} maker;

static void maker_init(maker *m)
{
    /* No ceiling here: what is written is hardly longer than the method that is read, which came
     * through ceilings of its own. */
    cw_buf_init(&m->out, SIZE_MAX / 2);
    cw_buf_init(&m->schema, SIZE_MAX / 2);
    cw_buf_init(&m->place, SIZE_MAX / 2);
}

static void maker_done(maker *m)
{
    cw_buf_done(&m->out);
    cw_buf_done(&m->schema);
    cw_buf_done(&m->place);
}

/* Add a schema whose root will stand at m->place. */
static void add_schema(maker *m, const cw_json *schema, const cw_str *description, bool is_root)
{
    cw_str place = cw_buf_str(&m->place);
    cw_refs refs = {
        .on_ref = cw_refs_move,
        .ctx = &place,
        .description = description,
        .drop_dialect = is_root,
    };
    cw_buf_clear(&m->schema);
    cw_code rc = m->place.code ? m->place.code : cw_refs_copy(&refs, schema, &m->schema);
    if (rc && !m->out.code)
        m->out.code = rc; /* sticky, as if the buffer itself had met it */
    cw_json_add_span(&m->w, cw_buf_str(&m->schema));
}

/* The parameter's schema, in which the parameter's description replaces one that it has. */
static void add_property(maker *m, const cw_param *param)
{
    static const cw_json anything = {.p = "true", .n = 4, .meta = CW_JSON_TRUE};
    bool is_described = param->description.n > 0;
    cw_json_add_key(&m->w, param->name);
    if (!param->schema && !is_described) {
        cw_json_add_span(&m->w, CW_STR("{}"));
        return;
    }
    cw_buf_clear(&m->place);
    cw_buf_add(&m->place, CW_STR("/properties"));
    cw_refs_add_token(&m->place, param->name);
    add_schema(m, param->schema ? param->schema : &anything,
               is_described ? &param->description : NULL, /* is_root= */ false);
}

/* A parameter's schema is no root any more: what it says of its dialect is said once, for all. */
static void add_dialect(maker *m, const cw_method *method)
{
    const cw_json *dialect = NULL;
    for (size_t i = 0; i < method->n_params && !dialect; i++)
        dialect = cw_json_get(method->params[i].schema, CW_STR("$schema"));
    if (!dialect)
        return;
    cw_json_add_key(&m->w, CW_STR("$schema"));
    cw_json_add_value(&m->w, dialect);
}

static void add_input(maker *m, const cw_method *method)
{
    size_t n_required = 0;
    cw_json_add_key(&m->w, CW_STR("inputSchema"));
    cw_json_open_object(&m->w);
    add_dialect(m, method);
    cw_json_add_string_member(&m->w, CW_STR("type"), CW_STR("object"));
    cw_json_add_key(&m->w, CW_STR("properties"));
    cw_json_open_object(&m->w);
    for (size_t i = 0; i < method->n_params; i++) {
        add_property(m, &method->params[i]);
        n_required += method->params[i].is_required;
    }
    cw_json_close(&m->w);
    if (n_required) {
        cw_json_add_key(&m->w, CW_STR("required"));
        cw_json_open_array(&m->w);
        for (size_t i = 0; i < method->n_params; i++) {
            if (method->params[i].is_required)
                cw_json_add_string(&m->w, method->params[i].name);
        }
        cw_json_close(&m->w);
    }
    cw_json_close(&m->w);
}

static bool is_object_schema(const cw_json *schema)
{
    const cw_json *type = cw_json_get(schema, CW_STR("type"));
    return cw_json_is(type, CW_JSON_STRING) && cw_str_is(cw_json_text(type), "object");
}

/* {"type":"object","properties":{"result":S},"required":["result"]}. References in S that count
 * from its root get the way to its new place put in front, so definitions stay inside S and work;
 * the dialect belongs to the root and moves there. */
static void add_wrapped(maker *m, const cw_json *output)
{
    const cw_json *dialect = cw_json_get(output, CW_STR("$schema"));
    cw_json_open_object(&m->w);
    if (dialect) {
        cw_json_add_key(&m->w, CW_STR("$schema"));
        cw_json_add_value(&m->w, dialect);
    }
    cw_json_add_string_member(&m->w, CW_STR("type"), CW_STR("object"));
    cw_json_add_key(&m->w, CW_STR("properties"));
    cw_json_open_object(&m->w);
    cw_json_add_key(&m->w, CW_STR("result"));
    cw_buf_clear(&m->place);
    cw_buf_add(&m->place, CW_STR("/properties/result"));
    add_schema(m, output, NULL, /* is_root= */ true);
    cw_json_close(&m->w);
    cw_json_add_key(&m->w, CW_STR("required"));
    cw_json_add_span(&m->w, CW_STR("[\"result\"]"));
    cw_json_close(&m->w);
}

/* "0" is none, like "": the original says so, and its clients compare listings. */
static bool is_title(cw_str title)
{
    return title.n > 0 && !cw_str_is(title, "0");
}

/* What the method says. Where it says nothing: its title, else its id, since clients (the
 * protocol's own conformance suite among them) refuse a tool without a description. */
static cw_str describe(const cw_method *method)
{
    if (method->usage.n)
        return method->usage;
    return is_title(method->mark->title) ? method->mark->title : method->id;
}

static cw_code make(maker *m, const cw_entry *entry, bool wrap, cw_arena *arena, cw_str *ret,
                    cw_err *err)
{
    const cw_method *method = entry->method;
    const cw_mark *mark = method->mark;
    cw_buf_clear(&m->out);
    cw_json_writer_init(&m->w, &m->out, CW_JSON_COMPACT);
    cw_json_open_object(&m->w);
    cw_json_add_string_member(&m->w, CW_STR("name"), entry->tool_name);
    cw_json_add_string_member(&m->w, CW_STR("description"), describe(method));
    add_input(m, method);
    if (method->output) {
        cw_json_add_key(&m->w, CW_STR("outputSchema"));
        if (wrap)
            add_wrapped(m, method->output);
        else
            cw_json_add_value(&m->w, method->output);
    }
    if (is_title(mark->title))
        cw_json_add_string_member(&m->w, CW_STR("title"), mark->title);
    if (mark->annotations && cw_json_count(mark->annotations)) {
        cw_json_add_key(&m->w, CW_STR("annotations"));
        cw_json_add_value(&m->w, mark->annotations);
    }
    cw_json_close(&m->w);
    cw_code rc = cw_json_writer_end(&m->w, err);
    if (rc)
        return rc;
    *ret = cw_arena_dup_str(arena, cw_buf_str(&m->out));
    return ret->p ? CW_OK : cw_arena_fail(arena, err);
}

cw_code cw_normalise(cw_entry *entry, cw_arena *arena, cw_err *err)
{
    const cw_json *output = entry->method->output;
    if (output && !cw_json_is(output, CW_JSON_OBJECT))
        return cw_fail(err, CW_PARAMS, "output schema: expected an object, got %s",
                       cw_json_type_name(output));
    cw_code rc = cw_tool_name(entry->method->id, arena, &entry->tool_name, err);
    if (rc)
        return rc;
    CW_CLEANUP(maker_done) maker m;
    maker_init(&m);
    rc = make(&m, entry, /* wrap= */ false, arena, &entry->tool_json, err);
    if (rc)
        return rc;
    entry->wraps_output = output && !is_object_schema(output);
    entry->tool_object = entry->tool_json;
    if (entry->wraps_output)
        rc = make(&m, entry, /* wrap= */ true, arena, &entry->tool_object, err);
    return rc;
}
