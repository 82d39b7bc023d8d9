/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lists of an MCP server as a description: prompts, resources and templates beside tools, and
 * servers that mean no good. */
#include <stdio.h>

#include "base/limits.h"
#include "catalogue/exposed.h"
#include "source/describe/describe_ctx.h"
#include "source/openrpc/openrpc.h"
#include "support/oom.h"
#include "support/test.h"

/* The answer to a question; a method that has none here gets "method not found". */
typedef struct page {
    const char *method, *cursor, *result;
} page;

typedef struct job {
    cw_describe_ctx d;
    cw_arena arena;
    const page *pages;
    size_t n_pages;
    cw_describe_server server;
    char asked[64], cursor[64];
    unsigned tag, n_asked, n_warnings, n_ends;
    bool is_asked;
    char warned[8][400];
    char why[400];
    cw_str openrpc;
    char views[4][64]; /* that were asked for */
    unsigned view_tags[4], n_views;
} job;

static job *job_of(cw_describe_ctx *d)
{
    return CW_CONTAINER(d, job, d);
}

static cw_code query(cw_describe_ctx *d, cw_str method, cw_str params, unsigned tag, cw_err *err)
{
    job *j = job_of(d);
    const cw_json *root = NULL;
    cw_code rc = cw_json_read(params, NULL, &j->arena, &root, NULL, err);
    if (rc)
        return rc;
    snprintf(j->asked, sizeof j->asked, "%.*s", CW_STR_ARG(method));
    snprintf(j->cursor, sizeof j->cursor, "%.*s", CW_STR_ARG(cw_describe_text(root, "cursor")));
    j->tag = tag;
    j->n_asked++;
    j->is_asked = true;
    return CW_OK;
}

static void server(cw_describe_ctx *d, cw_describe_server *ret)
{
    *ret = job_of(d)->server;
}

static void warn(cw_describe_ctx *d, const char *text)
{
    job *j = job_of(d);
    if (j->n_warnings < CW_COUNT(j->warned))
        snprintf(j->warned[j->n_warnings++], sizeof j->warned[0], "%s", text);
}

static void done(cw_describe_ctx *d, cw_str openrpc)
{
    job_of(d)->openrpc = openrpc;
    job_of(d)->n_ends++;
}

static void fail_job(cw_describe_ctx *d, cw_code rc, const char *why)
{
    (void)rc;
    snprintf(job_of(d)->why, sizeof job_of(d)->why, "%s", why);
    job_of(d)->n_ends++;
}

/* Several are asked at once; each is answered before the next step. */
static cw_code read_view(cw_describe_ctx *d, cw_str uri, unsigned tag, cw_err *err)
{
    job *j = job_of(d);
    (void)err;
    assert_true(j->n_views < CW_COUNT(j->views));
    snprintf(j->views[j->n_views], sizeof j->views[0], "%.*s", CW_STR_ARG(uri));
    j->view_tags[j->n_views++] = tag;
    return CW_OK;
}

static const cw_describe_ops ops = {
    .query = query, .server = server, .warn = warn, .done = done, .fail = fail_job};
static const cw_describe_ops with_views = {.query = query,
                                           .server = server,
                                           .warn = warn,
                                           .done = done,
                                           .fail = fail_job,
                                           .read = read_view};

static void answer(job *j)
{
    cw_outcome o = {.kind = CW_OUTCOME_ERROR, .code = -32601, .message = CW_STR("no")};
    j->is_asked = false;
    for (size_t i = 0; i < j->n_pages; i++) {
        const page *p = &j->pages[i];
        if (strcmp(p->method, j->asked) != 0 || strcmp(p->cursor ? p->cursor : "", j->cursor) != 0)
            continue;
        const cw_json_opts large = {.max_bytes = 64u << 20};
        cw_str text = cw_str_from(p->result);
        o = (cw_outcome){.kind = CW_OUTCOME_RESULT};
        if (cw_json_read(text, &large, &j->arena, &o.result, NULL, NULL))
            o = (cw_outcome){.kind = CW_OUTCOME_FAILED, .fault = CW_FAULT_NOMEM};
        break;
    }
    cw_describe_mcp.incoming(&j->d, j->tag, &o);
}

static void answer_views(job *j)
{
    unsigned n = j->n_views;
    for (unsigned i = 0; i < n && !j->n_ends; i++) {
        snprintf(j->asked, sizeof j->asked, "%s", j->views[i]);
        j->cursor[0] = 0;
        j->tag = j->view_tags[i];
        answer(j);
    }
}

static void run_with(job *j, const page *pages, size_t n, const cw_describe_ops *with)
{
    cw_err err = {0};
    *j = (job){.pages = pages,
               .n_pages = n,
               .server = {.is_known = true,
                          .has_prompts = true,
                          .has_resources = true,
                          .instructions = CW_STR("Be kind.")}};
    cw_arena_init(&j->arena, 256u << 20);
    j->d = (cw_describe_ctx){.arena = &j->arena, .service = CW_STR("s"), .ops = with};
    cw_code rc = cw_describe_mcp.begin(&j->d, &err);
    if (rc)
        fail_job(&j->d, rc, err.msg);
    while (!j->n_ends && j->is_asked)
        answer(j);
    answer_views(j);
    assert_int_equal(j->n_ends, 1);
}

static void run(job *j, const page *pages, size_t n)
{
    run_with(j, pages, n, &ops);
}

typedef struct methods {
    cw_method *all;
    size_t n;
} methods;

static methods read_back(job *j, const cw_json **ret_doc)
{
    methods m = {0};
    cw_err err = {0};
    const cw_json *doc = NULL;
    CW_CLEANUP(cw_buf_done) cw_buf left_out;
    cw_buf_init(&left_out, 65536);
    const cw_openrpc_opts opts = {.relays = true, .warnings = &left_out};
    const cw_json_opts large = {.max_bytes = CW_DESCRIBE_DOCUMENT_MAX};
    if (j->why[0])
        fail_msg("%s", j->why);
    cw_code rc = cw_json_read(j->openrpc, &large, &j->arena, &doc, NULL, &err);
    if (!rc)
        rc = cw_openrpc_read(doc, &opts, &j->arena, &m.all, &m.n, &err);
    if (rc)
        fail_msg("%s", err.msg);
    assert_int_equal(left_out.n, 0);
    if (ret_doc)
        *ret_doc = doc;
    return m;
}

static const cw_method *find(methods m, const char *id)
{
    for (size_t i = 0; i < m.n; i++) {
        if (cw_str_is(m.all[i].id, id))
            return &m.all[i];
    }
    fail_msg("there is no %s", id);
    return NULL;
}

#define TOOL "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}"

TEST(every_list_is_read_page_after_page)
{
    static const page pages[] = {
        {"tools/list", NULL, "{\"tools\":[" TOOL "]}"},
        {"prompts/list", NULL,
         "{\"prompts\":[{\"name\":\"p\",\"title\":\"P\",\"arguments\":[{\"name\":\"a\",\"title\":"
         "\"A\",\"required\":true},{\"name\":\"b\"}],\"icons\":[{\"src\":\"data:x\"}]}],"
         "\"nextCursor\":\"2\"}"},
        {"prompts/list", "2", "{\"prompts\":[{\"name\":\"q\"},{\"name\":\"p\"}]}"},
        {"resources/list", NULL,
         "{\"resources\":[{\"uri\":\"u://1\",\"name\":\"one\",\"size\":3,\"_meta\":{\"x/y\":1,"
         "\"io.modelcontextprotocol/z\":2},\"annotations\":{\"audience\":[\"user\"],"
         "\"priority\":0.5}}]}"},
        {"resources/templates/list", NULL,
         "{\"resourceTemplates\":[{\"uriTemplate\":\"u://{a}{?b}\",\"name\":\"all\"}]}"},
    };
    job j;
    const cw_json *doc;
    run(&j, pages, CW_COUNT(pages));
    methods m = read_back(&j, &doc);
    assert_int_equal(m.n, 5);
    assert_int_equal(j.n_warnings, 0);
    assert_null(find(m, "t")->exposed);
    const cw_method *p = find(m, "prompt:p");
    assert_int_equal(p->exposed->kind, CW_EXPOSED_PROMPT);
    assert_true(cw_str_is(p->exposed->address, "p"));
    assert_int_equal(p->n_params, 2);
    assert_true(p->params[0].is_required);
    assert_true(cw_str_is(cw_json_span(p->exposed->json),
                          "{\"name\":\"p\",\"title\":\"P\",\"icons\":[{\"src\":\"data:x\"}],"
                          "\"arguments\":[{\"name\":\"a\",\"title\":\"A\",\"required\":true},"
                          "{\"name\":\"b\"}]}"));
    const cw_method *r = find(m, "resource:u://1");
    assert_true(cw_str_is(cw_json_span(r->exposed->json),
                          "{\"uri\":\"u://1\",\"name\":\"one\",\"size\":3,\"annotations\":"
                          "{\"audience\":[\"user\"],\"priority\":0.5},\"_meta\":{\"x/y\":1}}"));
    const cw_method *t = find(m, "template:u://{a}{?b}");
    assert_int_equal(t->n_params, 2);
    assert_true(t->exposed->is_relayed);
    assert_true(cw_str_is(cw_json_text(cw_json_get(doc, CW_STR("x-instructions"))), "Be kind."));
    cw_arena_done(&j.arena);
}

TEST(a_list_that_the_server_has_not_is_not_asked_for)
{
    static const page pages[] = {{"tools/list", NULL, "{\"tools\":[" TOOL "]}"},
                                 {"server/discover", NULL, "{\"capabilities\":{\"prompts\":{}}}"}};
    job j;
    run(&j, pages, 1); /* the others are unknown methods */
    assert_int_equal(j.n_asked, 4);
    assert_int_equal(read_back(&j, NULL).n, 1);
    cw_arena_done(&j.arena);
    /* Nothing is known of it: it is asked. */
    memset(&j, 0, sizeof j);
    cw_err err = {0};
    j = (job){.pages = pages, .n_pages = CW_COUNT(pages)};
    cw_arena_init(&j.arena, 1u << 20);
    j.d = (cw_describe_ctx){.arena = &j.arena, .service = CW_STR("s"), .ops = &ops};
    assert_int_equal(cw_describe_mcp.begin(&j.d, &err), CW_OK);
    while (!j.n_ends && j.is_asked)
        answer(&j);
    assert_string_equal(j.asked, "prompts/list");
    assert_int_equal(j.n_asked, 3);
    cw_arena_done(&j.arena);
}

TEST(entries_and_members_of_other_types_are_left_out)
{
    static const page pages[] = {
        {"tools/list", NULL,
         "{\"tools\":[{\"name\":\"t\",\"icons\":[{\"src\":1}],\"_meta\":{\"k\":1}},"
         "{\"name\":\"u\",\"icons\":\"x\",\"_meta\":[]},1,{}]}"},
        {"prompts/list", NULL,
         "{\"prompts\":[7,{},{\"name\":8},{\"name\":\"p\",\"title\":[],\"description\":{},"
         "\"icons\":{},\"_meta\":3,\"arguments\":[1,{},{\"name\":\"\"},{\"name\":\"a\","
         "\"required\":\"yes\"},{\"name\":\"b\"},{\"name\":\"b\"}]}]}"},
        {"resources/list", NULL,
         "{\"resources\":[{\"uri\":\"u://\\u0007\"},{\"uri\":\"u://a\\nb\"},{\"uri\":\"\"},"
         "{\"uri\":\"u://1\",\"name\":[],\"size\":\"big\",\"annotations\":{\"priority\":2},"
         "\"mimeType\":1},{\"uri\":\"u://2\",\"name\":\"n\",\"annotations\":{\"audience\":"
         "[\"root\"]}},{\"uri\":\"u://1\",\"name\":\"again\"}]}"},
        {"resources/templates/list", NULL,
         "{\"resourceTemplates\":[{\"uriTemplate\":\"u://x\"},{\"uriTemplate\":\"u://{\"},"
         "{\"uriTemplate\":\"u://{a}\"}]}"},
    };
    job j;
    run(&j, pages, CW_COUNT(pages));
    methods m = read_back(&j, NULL);
    assert_int_equal(m.n, 6);
    assert_true(cw_str_is(cw_json_span(find(m, "prompt:p")->exposed->json),
                          "{\"name\":\"p\",\"arguments\":[{\"name\":\"b\"}]}"));
    assert_true(cw_str_is(cw_json_span(find(m, "resource:u://1")->exposed->json),
                          "{\"name\":\"u://1\",\"uri\":\"u://1\"}"));
    assert_true(cw_str_is(cw_json_span(find(m, "resource:u://2")->exposed->json),
                          "{\"uri\":\"u://2\",\"name\":\"n\"}"));
    assert_int_equal(j.n_warnings, 4);
    assert_string_equal(j.warned[2], "resources/list: 3 entries are left out, the first because "
                                     "its uri has control characters");
    cw_arena_done(&j.arena);
}

/* A text with n entries of a list, each with its number between two texts. */
static char *many(const char *member, const char *before, const char *after, unsigned n)
{
    size_t room = n * (strlen(before) + strlen(after) + 32) + 100, at = 0;
    char *text = malloc(room);
    assert_non_null(text);
    at += (size_t)snprintf(text, room, "{\"%s\":[", member);
    for (unsigned i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, room - at, "%s%s%u%s", i ? "," : "", before, i, after);
    snprintf(text + at, room - at, "]}");
    return text;
}

TEST(lists_without_end_have_one)
{
    char *resources = many("resources", "{\"uri\":\"u://", "\",\"name\":\"n\"}", 20000);
    char *templates = many("resourceTemplates", "{\"uriTemplate\":\"u://", "/{a}\"}", 1000);
    char *prompts = many("prompts", "{\"name\":\"p", "\"}", 5000);
    const page pages[] = {
        {"tools/list", NULL, "{\"tools\":[" TOOL "],\"nextCursor\":\"x\"}"},
        {"tools/list", "x", "{\"tools\":[],\"nextCursor\":\"x\"}"},
        {"prompts/list", NULL, prompts},
        {"resources/list", NULL, resources},
        {"resources/templates/list", NULL, templates},
    };
    job j;
    run(&j, pages, CW_COUNT(pages));
    methods m = read_back(&j, NULL);
    assert_int_equal(m.n, CW_DESCRIBE_METHODS);
    assert_int_equal(j.n_warnings, 4);
    assert_string_equal(j.warned[0], "tools/list does not end; its first pages are used");
    assert_string_equal(j.warned[1], "prompts/list: too long; its first 2000 entries are used");
    cw_arena_done(&j.arena);
    free(resources);
    free(templates);
    free(prompts);
}

/* The reader rejects them. Each one costs a search, and maybe a copy of all definitions. */
TEST(of_too_many_params_one_too_many_is_written)
{
    cw_buf text;
    cw_err err = {0};
    const cw_json *doc = NULL;
    cw_buf_init(&text, 65536);
    cw_buf_add(&text,
               CW_STR("{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"properties\":{\"p\":{}"));
    for (unsigned i = 0; i < 1000; i++)
        cw_buf_printf(&text, ",\"p%u\":{}", i);
    cw_buf_add(&text, CW_STR("}}}]}"));
    cw_buf_add_char(&text, '\0');
    const page pages[] = {{"tools/list", NULL, text.p}};
    job j;
    run(&j, pages, 1);
    assert_int_equal(cw_json_read(j.openrpc, NULL, &j.arena, &doc, NULL, &err), CW_OK);
    const cw_json *tool = cw_json_at(cw_json_get(doc, CW_STR("methods")), 0);
    const cw_json *params = cw_json_get(tool, CW_STR("params"));
    assert_int_equal(cw_json_count(params), CW_OPENRPC_MAX_PARAMS + 1);
    cw_arena_done(&j.arena);
    cw_buf_done(&text);
}

TEST(texts_that_are_too_large_leave_the_tools)
{
    static char large[CW_DESCRIBE_DOCUMENT_MAX], entry[200000];
    memset(entry, 'x', sizeof entry - 1);
    size_t n = (size_t)snprintf(large, sizeof large, "{\"resources\":[{\"uri\":\"u://0\"}");
    for (unsigned i = 1; n + sizeof entry + 100 < sizeof large; i++)
        n += (size_t)snprintf(large + n, sizeof large - n,
                              ",{\"uri\":\"u://%u\",\"description\":\"%s%s\"}", i, entry,
                              i == 1 ? entry : "");
    snprintf(large + n, sizeof large - n, "]}");
    const page pages[] = {{"tools/list", NULL, "{\"tools\":[" TOOL "]}"},
                          {"resources/list", NULL, large},
                          {"resources/templates/list", NULL,
                           "{\"resourceTemplates\":[{\"uriTemplate\":\"u://{a}\"}]}"}};
    job j;
    run(&j, pages, CW_COUNT(pages));
    methods m = read_back(&j, NULL);
    assert_non_null(find(m, "t"));
    assert_non_null(find(m, "resource:u://0"));
    assert_in_range(m.n, 20, 60);
    assert_string_equal(j.warned[0], "resources/list: 1 entries are left out, the first because "
                                     "it is larger than 262144 bytes");
    assert_non_null(strstr(j.warned[1], "resources/list: too long; its first "));
    cw_arena_done(&j.arena);
}

#define VIEWS "{\"resources\":[{\"uri\":\"ui://s/a\"},{\"uri\":\"u://b\"},{\"uri\":\"ui://s/c\"}]}"
#define VIEW(meta)                                                                                 \
    "{\"contents\":[{\"uri\":\"ui://s/a\",\"text\":\"<!doctype html>\",\"_meta\":" meta "}]}"

static void hash_of(const page *pages, size_t n, const char *id, char ret[80])
{
    job j;
    const cw_json *doc = NULL;
    run_with(&j, pages, n, &with_views);
    assert_int_equal(j.n_views, 2);
    read_back(&j, &doc);
    const cw_json *all = cw_json_get(doc, CW_STR("methods"));
    snprintf(ret, 80, "absent");
    for (const cw_json *m = cw_json_first(all); m; m = cw_json_next(m)) {
        const cw_json *view = cw_json_get(m, CW_STR("x-mcp-view"));
        if (view && cw_str_is(cw_describe_text(m, "name"), id))
            snprintf(ret, 80, "%.*s", CW_STR_ARG(cw_json_text(view)));
    }
    cw_arena_done(&j.arena);
}

TEST(views_have_the_hash_of_all_that_a_host_acts_on)
{
    static const char *const results[] = {
        VIEW("{\"ui\":{\"domain\":\"a\",\"prefersBorder\":true}}"),
        VIEW("{\"at\":1, \"ui\":{\"prefersBorder\":true,\"domain\":\"a\"}}"), /* the same */
        VIEW("{\"ui\":{\"domain\":\"b\",\"prefersBorder\":true}}"),
    };
    char hashes[3][80], other[80];
    for (size_t i = 0; i < CW_COUNT(results); i++) {
        const page pages[] = {{"tools/list", NULL, "{\"tools\":[" TOOL "]}"},
                              {"resources/list", NULL, VIEWS},
                              {"ui://s/a", NULL, results[i]}};
        hash_of(pages, CW_COUNT(pages), "resource:ui://s/a", hashes[i]);
        assert_int_equal(strlen(hashes[i]), 64);
        /* One that cannot be read has none, and no other resource has one. */
        hash_of(pages, CW_COUNT(pages), "resource:ui://s/c", other);
        assert_string_equal(other, "");
        hash_of(pages, CW_COUNT(pages), "resource:u://b", other);
        assert_string_equal(other, "absent");
    }
    assert_string_equal(hashes[0], hashes[1]);
    assert_string_not_equal(hashes[0], hashes[2]);
}

static void describe_once(void *ctx)
{
    static const page pages[] = {
        {"tools/list", NULL, "{\"tools\":[" TOOL "]}"},
        {"prompts/list", NULL, "{\"prompts\":[{\"name\":\"p\",\"arguments\":[{\"name\":\"a\"}]}]}"},
        {"resources/templates/list", NULL,
         "{\"resourceTemplates\":[{\"uriTemplate\":\"u://{a}\"}]}"},
        {"resources/list", NULL, VIEWS},
        {"ui://s/a", NULL, VIEW("{}")},
    };
    (void)ctx;
    job j;
    run_with(&j, pages, CW_COUNT(pages), &with_views);
    /* An entry that there was no memory for is left out with a warning; else it fails as a whole. */
    assert_true(j.why[0] || j.openrpc.n);
    cw_arena_done(&j.arena);
}

TEST(every_failed_allocation_is_survived)
{
    assert_true(oom_each(describe_once, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_list_is_read_page_after_page),
        cmocka_unit_test(a_list_that_the_server_has_not_is_not_asked_for),
        cmocka_unit_test(entries_and_members_of_other_types_are_left_out),
        cmocka_unit_test(lists_without_end_have_one),
        cmocka_unit_test(of_too_many_params_one_too_many_is_written),
        cmocka_unit_test(texts_that_are_too_large_leave_the_tools),
        cmocka_unit_test(views_have_the_hash_of_all_that_a_host_acts_on),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
