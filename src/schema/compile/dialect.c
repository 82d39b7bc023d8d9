/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dialect.c - selects the dialect of a resource: by its $schema, and by the $vocabulary of a
 * registered meta-schema. */
#include "schema/model/model.h"
#include "schema/model/uri.h"

#define META_DEPTH_MAX 4u /* meta-schemas that name meta-schemas */

static bool known_draft(cw_str uri, cw_schema_draft *ret)
{
    static const struct {
        const char *name;
        cw_schema_draft draft;
    } drafts[] = {
        {"json-schema.org/draft/2020-12/schema", CW_SCHEMA_2020_12},
        {"json-schema.org/draft-07/schema", CW_SCHEMA_DRAFT_07},
        {"json-schema.org/draft-06/schema", CW_SCHEMA_DRAFT_07},
    };
    cw_str rest;
    if (cw_str_starts(uri, CW_STR("http://")))
        rest = cw_str_make(uri.p + 7, uri.n - 7);
    else if (cw_str_starts(uri, CW_STR("https://")))
        rest = cw_str_make(uri.p + 8, uri.n - 8);
    else
        return false;
    for (size_t i = 0; i < CW_COUNT(drafts); i++) {
        if (cw_str_is(rest, drafts[i].name)) {
            *ret = drafts[i].draft;
            return true;
        }
    }
    return false;
}

static uint8_t vocab_bit(cw_str uri)
{
    static const struct {
        const char *name;
        uint8_t bit;
    } vocabs[] = {
        {"core", VOCAB_CORE},
        {"applicator", VOCAB_APPLICATOR},
        {"unevaluated", VOCAB_UNEVALUATED},
        {"validation", VOCAB_VALIDATION},
        {"meta-data", VOCAB_META},
        {"format-annotation", VOCAB_FORMAT},
        {"format-assertion", VOCAB_FORMAT_ASSERTION},
        {"content", VOCAB_CONTENT},
    };
    cw_str prefix = CW_STR("https://json-schema.org/draft/2020-12/vocab/");
    if (!cw_str_starts(uri, prefix))
        return 0;
    cw_str name = cw_str_make(uri.p + prefix.n, uri.n - prefix.n);
    for (size_t i = 0; i < CW_COUNT(vocabs); i++) {
        if (cw_str_is(name, vocabs[i].name))
            return vocabs[i].bit;
    }
    return 0;
}

bool cw_schema_find_document(const builder *b, cw_str uri, cw_str *ret_text)
{
    for (size_t i = 0; i < b->opts.n_documents; i++) {
        if (cw_str_eq(b->opts.documents[i].uri, uri)) {
            *ret_text = b->opts.documents[i].text;
            return true;
        }
    }
    return cw_schema_standard_document(uri, ret_text);
}

static cw_code read_vocabularies(builder *b, const cw_json *at, const cw_json *list, resource *ret)
{
    uint32_t vocab = 0;
    for (const cw_json *k = cw_json_first(list); k; k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        uint8_t bit = vocab_bit(name);
        if (!bit && cw_json_is(k + 1, CW_JSON_TRUE))
            return cw_schema_fail_at(b, at, CW_PARAMS, "requires the unknown vocabulary '%.*s'",
                                     CW_STR_ARG(name));
        vocab |= bit;
    }
    if (vocab & VOCAB_FORMAT_ASSERTION) {
        vocab |= VOCAB_FORMAT;
        ret->assert_format = true;
    }
    ret->vocab = (uint8_t)(vocab | VOCAB_CORE);
    return CW_OK;
}

cw_code cw_schema_dialect(builder *b, const cw_json *value, resource *ret)
{
    if (!cw_json_is(value, CW_JSON_STRING))
        return cw_schema_fail_at(b, value, CW_PARAMS, "must be a string");
    cw_str fragment;
    cw_str uri = cw_schema_uri_cut(cw_json_text(value), &fragment);
    cw_schema_draft draft;
    if (fragment.n == 0 && known_draft(uri, &draft)) {
        ret->draft = (uint8_t)draft;
        ret->vocab = VOCAB_STANDARD;
        ret->assert_format = !b->opts.annotate_formats;
        return CW_OK;
    }
    cw_str text;
    if (fragment.n || b->meta_depth >= META_DEPTH_MAX || !cw_schema_find_document(b, uri, &text))
        return cw_schema_fail_at(b, value, CW_PARAMS,
                                 "dialect '%.*s' is not supported: draft-07 and 2020-12 are",
                                 CW_STR_ARG(cw_json_text(value)));
    const cw_json *meta;
    const cw_json_opts read = {.max_bytes = b->opts.max_bytes};
    cw_code rc = cw_json_read(text, &read, &b->s->arena, &meta, NULL, b->err);
    if (rc)
        return cw_wrap(b->err, rc, "meta-schema '%.*s'", CW_STR_ARG(uri));
    b->custom = true;
    const cw_json *own = cw_json_get(meta, CW_STR("$schema"));
    if (own) {
        b->meta_depth++;
        rc = cw_schema_dialect(b, own, ret);
        b->meta_depth--;
        if (rc)
            return rc;
    }
    const cw_json *list = cw_json_get(meta, CW_STR("$vocabulary"));
    if (!cw_json_is(list, CW_JSON_OBJECT) || ret->draft != CW_SCHEMA_2020_12)
        return CW_OK;
    return read_vocabularies(b, value, list, ret);
}
