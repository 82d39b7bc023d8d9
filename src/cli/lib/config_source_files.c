/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_source_files.c - checks the files that entries of `sources` name, and their schemas. */
#include <string.h>

#include "base/file.h"
#include "catalogue/method_errors.h"
#include "catalogue/ui.h"
#include "cli/lib/config_files.h"
#include "config/overlay.h"
#include "config/report.h"
#include "json/write.h"
#include "net/server/tls.h"
#include "schema/schema.h"
#include "source/describe/describe.h"
#include "source/openrpc/openrpc.h"
#include "source/upstream/endpoint.h"

#define SCRATCH_MAX ((size_t)256 << 20)

static const cw_place root = {0};

/* ---- services ---- */

/* The methods of a description that is a file. */
typedef struct description {
    cw_arena arena;
    cw_method *methods;
    size_t n;
} description;

/* State of the checks of one entry of `sources`; of plugins, without `source`. */
typedef struct source_check {
    const char *file; /* that the place is in: the configuration, or an overlay */
    const cw_config *config;
    const cw_config_remote *source;
    cw_config_problems *problems, *warnings;
    const cw_place *place;
    description *described;
} source_check;

/* The same for a part of the entry. */
static source_check within(const source_check *x, const cw_place *place)
{
    source_check inner = *x;
    inner.place = place;
    return inner;
}

static cw_schema_policy policy_of(const source_check *x)
{
    return (cw_schema_policy){.draft = x->config->schema.default_draft,
                              .annotate_formats = !x->config->schema.assert_formats};
}

static cw_code report_source(const source_check *x, const char *key, const char *message,
                             const char *remedy)
{
    const cw_place place = {.up = x->place, .name = cw_str_from(key)};
    return cw_config_report(x->problems, x->file, &place, "%s%s%s", message, *remedy ? "; " : "",
                            remedy);
}

/* A secret comes from a file, or from a variable of the server's environment. */
static const char *secret_remedy(const source_check *x, const char *key)
{
    bool is_variable =
        strcmp(key, "secret") == 0
            ? x->source->secret.environment.n > 0
            : strcmp(key, "oauth") == 0 && x->source->oauth.client_secret_environment.n > 0;
    if (strcmp(key, "answers_to_service") == 0)
        return "";
    return is_variable ? "set it in the environment of the server, or keep the secret in a file"
                       : "write the secret to it, readable for this user";
}

/* Everything that a service needs before it is asked. Its messages begin with the key. */
static cw_code check_service(const source_check *x)
{
    static const char *const keys[] = {"secret", "oauth", "environment_files", "header_files",
                                       "answers_to_service"};
    cw_endpoint *service = NULL;
    cw_err err = {0};
    cw_code rc = cw_endpoint_new(x->source, NULL, &service, &err);
    cw_endpoint_unref(service);
    if (!rc || rc == CW_NOMEM)
        return rc;
    for (size_t i = 0; i < CW_COUNT(keys); i++) {
        size_t n = strlen(keys[i]);
        if (strncmp(err.msg, keys[i], n) == 0 && err.msg[n] == ':')
            return report_source(x, keys[i], err.msg + n + 2, secret_remedy(x, keys[i]));
    }
    return cw_config_report(x->problems, x->file, x->place, "%s", err.msg);
}

static cw_code check_source_tls(const source_check *x)
{
    const cw_config_remote *s = x->source;
    const cw_place tls = {.up = x->place, .name = CW_STR("tls")};
    const source_check inner = within(x, &tls);
    cw_tls_file wrong = CW_TLS_CERTIFICATE;
    cw_err err = {0};
    cw_code rc = CW_OK;
    if (s->tls.ca_file.n && cw_tls_check_authorities(s->tls.ca_file.p, &err))
        rc = report_source(&inner, "ca_file", err.msg, "");
    if (rc || s->tls.certificate.n == 0 || s->tls.key.n == 0)
        return rc;
    if (cw_tls_check_files(s->tls.certificate.p, s->tls.key.p, &wrong, &err))
        rc = report_source(&inner, wrong == CW_TLS_KEY ? "key" : "certificate", err.msg, "");
    return rc;
}

/* ---- descriptions ---- */

static cw_code warn_of(const source_check *x, const char *key, cw_str lines)
{
    const cw_place place = {.up = x->place, .name = cw_str_from(key)};
    cw_code rc = CW_OK;
    for (size_t i = 0; i < CW_CONFIG_MAX_PROBLEMS && lines.p && !rc; i++) {
        cw_str line = cw_str_cut(lines, '\n', &lines);
        if (line.n)
            rc = cw_config_report(x->warnings, x->file, &place,
                                  "warning: %.*s; correct it in the file", CW_STR_ARG(line));
    }
    return rc;
}

/* A server uses the rest of a description without the parts that it cannot use. */
static cw_code check_openrpc(const source_check *x, cw_str openrpc, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf lines;
    cw_buf_init(&lines, CW_BUF_MAX);
    const cw_json_opts limits = {.max_bytes = CW_DESCRIBE_DOCUMENT_MAX};
    const cw_openrpc_opts opts = {.warnings = &lines};
    const cw_schema_policy policy = policy_of(x);
    const cw_json *document = NULL;
    description *d = x->described;
    cw_arena *arena = &d->arena;
    cw_code rc = cw_json_read(openrpc, &limits, arena, &document, NULL, err);
    if (!rc)
        rc = cw_openrpc_upgrade_draft4(&document, arena, err);
    if (!rc)
        rc = cw_openrpc_read(document, &opts, arena, &d->methods, &d->n, err);
    cw_buf_add_char(&lines, '\n');
    if (!rc)
        rc = cw_method_errors_list(d->methods, d->n, &policy, CW_METHOD_ERRORS_ALL, &lines);
    if (!rc && lines.code)
        rc = cw_fail_nomem(err);
    return rc ? rc : warn_of(x, "openrpc", cw_buf_str(&lines));
}

static cw_code read_description(const source_check *x, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    CW_CLEANUP(cw_buf_done) cw_buf document;
    cw_buf_init(&text, CW_DESCRIBE_DOCUMENT_MAX);
    cw_buf_init(&document, CW_DESCRIBE_DOCUMENT_MAX);
    const cw_json *manifest = NULL;
    cw_code rc = cw_file_read(x->source->openrpc.p, CW_FILE_PLAIN, &text, err);
    if (rc)
        return rc;
    rc = cw_json_read(cw_buf_str(&text), NULL, &x->described->arena, &manifest, NULL, err);
    if (!rc)
        rc = cw_describe_manifest(manifest, &document, err);
    if (!rc)
        rc = check_openrpc(x, cw_buf_str(&document), err);
    return rc ? cw_wrap(err, rc, "'%s'", x->source->openrpc.p) : CW_OK;
}

static cw_code check_description(const source_check *x)
{
    cw_err err = {0};
    if (x->source->openrpc.n == 0)
        return CW_OK;
    cw_code rc = read_description(x, &err);
    if (!rc || rc == CW_NOMEM)
        return rc;
    return report_source(x, "openrpc", err.msg, "save an OpenRPC document or a manifest there");
}

/* ---- schemas ---- */

static cw_code check_schema_as(const source_check *x, const char *key, cw_str schema,
                               const cw_schema_opts *opts)
{
    cw_schema *compiled = NULL;
    cw_err err = {0};
    if (schema.n == 0)
        return CW_OK;
    cw_code rc = cw_schema_compile_text(schema, opts, &compiled, &err);
    cw_schema_unref(compiled);
    if (!rc || rc == CW_NOMEM)
        return rc;
    return report_source(x, key, err.msg, "correct the schema");
}

/* A schema as the server compiles it at the first call. */
static cw_code check_schema(const source_check *x, const char *key, cw_str schema)
{
    const cw_schema_policy policy = policy_of(x);
    const cw_schema_opts opts = {.draft = policy.draft,
                                 .annotate_formats = policy.annotate_formats};
    return check_schema_as(x, key, schema, &opts);
}

/* `schema` of the configuration is about methods. */
static cw_code check_events(const source_check *x, const cw_config_events *events)
{
    const cw_place list = {.up = x->place, .name = CW_STR("events")};
    cw_code rc = CW_OK;
    for (size_t i = 0; i < events->n && !rc; i++) {
        const cw_place place = {.up = &list, .name = events->items[i].name};
        const source_check inner = within(x, &place);
        rc = check_schema_as(&inner, "schema", events->items[i].schema, NULL);
    }
    return rc;
}

cw_code cw_cli_check_plugin_events(const char *file, const cw_config *config,
                                   cw_config_problems *problems)
{
    const cw_place plugins = {.up = &root, .name = CW_STR("plugins")};
    const source_check x = {file, config, NULL, problems, NULL, &plugins, NULL};
    return check_events(&x, &config->plugins.events);
}

/* The schema of a param, if it is known here: the operator's, or that in a file. Else it is empty. */
static cw_str find_schema(const source_check *x, cw_str method, const cw_config_param *own)
{
    const description *d = x->described;
    for (size_t i = 0; i < d->n && !own->schema.n; i++) {
        const cw_param *param =
            cw_str_eq(d->methods[i].id, method) ? cw_method_param(&d->methods[i], own->name) : NULL;
        if (param)
            return param->schema;
    }
    return own->schema;
}

/* Arguments that clients do not see are not validated. */
static cw_code check_default(const source_check *x, cw_str method, const cw_config_param *own)
{
    const cw_schema_policy policy = policy_of(x);
    cw_param param = {.schema = find_schema(x, method, own)};
    cw_err err = {0};
    cw_arena arena;
    if (!own->default_value.n || !param.schema.n || own->hidden || own->value.n)
        return CW_OK;
    cw_arena_init(&arena, SCRATCH_MAX);
    cw_code rc = cw_json_read(own->default_value, NULL, &arena, &param.default_value, NULL, &err);
    if (!rc)
        rc = cw_method_check_default(&param, &policy, NULL, &err);
    cw_arena_done(&arena);
    if (!rc || rc == CW_NOMEM)
        return rc;
    return report_source(x, "default", err.msg, "write a value that the schema accepts");
}

static cw_code check_params(const source_check *x, const cw_config_overlay *o)
{
    const cw_place list = {.up = x->place, .name = CW_STR("params")};
    cw_code rc = CW_OK;
    for (size_t i = 0; i < o->params.n && !rc; i++) {
        const cw_config_param *param = &o->params.items[i];
        const cw_place place = {.up = &list, .name = param->name};
        const source_check inner = within(x, &place);
        rc = check_schema(&inner, "schema", param->schema);
        if (!rc)
            rc = check_default(&inner, o->method, param);
    }
    return rc;
}

/* ---- requirements ---- */

/* `scopes` and `auth_level` of the entry add to those of its annotations, or replace them. Without
 * any of them, the reader of the mark rejects it. */
static void write_auth(cw_json_writer *w, const cw_config_overlay *o, const cw_json *auth)
{
    bool has_own = o->scopes.n || o->level != CW_CONFIG_AUTH_UNSET;
    cw_json_open_object(w);
    if (has_own && !cw_json_get(auth, CW_STR("scopes"))) {
        cw_json_add_key(w, CW_STR("scopes"));
        cw_json_open_array(w);
        cw_json_close(w);
    }
    for (const cw_json *k = cw_json_first(auth); k; k = cw_json_next_key(k)) {
        if (o->level != CW_CONFIG_AUTH_UNSET && cw_str_is(cw_json_text(k), "level"))
            continue;
        cw_json_add_key(w, cw_json_text(k));
        cw_json_add_value(w, cw_json_value(k));
    }
    cw_json_close(w);
}

/* The mark that the annotations of an entry make. */
static cw_code write_mark(const cw_config_overlay *o, cw_arena *arena, cw_buf *out, cw_err *err)
{
    cw_json_writer w;
    const cw_json *annotations = NULL;
    cw_code rc = cw_json_read(o->annotations, NULL, arena, &annotations, NULL, err);
    if (rc)
        return rc;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_key(&w, CW_STR("annotations"));
    cw_json_open_object(&w);
    for (const cw_json *k = cw_json_first(annotations); k; k = cw_json_next_key(k)) {
        const cw_json *v = cw_json_value(k);
        cw_json_add_key(&w, cw_json_text(k));
        if (cw_str_is(cw_json_text(k), "auth") && cw_json_is(v, CW_JSON_OBJECT))
            write_auth(&w, o, v);
        else
            cw_json_add_value(&w, v);
    }
    cw_json_close(&w);
    cw_json_close(&w);
    return cw_json_writer_end(&w, err);
}

static cw_code read_annotations(const cw_config_overlay *o, cw_arena *arena, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    const cw_json *mark = NULL;
    const cw_mark *made = NULL;
    cw_requirements needs = {0};
    cw_buf_init(&text, 4 * CW_CONFIG_MAX_BYTES);
    cw_code rc = write_mark(o, arena, &text, err);
    if (!rc)
        rc = cw_json_read(cw_buf_str(&text), NULL, arena, &mark, NULL, err);
    return rc ? rc : cw_openrpc_mark(mark, "entry", arena, &made, &needs, err);
}

/* A method that may not be called needs no requirements. */
static cw_code check_annotations(const source_check *x, const cw_config_overlay *o)
{
    static const char before[] = "entry: annotations: ";
    cw_err err = {0};
    cw_arena arena;
    if (o->annotations.n == 0 || (!o->tool && !o->rpc))
        return CW_OK;
    cw_arena_init(&arena, SCRATCH_MAX);
    cw_code rc = read_annotations(o, &arena, &err);
    cw_arena_done(&arena);
    if (!rc || rc == CW_NOMEM)
        return rc;
    bool has_key = strncmp(err.msg, before, sizeof before - 1) == 0;
    return report_source(x, "annotations", err.msg + (has_key ? sizeof before - 1 : 0),
                         "correct it");
}

/* ---- methods ---- */

static cw_code check_html(const source_check *x, cw_str file)
{
    CW_CLEANUP(cw_buf_done) cw_buf html;
    cw_err err = {0};
    cw_buf_init(&html, CW_UI_MAX_BYTES);
    cw_code rc = file.n ? cw_file_read(file.p, CW_FILE_PLAIN, &html, &err) : CW_OK;
    if (rc == CW_LIMIT)
        cw_fail(&err, rc, "'%s' is larger than %u KB", file.p, CW_UI_MAX_BYTES >> 10);
    else if (!rc && file.n)
        rc = cw_wrap(&err, cw_ui_check_html(cw_buf_str(&html), &err), "'%s'", file.p);
    if (!rc || rc == CW_NOMEM)
        return rc;
    return report_source(x, "ui_file", err.msg, "save the HTML document of the view there");
}

/* The server gives a view of a file an address. */
static cw_code check_ui(const source_check *x, const cw_config_overlay *o)
{
    cw_err err = {0};
    cw_ui ui;
    cw_arena arena;
    const cw_json *given = NULL;
    if (!o->ui.n)
        return CW_OK;
    cw_arena_init(&arena, SCRATCH_MAX);
    cw_code rc = cw_json_read(o->ui, NULL, &arena, &given, NULL, &err);
    if (!rc)
        rc = cw_ui_read(given, o->ui_file.n ? CW_STR(CW_UI_SCHEME "file") : CW_STR(""), &arena, &ui,
                        &err);
    cw_arena_done(&arena);
    if (!rc || rc == CW_NOMEM)
        return rc;
    return report_source(x, "ui", err.msg, "correct it");
}

static cw_code check_methods(const source_check *x, const cw_config_overlays *methods)
{
    const cw_place list = {.up = x->place, .name = CW_STR("methods")};
    cw_code rc = CW_OK;
    for (size_t i = 0; i < methods->n && !rc; i++) {
        const cw_place place = {.up = &list, .index = i};
        const source_check inner = within(x, &place);
        rc = check_params(&inner, &methods->items[i]);
        if (!rc)
            rc = check_schema(&inner, "output", methods->items[i].output);
        if (!rc)
            rc = check_html(&inner, methods->items[i].ui_file);
        if (!rc)
            rc = check_ui(&inner, &methods->items[i]);
        if (!rc)
            rc = check_annotations(&inner, &methods->items[i]);
    }
    return rc;
}

static cw_code check_overlay(const source_check *x)
{
    cw_err err = {0};
    cw_config_overlay_file *overlay = NULL;
    if (x->source->overlay.n == 0)
        return CW_OK;
    cw_code rc = cw_config_overlay_read(x->source->overlay.p, &overlay, x->problems, &err);
    if (rc == CW_CONFIG || rc == CW_NOMEM)
        return rc == CW_CONFIG ? CW_OK : rc; /* its mistakes are reported */
    if (rc)
        return report_source(x, "overlay", err.msg, "causeway import writes one");
    source_check inner = within(x, &root);
    inner.file = x->source->overlay.p;
    const cw_config_overlays methods = cw_config_overlay_lists_of(overlay).methods;
    rc = check_methods(&inner, &methods);
    cw_config_overlay_free(overlay);
    return rc;
}

static cw_code check_entry(const source_check *x)
{
    cw_code rc = check_service(x);
    if (!rc)
        rc = check_source_tls(x);
    if (!rc)
        rc = check_description(x);
    if (!rc)
        rc = check_methods(x, &x->source->methods);
    if (!rc)
        rc = check_overlay(x);
    return rc ? rc : check_events(x, &x->source->events);
}

cw_code cw_cli_check_source_files(const char *file, const cw_config *config,
                                  cw_config_problems *problems, cw_config_problems *warnings)
{
    const cw_place list = {.up = &root, .name = CW_STR("sources")};
    cw_code rc = CW_OK;
    for (size_t i = 0; i < config->sources.n && !rc; i++) {
        const cw_place place = {.up = &list, .index = i};
        description described = {.n = 0};
        const source_check x = {file,   config,    &config->sources.items[i], problems, warnings,
                                &place, &described};
        cw_arena_init(&described.arena, SCRATCH_MAX);
        rc = check_entry(&x);
        cw_arena_done(&described.arena);
    }
    return rc;
}
