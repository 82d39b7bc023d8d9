/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_source_files.c - checks the files that an entry of `sources` names. */
#include <string.h>

#include "base/file.h"
#include "cli/lib/config_sources.h"
#include "config/overlay.h"
#include "config/report.h"
#include "net/server/tls.h"
#include "schema/schema.h"
#include "source/describe/describe.h"
#include "source/upstream/endpoint.h"

#define SCRATCH_MAX ((size_t)256 << 20)

/* State of the checks of one entry. */
typedef struct checking {
    const char *file; /* that the place is in: the configuration, or an overlay */
    const cw_config *config;
    const cw_config_remote *source;
    cw_config_problems *problems;
    const cw_place *place;
} checking;

static cw_code report(const checking *x, const char *key, const char *message, const char *remedy)
{
    const cw_place place = {.up = x->place, .name = cw_str_from(key)};
    return cw_config_report(x->problems, x->file, &place, "%s%s%s", message, *remedy ? "; " : "",
                            remedy);
}

/* ---- secrets and addresses ---- */

/* Everything that a service needs before it is asked. Its messages begin with the key. */
static cw_code check_service(const checking *x)
{
    static const char *const keys[] = {"secret", "oauth", "answers_to_service"};
    cw_endpoint *service = NULL;
    cw_err err = {0};
    cw_code rc = cw_endpoint_new(x->source, NULL, &service, &err);
    cw_endpoint_unref(service);
    if (!rc || rc == CW_NOMEM)
        return rc;
    for (size_t i = 0; i < CW_COUNT(keys); i++) {
        size_t n = strlen(keys[i]);
        if (strncmp(err.msg, keys[i], n) == 0 && err.msg[n] == ':')
            return report(x, keys[i], err.msg + n + 2,
                          i < 2 ? "write the secret there, readable for this user" : "");
    }
    return cw_config_report(x->problems, x->file, x->place, "%s", err.msg);
}

/* ---- TLS ---- */

static cw_code check_tls(const checking *x)
{
    const cw_config_remote *s = x->source;
    const cw_place tls = {.up = x->place, .name = CW_STR("tls")};
    const checking inner = {x->file, x->config, s, x->problems, &tls};
    cw_tls_file wrong = CW_TLS_CERTIFICATE;
    cw_err err = {0};
    cw_code rc = CW_OK;
    if (s->tls.ca_file.n && cw_tls_check_authorities(s->tls.ca_file.p, &err))
        rc = report(&inner, "ca_file", err.msg, "");
    if (rc || s->tls.certificate.n == 0 || s->tls.key.n == 0)
        return rc;
    if (cw_tls_check_files(s->tls.certificate.p, s->tls.key.p, &wrong, &err))
        rc = report(&inner, wrong == CW_TLS_KEY ? "key" : "certificate", err.msg, "");
    return rc;
}

/* ---- descriptions, overlays and their schemas ---- */

static cw_code check_description(const checking *x)
{
    cw_err err = {0};
    cw_arena arena;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    CW_CLEANUP(cw_buf_done) cw_buf document;
    if (x->source->openrpc.n == 0)
        return CW_OK;
    cw_arena_init(&arena, SCRATCH_MAX);
    cw_buf_init(&text, CW_DESCRIBE_DOCUMENT_MAX);
    cw_buf_init(&document, CW_DESCRIBE_DOCUMENT_MAX);
    const cw_json *root = NULL;
    cw_code rc = cw_file_read(x->source->openrpc.p, CW_FILE_PLAIN, &text, &err);
    if (!rc) {
        rc = cw_json_read(cw_buf_str(&text), NULL, &arena, &root, NULL, &err);
        if (!rc)
            rc = cw_describe_manifest(root, &document, &err);
        if (rc)
            cw_wrap(&err, rc, "'%s'", x->source->openrpc.p);
    }
    cw_arena_done(&arena);
    if (!rc || rc == CW_NOMEM)
        return rc;
    return report(x, "openrpc", err.msg, "save an OpenRPC document or a manifest there");
}

/* A schema as the server compiles it at the first call. */
static cw_code check_schema(const checking *x, const char *key, cw_str schema)
{
    cw_schema *compiled = NULL;
    cw_err err = {0};
    const cw_schema_opts opts = {.draft = x->config->schema.default_draft,
                                 .annotate_formats = !x->config->schema.assert_formats};
    if (schema.n == 0)
        return CW_OK;
    cw_code rc = cw_schema_compile_text(schema, &opts, &compiled, &err);
    cw_schema_unref(compiled);
    if (!rc || rc == CW_NOMEM)
        return rc;
    return report(x, key, err.msg, "correct the schema");
}

static cw_code check_params(const checking *x, const cw_config_params *params)
{
    const cw_place list = {.up = x->place, .name = CW_STR("params")};
    cw_code rc = CW_OK;
    for (size_t i = 0; i < params->n && !rc; i++) {
        const cw_place place = {.up = &list, .name = params->items[i].name};
        const checking inner = {x->file, x->config, x->source, x->problems, &place};
        rc = check_schema(&inner, "schema", params->items[i].schema);
    }
    return rc;
}

static cw_code check_methods(const checking *x, const cw_config_overlays *methods)
{
    const cw_place list = {.up = x->place, .name = CW_STR("methods")};
    cw_code rc = CW_OK;
    for (size_t i = 0; i < methods->n && !rc; i++) {
        const cw_place place = {.up = &list, .index = i};
        const checking inner = {x->file, x->config, x->source, x->problems, &place};
        rc = check_params(&inner, &methods->items[i].params);
        if (!rc)
            rc = check_schema(&inner, "output", methods->items[i].output);
    }
    return rc;
}

static cw_code check_overlay(const checking *x)
{
    static const cw_place top = {0};
    cw_err err = {0};
    cw_config_overlay_file *overlay = NULL;
    if (x->source->overlay.n == 0)
        return CW_OK;
    cw_code rc = cw_config_overlay_load(x->source->overlay.p, &overlay, x->problems, &err);
    if (rc == CW_CONFIG || rc == CW_NOMEM)
        return rc == CW_CONFIG ? CW_OK : rc; /* its mistakes are reported */
    if (rc)
        return report(x, "overlay", err.msg, "causeway import writes one");
    const checking inner = {x->source->overlay.p, x->config, x->source, x->problems, &top};
    const cw_config_overlays methods = cw_config_overlay_methods(overlay);
    rc = check_methods(&inner, &methods);
    cw_config_overlay_free(overlay);
    return rc;
}

cw_code cw_cli_check_source_files(const char *file, const cw_config *config,
                                  cw_config_problems *problems)
{
    const cw_place root = {0};
    const cw_place list = {.up = &root, .name = CW_STR("sources")};
    cw_code rc = CW_OK;
    for (size_t i = 0; i < config->sources.n && !rc; i++) {
        const cw_place place = {.up = &list, .index = i};
        const checking x = {file, config, &config->sources.items[i], problems, &place};
        rc = check_service(&x);
        if (!rc)
            rc = check_tls(&x);
        if (!rc)
            rc = check_description(&x);
        if (!rc)
            rc = check_methods(&x, &x.source->methods);
        if (!rc)
            rc = check_overlay(&x);
    }
    return rc;
}
