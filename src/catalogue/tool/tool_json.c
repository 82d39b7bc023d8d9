/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tool_json.c - the tool object, field by field.
 *
 * Schemas and annotations are copied token by token: numbers keep their digits,
 * strings their escapes, members their order. White space between tokens goes, so
 * that a tool is one line whatever its document looked like.
 */
#include "catalogue/tool/tool_json.h"

#include <openssl/sha.h>

#include "catalogue/schema_bundle.h"
#include "catalogue/tool/param_headers.h"
#include "json/write.h"

/* FastMCP's client takes the result out of the wrapper where a schema has this member. */
#define UNWRAPPED "x-fastmcp-wrap-result"

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

/* The text at i would be read back as an escape. */
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
    if (name.p == id.p) {
        *ret = id;
        return CW_OK;
    }
    cw_str copy = cw_arena_dup_str(arena, name);
    if (!copy.p)
        return cw_arena_fail(arena, err);
    *ret = copy;
    return CW_OK;
}

/* The tool that is being written, and room for its parts. */
typedef struct maker {
    cw_buf *out;
    cw_buf schema;
    cw_buf place;
    cw_arena trees; /* of schemas that are not copied as they are */
    cw_json_writer w;
} maker;

static void maker_init(maker *m, cw_buf *out)
{
    m->out = out;
    /* No ceiling here: what is written is hardly longer than the method that is read, which came
     * through ceilings of its own. */
    cw_buf_init(&m->schema, CW_BUF_MAX);
    cw_buf_init(&m->place, CW_BUF_MAX);
    cw_arena_init(&m->trees, CW_ARENA_MAX);
    cw_json_writer_init(&m->w, out, CW_JSON_COMPACT);
}

static void maker_done(maker *m)
{
    cw_buf_done(&m->schema);
    cw_buf_done(&m->place);
    cw_arena_done(&m->trees);
}

/* Sticky, as if the buffer itself had met it. */
static void maker_fail(maker *m, cw_code rc)
{
    if (rc && !m->out->code)
        m->out->code = rc;
}

/* NULL without memory. */
static const cw_json *read_schema(maker *m, cw_str text)
{
    cw_json_opts deep = {.max_depth = CW_JSON_DEPTH_CEILING};
    const cw_json *schema = NULL;
    maker_fail(m, cw_json_read(text, &deep, &m->trees, &schema, NULL, NULL));
    return schema;
}

/* Add a schema whose root will stand at m->place. */
static void add_schema(maker *m, cw_str text, const cw_str *description, bool is_root)
{
    cw_str place = cw_buf_str(&m->place);
    cw_bundle refs = {
        .on_ref = cw_bundle_move,
        .ctx = &place,
        .description = description,
        .drop_dialect = is_root,
    };
    const cw_json *schema = read_schema(m, text);
    cw_buf_clear(&m->schema);
    maker_fail(m, m->place.code);
    if (schema)
        maker_fail(m, cw_bundle_copy(&refs, schema, &m->schema));
    cw_json_add_span(&m->w, cw_buf_str(&m->schema));
}

/* Whether the description can be put behind what is there. */
static bool is_undescribed(cw_str schema)
{
    static const char name[] = "\"description\"";
    return schema.p[0] == '{' && !memmem(schema.p, schema.n, name, sizeof name - 1);
}

static void add_described(maker *m, cw_str schema, cw_str description)
{
    cw_buf_clear(&m->schema);
    cw_buf_add_bytes(&m->schema, schema.p, schema.n - 1);
    cw_buf_add(&m->schema, schema.n > 2 ? CW_STR(",\"description\":") : CW_STR("\"description\":"));
    cw_json_escape(&m->schema, description);
    cw_buf_add_char(&m->schema, '}');
    maker_fail(m, m->schema.code);
    cw_json_add_span(&m->w, cw_buf_str(&m->schema));
}

/* The parameter's schema, in which the parameter's description replaces one that it has. */
static void add_property(maker *m, const cw_param *param)
{
    cw_str schema = param->schema.n ? param->schema : CW_STR("{}");
    bool is_described = param->description.n > 0;
    bool is_plain = !cw_bundle_may_be_in(schema);
    cw_json_add_key(&m->w, param->name);
    if (is_plain && !is_described) {
        cw_json_add_span(&m->w, schema);
        return;
    }
    if (is_plain && is_undescribed(schema)) {
        add_described(m, schema, param->description);
        return;
    }
    cw_buf_clear(&m->place);
    cw_buf_add(&m->place, CW_STR("/properties"));
    cw_bundle_add_token(&m->place, param->name);
    add_schema(m, schema, is_described ? &param->description : NULL, /* is_root= */ false);
}

/* A schema's "$schema", or NULL. */
static const cw_json *dialect_of(maker *m, cw_str schema)
{
    if (!cw_bundle_may_be_in(schema))
        return NULL;
    return cw_json_get(read_schema(m, schema), CW_STR("$schema"));
}

static void add_dialect(maker *m, const cw_json *dialect)
{
    if (!dialect)
        return;
    cw_json_add_key(&m->w, CW_STR("$schema"));
    cw_json_add_value(&m->w, dialect);
}

static void add_required(maker *m, const cw_method *method)
{
    cw_json_add_key(&m->w, CW_STR("required"));
    cw_json_open_array(&m->w);
    for (size_t i = 0; i < method->n_params; i++) {
        if (method->params[i].is_required)
            cw_json_add_string(&m->w, method->params[i].name);
    }
    cw_json_close(&m->w);
}

static void add_input(maker *m, const cw_method *method)
{
    size_t n_required = 0;
    cw_json_add_key(&m->w, CW_STR("inputSchema"));
    if (method->input.n) {
        cw_json_add_span(&m->w, method->input);
        return;
    }
    /* A parameter's schema is no root any more: what it says of its dialect is said once, for all.
     */
    const cw_json *dialect = NULL;
    for (size_t i = 0; i < method->n_params && !dialect; i++)
        dialect = dialect_of(m, method->params[i].schema);
    cw_json_open_object(&m->w);
    add_dialect(m, dialect);
    cw_json_add_string_member(&m->w, CW_STR("type"), CW_STR("object"));
    cw_json_add_key(&m->w, CW_STR("properties"));
    cw_json_open_object(&m->w);
    for (size_t i = 0; i < method->n_params; i++) {
        add_property(m, &method->params[i]);
        n_required += method->params[i].is_required;
    }
    cw_json_close(&m->w);
    if (n_required)
        add_required(m, method);
    cw_json_close(&m->w);
}

/* {"type":"object","properties":{"result":S},"required":["result"]}. References in S that count
 * from its root get the way to its new place put in front, so definitions stay inside S and work;
 * the dialect belongs to the root and moves there. */
static void add_wrapped(maker *m, cw_str output)
{
    cw_json_open_object(&m->w);
    add_dialect(m, dialect_of(m, output));
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
    cw_json_add_bool_member(&m->w, CW_STR(UNWRAPPED), true);
    cw_json_close(&m->w);
}

/* "0" counts as empty, like "", as in the original; its clients compare listings. */
static bool is_title(cw_str title)
{
    return title.n > 0 && !cw_str_is(title, "0");
}

/* The method's usage, else its title, else its id: clients (including the protocol's conformance
 * suite) reject a tool without a description. */
static cw_str describe(const cw_method *method)
{
    if (method->usage.n)
        return method->usage;
    return is_title(method->mark->title) ? method->mark->title : method->id;
}

/* Claude Code moves larger results to a file, unless the tool announces their size. */
#define RESULT_CHARS "anthropic/maxResultSizeChars"
#define RESULT_CHARS_MAX 500000u

/* _meta: the size that the operator has set, and what an MCP server has there. */
static void add_meta(maker *m, const cw_method *method, const cw_json *its)
{
    bool has_size = method->has_result_size && method->result_size;
    size_t size = method->result_size;
    if (!has_size && !its)
        return;
    cw_json_add_key(&m->w, CW_STR("_meta"));
    cw_json_open_object(&m->w);
    if (has_size) {
        cw_json_add_key(&m->w, CW_STR(RESULT_CHARS));
        cw_json_add_u64(&m->w, size < RESULT_CHARS_MAX ? size : RESULT_CHARS_MAX);
    }
    for (const cw_json *k = its ? cw_json_first(its) : NULL; k; k = cw_json_next_key(k)) {
        if (has_size && cw_str_is(cw_json_text(k), RESULT_CHARS))
            continue;
        cw_json_add_key(&m->w, cw_json_text(k));
        cw_json_add_value(&m->w, cw_json_value(k));
    }
    cw_json_close(&m->w);
}

static void add_more(maker *m, const cw_method *method)
{
    const cw_json *more = method->mark->more.n ? read_schema(m, method->mark->more) : NULL;
    const cw_json *icons = cw_json_get(more, CW_STR("icons"));
    if (icons) {
        cw_json_add_key(&m->w, CW_STR("icons"));
        cw_json_add_value(&m->w, icons);
    }
    add_meta(m, method, cw_json_get(more, CW_STR("_meta")));
}

void cw_tool_write(const cw_entry *entry, cw_tool_form form, cw_buf *out)
{
    const cw_method *method = entry->method;
    const cw_mark *mark = method->mark;
    CW_CLEANUP(maker_done) maker m;
    maker_init(&m, out);
    cw_json_open_object(&m.w);
    cw_json_add_string_member(&m.w, CW_STR("name"), entry->tool_name);
    cw_json_add_string_member(&m.w, CW_STR("description"), describe(method));
    add_input(&m, method);
    if (method->output.n) {
        cw_json_add_key(&m.w, CW_STR("outputSchema"));
        if (entry->wraps_output && form == CW_TOOL_OBJECT_OUTPUT)
            add_wrapped(&m, method->output);
        else
            cw_json_add_span(&m.w, method->output);
    }
    if (is_title(mark->title))
        cw_json_add_string_member(&m.w, CW_STR("title"), mark->title);
    if (mark->annotations.n > 2) {
        cw_json_add_key(&m.w, CW_STR("annotations"));
        cw_json_add_span(&m.w, mark->annotations);
    }
    add_more(&m, method);
    cw_json_close(&m.w);
    maker_fail(&m, cw_json_writer_end(&m.w, NULL));
}

/* Whether the output schema is an object at all, and whether what it describes is one. */
static cw_code check_output(cw_entry *entry, cw_arena *scratch, cw_err *err)
{
    cw_json_opts deep = {.max_depth = CW_JSON_DEPTH_CEILING};
    const cw_json *output;
    cw_code rc = cw_json_read(entry->method->output, &deep, scratch, &output, NULL, err);
    if (rc)
        return rc;
    if (!cw_json_is(output, CW_JSON_OBJECT))
        return cw_fail(err, CW_PARAMS, "output schema: expected an object, got %s",
                       cw_json_type_name(output));
    const cw_json *type = cw_json_get(output, CW_STR("type"));
    bool is_one_type = cw_json_is(type, CW_JSON_STRING);
    entry->wraps_output = !is_one_type || !cw_str_is(cw_json_text(type), "object");
    entry->returns_text = is_one_type && cw_str_is(cw_json_text(type), "string");
    return CW_OK;
}

/* Invalid declarations are ignored; catalogue/lint.h reports them. */
static cw_code add_param_headers(cw_entry *entry, cw_arena *scratch, cw_err *err)
{
    const cw_param_headers *mirrors;
    size_t n = 0;
    cw_code rc = cw_param_headers_find(entry->method, NULL, scratch, &mirrors, &n, NULL);
    entry->is_mirrored = n > 0;
    return rc == CW_NOMEM ? cw_fail_nomem(err) : CW_OK;
}

/* Equal in all processes, for cw_snapshot_digest. */
static uint64_t hash_of(cw_str text)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    uint64_t hash;
    SHA256((const unsigned char *)text.p, text.n, digest);
    memcpy(&hash, digest, sizeof hash);
    return hash;
}

cw_code cw_tool_json(cw_entry *entry, cw_arena *arena, cw_buf *text, cw_err *err)
{
    CW_CLEANUP(cw_arena_done) cw_arena scratch;
    cw_arena_init(&scratch, CW_ARENA_MAX);
    cw_code rc = entry->method->output.n ? check_output(entry, &scratch, err) : CW_OK;
    if (!rc)
        rc = add_param_headers(entry, &scratch, err);
    if (!rc)
        rc = cw_tool_name(entry->method->id, arena, &entry->tool_name, err);
    if (rc)
        return rc;
    cw_buf_clear(text);
    cw_tool_write(entry, CW_TOOL_ANY_OUTPUT, text);
    if (text->code)
        return cw_fail_nomem(err);
    entry->tool_hash = hash_of(cw_buf_str(text));
    return CW_OK;
}
