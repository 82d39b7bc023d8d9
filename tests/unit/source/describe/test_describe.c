/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every way a service can tell what it offers: questions are answered by this test, and what is
 * made of the answers is read as any description is. */
#include "support/json_fixture.h"
#include "support/oom.h"
#include "support/temp_dir.h"

#include "source/describe/describe.h"
#include "source/openrpc/openrpc.h"

#define ASKED_MAX 4096u
#define NOT_FOUND (-32601)

/* What the service says to a question: to its method, or its path, with these params. */
typedef struct problem {
    const char *what, *params; /* NULL: any */
    const char *json;          /* NULL: nothing at all */
    int64_t code;              /* of an error; 0: a result */
} problem;

typedef struct job {
    cw_describe_ctx d;
    cw_arena arena, answers;
    const problem *table;
    size_t n_table;
    const cw_json *values[32];
    struct {
        unsigned tag;
        char what[300], params[100];
    } asked[ASKED_MAX];
    size_t n, n_heard;
    unsigned ends, warnings;
    cw_code rc;
    cw_str openrpc;
    char why[400], warned[400];
    bool no_http;
} job;

static cw_code put(job *j, cw_str what, cw_str params, unsigned tag)
{
    assert_true(j->n < ASKED_MAX);
    snprintf(j->asked[j->n].what, sizeof j->asked[0].what, "%.*s", CW_STR_ARG(what));
    snprintf(j->asked[j->n].params, sizeof j->asked[0].params, "%.*s", CW_STR_ARG(params));
    j->asked[j->n++].tag = tag;
    return CW_OK;
}

static cw_code query(cw_describe_ctx *d, cw_str method, cw_str params, unsigned tag, cw_err *err)
{
    (void)err;
    return put(CW_CONTAINER(d, job, d), method, params, tag);
}

static cw_code get(cw_describe_ctx *d, cw_str path, unsigned tag, cw_err *err)
{
    job *j = CW_CONTAINER(d, job, d);
    if (j->no_http || path.p[0] != '/')
        return cw_fail(err, CW_PARAMS, "not here");
    return put(j, path, CW_STR(""), tag);
}

static void warn(cw_describe_ctx *d, const char *text)
{
    job *j = CW_CONTAINER(d, job, d);
    j->warnings++;
    snprintf(j->warned, sizeof j->warned, "%s", text);
}

static void done(cw_describe_ctx *d, cw_str openrpc)
{
    job *j = CW_CONTAINER(d, job, d);
    j->ends++;
    j->openrpc = openrpc;
}

static void fail_job(cw_describe_ctx *d, cw_code rc, const char *why)
{
    job *j = CW_CONTAINER(d, job, d);
    assert_true(rc != CW_OK);
    j->ends++;
    j->rc = rc;
    snprintf(j->why, sizeof j->why, "%s", why);
}

static const cw_describe_ops ops = {
    .query = query, .get = get, .warn = warn, .done = done, .fail = fail_job};

static void answer(job *j, const cw_describer *describer, size_t i)
{
    cw_outcome o = {.kind = CW_OUTCOME_FAILED,
                    .fault = CW_FAULT_UNAVAILABLE,
                    .message = CW_STR("nobody there"),
                    .detail = CW_STR("at all")};
    for (size_t k = 0; k < j->n_table; k++) {
        const problem *s = &j->table[k];
        if (strcmp(s->what, j->asked[i].what) != 0 ||
            (s->params && strcmp(s->params, j->asked[i].params) != 0))
            continue;
        if (s->code)
            o = (cw_outcome){.kind = CW_OUTCOME_ERROR, .code = s->code, .message = CW_STR("no")};
        else if (s->json)
            o = (cw_outcome){.kind = CW_OUTCOME_RESULT, .result = j->values[k]};
        break;
    }
    describer->incoming(&j->d, j->asked[i].tag, &o);
}

static void open_job(job *j, const char *url, const problem *table, size_t n)
{
    memset(j, 0, sizeof *j);
    cw_arena_init(&j->arena, 64 << 20);
    cw_arena_init(&j->answers, 256 << 20);
    j->table = table;
    j->n_table = n;
    j->d = (cw_describe_ctx){
        .arena = &j->arena, .service = CW_STR("shop"), .url = cw_str_from(url), .ops = &ops};
    for (size_t i = 0; i < n; i++)
        j->values[i] = table[i].json ? json_of(&j->answers, table[i].json) : NULL;
}

static void close_job(job *j)
{
    cw_arena_done(&j->arena);
    cw_arena_done(&j->answers);
}

/* Answers come in the other order than they were asked for, as far as they are there. */
static void run_job(job *j, const char *name)
{
    const cw_describer *describer = cw_describer_find(cw_str_from(name));
    cw_err err = {0};
    assert_non_null(describer);
    cw_code rc = describer->begin(&j->d, &err);
    if (rc) {
        fail_job(&j->d, rc, err.msg);
        return;
    }
    assert_int_equal(j->ends, 0);
    while (!j->ends) {
        size_t from = j->n_heard, to = j->n;
        assert_true(to > from);
        j->n_heard = to;
        for (size_t i = to; i > from && !j->ends; i--)
            answer(j, describer, i - 1);
    }
    assert_int_equal(j->ends, 1);
}

typedef struct exposed {
    cw_method *methods;
    size_t n;
} exposed;

static exposed read_back(job *j)
{
    exposed ret = {0};
    cw_err err = {0};
    const cw_json *doc = NULL;
    const cw_openrpc_opts opts = {.trust_marks = true};
    if (j->rc)
        fail_msg("%s", j->why);
    cw_code rc = cw_json_read(j->openrpc, NULL, &j->answers, &doc, NULL, &err);
    if (!rc)
        rc = cw_openrpc_read(doc, &opts, &j->answers, &ret.methods, &ret.n, &err);
    if (rc)
        fail_msg("%s: %.*s", err.msg, CW_STR_ARG(j->openrpc));
    return ret;
}

static const cw_method *find(exposed all, const char *id)
{
    for (size_t i = 0; i < all.n; i++) {
        if (cw_str_is(all.methods[i].id, id))
            return &all.methods[i];
    }
    fail_msg("there is no %s", id);
    return NULL;
}

static bool is_spread(const cw_method *m)
{
    return m->takes_any_params && m->n_params == 1;
}

#define RUN(j, name, url, ...)                                                                     \
    static const problem said_[] = {__VA_ARGS__};                                                  \
    job *j = calloc(1, sizeof *j);                                                                 \
    open_job(j, url, said_, CW_COUNT(said_));                                                      \
    run_job(j, name)
#define END(j)                                                                                     \
    do {                                                                                           \
        close_job(j);                                                                              \
        free(j);                                                                                   \
    } while (0)

/* ---- one way after another ---- */

TEST(openrpc_is_taken_as_it_is_under_any_of_its_names)
{
    RUN(j, "openrpc", "", {"rpc.discover", "", NULL, NOT_FOUND},
        {"rpc_discover", "", NULL, NOT_FOUND},
        {"getopenrpcinfo", "",
         "{\"openrpc\":\"1.4.1\",\"info\":{\"title\":\"t\",\"version\":\"1\"},\"methods\":["
         "{\"name\":\"getblock\",\"params\":[{\"name\":\"hash\",\"schema\":{}}]}]}",
         0});
    exposed all = read_back(j);
    assert_int_equal(all.n, 1);
    assert_str(find(all, "getblock")->params[0].name, "hash");
    END(j);
}

TEST(system_says_names_help_and_signatures)
{
    RUN(j, "system", "",
        {"system.listMethods", "",
         "[\"add\",\"over\",\"odd\",\"system.methodHelp\",\"system.methodSignature\"]", 0},
        {"system.methodHelp", "[\"add\"]", "\"Adds two\"", 0},
        {"system.methodSignature", "[\"add\"]", "[[\"int\",\"int\",\"struct\"]]", 0},
        {"system.methodSignature", "[\"over\"]", "[[\"int\",\"int\"],[\"int\"]]", 0},
        {"system.methodSignature", "[\"odd\"]", "\"undef\"", 0});
    exposed all = read_back(j);
    assert_int_equal(all.n, 5);
    const cw_method *add = find(all, "add");
    assert_str(add->usage, "Adds two");
    assert_int_equal(add->n_params, 2);
    assert_str(add->params[0].name, "p0");
    assert_str(add->params[0].schema, "{\"type\":\"integer\"}");
    assert_str(add->params[1].name, "p1");
    assert_str(add->params[1].schema, "{\"type\":\"object\"}");
    assert_true(add->params[1].is_required);
    assert_str(add->output, "{\"type\":\"integer\"}");
    assert_true(is_spread(find(all, "over"))); /* more than one: none is right */
    assert_true(is_spread(find(all, "odd")));
    END(j);
}

TEST(names_alone_are_enough)
{
    RUN(j, "system", "", {"system.listMethods", "", "[\"aria2.addUri\",\"system.multicall\"]", 0});
    exposed all = read_back(j);
    assert_int_equal(all.n, 2);
    assert_true(is_spread(find(all, "aria2.addUri")));
    assert_int_equal(j->n, 1);
    END(j);
}

TEST(spdk_says_names)
{
    RUN(j, "spdk", "", {"rpc_get_methods", "", "[\"bdev_get_bdevs\",5,\"\",\"spdk_kill\"]", 0});
    exposed all = read_back(j);
    assert_int_equal(all.n, 2);
    assert_true(is_spread(find(all, "spdk_kill")));
    END(j);
}

TEST(mopidy_says_params_and_defaults)
{
    RUN(j, "mopidy", "",
        {"core.describe", "",
         "{\"core.mixer.set_volume\":{\"description\":\"Set the volume.\",\"params\":[{\"name\":"
         "\"volume\"}]},\"core.library.search\":{\"description\":null,\"params\":[{\"name\":"
         "\"query\"},{\"name\":\"exact\",\"default\":false},{\"name\":\"kwargs\",\"kwargs\":true},"
         "{\"default\":1}]},\"core.get_uri_schemes\":{}}",
         0});
    exposed all = read_back(j);
    assert_int_equal(all.n, 3);
    const cw_method *search = find(all, "core.library.search");
    assert_int_equal(search->n_params, 2);
    assert_true(search->params[0].is_required);
    assert_false(search->params[1].is_required);
    assert_str(cw_json_span(search->params[1].default_value), "false");
    assert_str(find(all, "core.mixer.set_volume")->usage, "Set the volume.");
    assert_int_equal(find(all, "core.get_uri_schemes")->n_params, 0);
    END(j);
}

TEST(kodi_says_draft_03)
{
    RUN(j, "kodi", "",
        {"JSONRPC.Introspect", "{\"getdescriptions\":true,\"getmetadata\":true}",
         "{\"version\":\"12.9.0\",\"methods\":{"
         "\"Player.Open\":{\"description\":\"Start\",\"permission\":\"ControlPlayback\",\"params\":"
         "["
         "{\"name\":\"item\",\"required\":true,\"description\":\"what\",\"type\":[\"null\","
         "{\"type\":\"object\",\"properties\":{\"id\":{\"$ref\":\"Player.Id\",\"required\":true},"
         "\"n\":{\"type\":\"any\"}},\"additionalProperties\":false}]},{\"name\":\"speed\",\"type\":"
         "\"integer\",\"minimum\":0,\"exclusiveMinimum\":true,\"maximum\":9,\"divisibleBy\":2,"
         "\"default\":4},{\"$ref\":\"List.Sort\",\"name\":\"sort\"}],\"returns\":\"string\"},"
         "\"Files.Delete\":{\"permission\":\"RemoveData\",\"params\":[],\"returns\":null},"
         "\"Player.Get\":{\"permission\":\"ReadData\",\"returns\":{\"type\":\"array\",\"items\":"
         "{\"$ref\":\"Player.Id\"}}}},"
         "\"types\":{\"Player.Id\":{\"id\":\"Player.Id\",\"type\":\"integer\",\"minimum\":0,"
         "\"enums\":[1,2]},\"List.Sort\":{\"extends\":[\"Player.Id\",{\"type\":\"object\"}],"
         "\"disallow\":\"string\",\"items\":[{\"type\":\"string\"}]},\"Other\":{\"extends\":"
         "\"Player.Id\",\"additionalProperties\":{\"type\":\"string\"}}}}",
         0});
    exposed all = read_back(j);
    assert_int_equal(all.n, 3);
    const cw_method *open = find(all, "Player.Open");
    assert_int_equal(open->n_params, 3);
    assert_true(open->params[0].is_required && !open->params[1].is_required);
    cw_str item = open->params[0].schema;
    assert_true(str_has(item, "\"anyOf\":[{\"type\":\"null\"},{\"type\":\"object\""));
    assert_true(str_has(item, "\"required\":[\"id\"]"));
    assert_true(str_has(item, "\"n\":{}")); /* "any" is anything */
    assert_true(str_has(item, "\"$defs\""));
    assert_true(str_has(item, "\"enum\":[1,2]"));
    assert_str(open->params[1].schema, "{\"type\":\"integer\",\"exclusiveMinimum\":0,\"maximum\":9,"
                                       "\"multipleOf\":2,\"default\":4}");
    assert_true(str_has(open->params[2].schema, "\"not\":{\"type\":\"string\"}"));
    assert_true(str_has(open->params[2].schema, "\"prefixItems\""));
    assert_str(open->output, "{\"type\":\"string\"}");
    assert_true(str_has(open->mark->annotations, "ControlPlayback"));
    assert_true(str_has(find(all, "Files.Delete")->mark->annotations, "destructiveHint"));
    assert_true(find(all, "Player.Get")->mark->is_read_only);
    assert_str(find(all, "Files.Delete")->output, "");
    END(j);
}

TEST(qmp_members_that_stand_twice_count_once)
{
    RUN(j, "qmp", "",
        {"query-qmp-schema", "",
         "[{\"name\":\"go\",\"meta-type\":\"command\",\"arg-type\":\"1\",\"ret-type\":\"0\"},"
         "{\"name\":\"0\",\"meta-type\":\"object\",\"members\":[]},"
         "{\"name\":\"1\",\"meta-type\":\"object\",\"members\":[{\"name\":\"a\",\"type\":\"2\"},"
         "{\"name\":\"a\",\"type\":\"str\"}]},"
         "{\"name\":\"2\",\"meta-type\":\"object\",\"members\":[{\"name\":\"b\",\"type\":\"str\"},"
         "{\"name\":\"c\",\"type\":\"str\"},{\"name\":\"b\",\"type\":\"0\"}]},"
         "{\"name\":\"str\",\"meta-type\":\"builtin\",\"json-type\":\"string\"}]",
         0});
    exposed all = read_back(j);
    assert_int_equal(all.n, 1);
    const cw_method *go = find(all, "go");
    assert_int_equal(go->n_params, 1);
    assert_str(go->params[0].schema,
               "{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"string\"},"
               "\"c\":{\"type\":\"string\"}},\"required\":[\"b\",\"c\"]}");
    END(j);
}

TEST(qmp_says_types_by_number)
{
    RUN(j, "qmp", "",
        {"query-qmp-schema", "",
         "[{\"name\":\"eject\",\"meta-type\":\"command\",\"arg-type\":\"1\",\"ret-type\":\"0\"},"
         "{\"name\":\"query-status\",\"meta-type\":\"command\",\"arg-type\":\"0\",\"ret-type\":"
         "\"[2]\"},{\"name\":\"blockdev-add\",\"meta-type\":\"command\",\"arg-type\":\"3\"},"
         "{\"name\":\"0\",\"meta-type\":\"object\",\"members\":[]},"
         "{\"name\":\"1\",\"meta-type\":\"object\",\"members\":[{\"name\":\"id\",\"type\":\"str\"},"
         "{\"name\":\"force\",\"type\":\"bool\",\"default\":null},{\"name\":\"self\",\"type\":"
         "\"2\","
         "\"default\":null},{\"name\":\"mode\",\"type\":\"4\",\"default\":null},{\"name\":\"any\","
         "\"type\":\"5\",\"default\":null},{\"name\":\"what\",\"type\":\"nowhere\",\"default\":"
         "null}"
         "]},{\"name\":\"2\",\"meta-type\":\"object\",\"members\":[{\"name\":\"next\",\"type\":"
         "\"[2]\"}]},{\"name\":\"[2]\",\"meta-type\":\"array\",\"element-type\":\"2\"},"
         "{\"name\":\"3\",\"meta-type\":\"object\",\"members\":[{\"name\":\"driver\",\"type\":"
         "\"4\"}],\"tag\":\"driver\",\"variants\":[{\"case\":\"a\",\"type\":\"1\"}]},"
         "{\"name\":\"4\",\"meta-type\":\"enum\",\"values\":[\"a\",\"b\"]},"
         "{\"name\":\"5\",\"meta-type\":\"alternate\",\"members\":[{\"type\":\"str\"},{\"type\":"
         "\"int\"}]},{\"name\":\"str\",\"meta-type\":\"builtin\",\"json-type\":\"string\"},"
         "{\"name\":\"int\",\"meta-type\":\"builtin\",\"json-type\":\"int\"},"
         "{\"name\":\"bool\",\"meta-type\":\"builtin\",\"json-type\":\"boolean\"},"
         "{\"name\":\"STOP\",\"meta-type\":\"event\",\"arg-type\":\"0\"}]",
         0});
    exposed all = read_back(j);
    assert_int_equal(all.n, 3);
    const cw_method *eject = find(all, "eject");
    assert_int_equal(eject->n_params, 6);
    assert_str(eject->params[0].schema, "{\"type\":\"string\"}");
    assert_true(eject->params[0].is_required && !eject->params[1].is_required);
    assert_true(str_has(eject->params[2].schema, "\"next\"")); /* which names itself, and ends */
    assert_str(eject->params[3].schema, "{\"enum\":[\"a\",\"b\"]}");
    assert_str(eject->params[4].schema,
               "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}");
    assert_str(eject->output, "{\"type\":\"object\"}");
    assert_null(eject->mark);
    assert_true(find(all, "query-status")->mark->is_read_only);
    assert_str(find(all, "query-status")->output, "{\"type\":\"array\"}");
    assert_true(is_spread(find(all, "blockdev-add")));
    END(j);
}

/* ---- answers that say more than they weigh ---- */

typedef struct grown {
    job j;
    cw_buf text;
    problem table[2];
} grown;

/* A job whose service gives `text` to this question, and the second to another one. */
static grown *run_grown(cw_buf *text, const char *name, const char *what, const problem *other)
{
    grown *g = calloc(1, sizeof *g);
    assert_int_equal(text->code, CW_OK);
    cw_buf_add_char(text, '\0');
    g->text = *text;
    g->table[0] = (problem){what, NULL, text->p, 0};
    if (other)
        g->table[1] = *other;
    open_job(&g->j, "http://x/jsonrpc", g->table, other ? 2 : 1);
    run_job(&g->j, name);
    return g;
}

static void end_grown(grown *g)
{
    close_job(&g->j);
    cw_buf_done(&g->text);
    free(g);
}

static void add_members(cw_buf *text, unsigned n, const char *type)
{
    for (unsigned i = 0; i < n; i++)
        cw_buf_printf(text, "%s{\"name\":\"m%u\",\"type\":\"%s\"}", i ? "," : "", i, type);
}

/* 300 members of the same type are 300^5 schemas where it is written out: 8 KB, and an hour. */
TEST(a_qmp_type_that_explodes_is_left_open)
{
    cw_buf text;
    cw_buf_init(&text, 1 << 20);
    cw_buf_add(&text,
               CW_STR("[{\"name\":\"eject\",\"meta-type\":\"command\",\"arg-type\":\"A\"},"
                      "{\"name\":\"quit\",\"meta-type\":\"command\",\"arg-type\":\"B\"},"
                      "{\"name\":\"A\",\"meta-type\":\"object\",\"members\":[{\"name\":"
                      "\"big\",\"type\":\"T\"},{\"name\":\"id\",\"type\":\"str\"}]},"
                      "{\"name\":\"B\",\"meta-type\":\"object\",\"members\":[{\"name\":"
                      "\"id\",\"type\":\"str\"}]},{\"name\":\"str\",\"meta-type\":\"builtin\","
                      "\"json-type\":\"string\"},"
                      "{\"name\":\"T\",\"meta-type\":\"object\",\"members\":["));
    add_members(&text, 300, "T");
    cw_buf_add(&text, CW_STR("]}]"));
    grown *g = run_grown(&text, "qmp", "query-qmp-schema", NULL);
    exposed all = read_back(&g->j);
    const cw_method *eject = find(all, "eject");
    assert_int_equal(eject->n_params, 2);
    assert_str(eject->params[0].schema, "{}");
    assert_true(eject->params[0].is_required);
    assert_str(find(all, "quit")->params[0].schema, "{\"type\":\"string\"}");
    assert_int_equal(g->j.warnings, 1);
    assert_non_null(strstr(g->j.warned, "1 commands"));
    assert_non_null(strstr(g->j.warned, "'eject'"));
    end_grown(g);
}

/* Many commands with many params each: the list of params itself is what grows. */
TEST(many_qmp_commands_of_a_large_type_end)
{
    cw_buf text;
    cw_buf_init(&text, 8 << 20);
    cw_buf_add_char(&text, '[');
    for (unsigned i = 0; i < 5000; i++)
        cw_buf_printf(&text, "{\"name\":\"c%u\",\"meta-type\":\"command\",\"arg-type\":\"T\"},", i);
    cw_buf_add(&text, CW_STR("{\"name\":\"E\",\"meta-type\":\"enum\",\"values\":[\"a\",\"b\"]},"
                             "{\"name\":\"T\",\"meta-type\":\"object\",\"members\":["));
    add_members(&text, 200, "E");
    cw_buf_add(&text, CW_STR("]}]"));
    grown *g = run_grown(&text, "qmp", "query-qmp-schema", NULL);
    exposed all = read_back(&g->j);
    assert_int_equal(all.n, 5000);
    assert_str(find(all, "c0")->params[199].schema, "{\"enum\":[\"a\",\"b\"]}");
    assert_true(is_spread(find(all, "c4999")));
    assert_int_equal(g->j.warnings, 1);
    end_grown(g);
}

/* More than one text of 1 MB: of one param. */
TEST(a_qmp_param_has_a_size)
{
    cw_buf text;
    cw_buf_init(&text, 8 << 20);
    cw_buf_add(&text, CW_STR("[{\"name\":\"a\",\"meta-type\":\"command\",\"arg-type\":\"A\"},"
                             "{\"name\":\"A\",\"meta-type\":\"object\",\"members\":[{\"name\":"
                             "\"x\",\"type\":\"T\"},{\"name\":\"y\",\"type\":\"E\"}]},"
                             "{\"name\":\"E\",\"meta-type\":\"enum\",\"values\":[\""));
    for (unsigned i = 0; i < 300000; i++)
        cw_buf_add_char(&text, 'e');
    cw_buf_add(&text, CW_STR("\"]},{\"name\":\"T\",\"meta-type\":\"object\",\"members\":["));
    add_members(&text, 4, "E");
    cw_buf_add(&text, CW_STR("]}]"));
    grown *g = run_grown(&text, "qmp", "query-qmp-schema", NULL);
    const cw_method *a = find(read_back(&g->j), "a");
    assert_str(a->params[0].schema, "{}");
    assert_int_equal(a->params[1].schema.n, 300000 + sizeof "{\"enum\":[\"\"]}" - 1);
    assert_int_equal(g->j.warnings, 1);
    end_grown(g);
}

/* Every table of every database is compared with those before it: by its name, not one by one. */
TEST(many_databases_with_many_tables_end)
{
    static const problem names = {
        "list_dbs", NULL,
        "[\"0\",\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"a\",\"b\",\"c\",\"d\","
        "\"e\","
        "\"f\",\"g\",\"h\",\"i\",\"j\",\"k\",\"l\",\"m\",\"n\",\"o\",\"p\",\"q\",\"r\",\"s\",\"t\","
        "\"u\",\"v\",\"one more than are asked\"]",
        0};
    cw_buf text;
    cw_buf_init(&text, 1 << 20);
    cw_buf_add(&text, CW_STR("{\"tables\":{"));
    for (unsigned i = 0; i < 10000; i++)
        cw_buf_printf(&text, "%s\"t%u\":1", i ? "," : "", i);
    cw_buf_add(&text, CW_STR("}}"));
    grown *g = run_grown(&text, "ovsdb", "get_schema", &names);
    cw_str schema = find(read_back(&g->j), "transact")->params[1].schema;
    assert_true(str_has(schema, "\"t9999\""));
    assert_true(schema.n < 100000); /* each is there once */
    end_grown(g);
}

TEST(a_tool_that_requires_much_ends)
{
    cw_buf text;
    cw_buf_init(&text, 8 << 20);
    cw_buf_add(&text, CW_STR("{\"tools\":[{\"name\":\"a\",\"description\":\"b\",\"inputSchema\":{"
                             "\"properties\":{\"x\":{}"));
    for (unsigned i = 0; i < 255; i++)
        cw_buf_printf(&text, ",\"p%u\":{}", i);
    cw_buf_add(&text, CW_STR("},\"required\":[1"));
    for (unsigned i = 0; i < 200000; i++)
        cw_buf_printf(&text, ",\"p%u\"", i);
    cw_buf_add(&text, CW_STR("]}}]}"));
    grown *g = run_grown(&text, "drupal-tools", "/mcp/tools/list", NULL);
    const cw_method *a = find(read_back(&g->j), "a");
    assert_int_equal(a->n_params, 256);
    assert_false(a->params[0].is_required);
    assert_true(a->params[255].is_required);
    end_grown(g);
}

TEST(ovsdb_says_databases_and_tables)
{
    RUN(j, "ovsdb", "", {"list_dbs", "[]", "[\"Open_vSwitch\",\"_Server\",\"Gone\"]", 0},
        {"get_schema", "[\"Open_vSwitch\"]", "{\"tables\":{\"Bridge\":{},\"Port\":{},\"Both\":{}}}",
         0},
        {"get_schema", "[\"_Server\"]", "{\"tables\":{\"Database\":{},\"Both\":{}}}", 0},
        {"get_schema", "[\"Gone\"]", NULL, 5});
    exposed all = read_back(j);
    assert_int_equal(all.n, 4);
    assert_int_equal(j->warnings, 1);
    const cw_method *transact = find(all, "transact");
    assert_str(transact->params[0].schema,
               "{\"type\":\"string\",\"enum\":[\"Open_vSwitch\",\"_Server\",\"Gone\"]}");
    assert_true(str_has(transact->params[1].schema,
                        "\"enum\":[\"Bridge\",\"Port\",\"Both\",\"Database\"]"));
    assert_true(find(all, "get_schema")->mark->is_read_only);
    assert_true(is_spread(find(all, "echo")));
    END(j);
}

TEST(no_database_is_fine_too)
{
    RUN(j, "ovsdb", "", {"list_dbs", "[]", "[]", 0});
    assert_int_equal(read_back(j).n, 4);
    END(j);
}

TEST(help_is_read_from_lines_and_lists)
{
    RUN(j, "help", "",
        {"help", "",
         "\"== Blockchain ==\\ngetblock \\\"blockhash\\\" ( verbosity )\\ngetblockcount\\n"
         "createmultisig nrequired [\\\"key\\\",...] ( \\\"address_type\\\" )\\n  indented\\n\\n\"",
         0});
    exposed all = read_back(j);
    assert_int_equal(all.n, 3);
    const cw_method *m = find(all, "getblock");
    assert_int_equal(m->n_params, 2);
    assert_str(m->params[0].name, "blockhash");
    assert_true(m->params[0].is_required && !m->params[1].is_required);
    assert_int_equal(find(all, "getblockcount")->n_params, 0);
    assert_true(is_spread(find(all, "createmultisig")));
    END(j);
}

TEST(help_of_core_lightning_has_brackets)
{
    RUN(j, "help", "",
        {"help", "",
         "{\"help\":[{\"command\":\"pay bolt11 [amount_msat] [label]\",\"category\":\"plugin\","
         "\"description\":\"Send it\"},\"listpeers [id]\",{\"other\":1}]}",
         0});
    exposed all = read_back(j);
    assert_int_equal(all.n, 2);
    const cw_method *pay = find(all, "pay");
    assert_str(pay->usage, "Send it");
    assert_int_equal(pay->n_params, 3);
    assert_str(pay->params[1].name, "amount_msat");
    assert_true(pay->params[0].is_required && !pay->params[2].is_required);
    assert_int_equal(find(all, "listpeers")->n_params, 1);
    END(j);
}

TEST(some_are_known_without_being_asked)
{
    RUN(j, "transmission", "", {"session-get", "{\"fields\":[\"version\"]}", "{}", 0});
    exposed all = read_back(j);
    assert_true(find(all, "torrent-get")->params[0].is_required);
    assert_true(find(all, "torrent-get")->mark->is_read_only);
    assert_true(str_has(find(all, "torrent-remove")->mark->annotations, "destructiveHint"));
    /* Said, so that nobody guesses by the name. */
    assert_str(find(all, "torrent-verify")->mark->annotations, "{\"readOnlyHint\":false}");
    assert_false(find(all, "torrent-verify")->mark->is_read_only);
    END(j);
}

TEST(a_language_server_is_known_whatever_it_answers)
{
    RUN(j, "lsp", "", {"workspace/symbol", NULL, NULL, NOT_FOUND});
    exposed all = read_back(j);
    assert_int_equal(find(all, "textDocument/hover")->n_params, 2);
    assert_true(str_has(j->openrpc, "\"x-notification\":true"));
    END(j);
}

/* ---- a Drupal site ---- */

TEST(drupal_tools_come_page_by_page)
{
    RUN(j, "drupal", "http://x/sub/jsonrpc?a=b",
        {"/sub/mcp/tools/list", NULL,
         "{\"tools\":[{\"name\":\"node.load\",\"title\":\"Load\",\"description\":\"Loads\","
         "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"nid\":{\"type\":\"integer\","
         "\"description\":\"which\",\"properties\":[]}},\"required\":[\"nid\"]},\"outputSchema\":"
         "{\"type\":\"object\",\"properties\":[]},\"annotations\":{\"readOnlyHint\":true}},"
         "{\"name\":\" \"}],\"nextCursor\":\"a b\"}",
         0},
        {"/sub/mcp/tools/list?cursor=a%20b", NULL,
         "{\"tools\":[{\"name\":\"node.load\"},{\"name\":\"two\",\"inputSchema\":[]}],"
         "\"nextCursor\":\"a b\"}",
         0});
    exposed all = read_back(j);
    assert_int_equal(all.n, 2);
    const cw_method *load = find(all, "node.load");
    assert_str(load->mark->title, "Load");
    assert_true(load->mark->is_read_only);
    assert_true(load->params[0].is_required);
    assert_str(load->params[0].description, "which");
    assert_true(str_has(load->output, "\"properties\":{}")); /* and not a list */
    assert_int_equal(find(all, "two")->n_params, 0);
    assert_true(j->warnings >= 2); /* no name; leads back */
    END(j);
}

TEST(drupal_methods_are_next_where_there_are_no_tools)
{
    RUN(j, "drupal", "unix:/run/x:/jsonrpc", {"/mcp/tools/list", NULL, NULL, 404},
        {"/jsonrpc/methods", NULL,
         "{\"data\":[{\"id\":\"plugins.list\",\"attributes\":{\"usage\":\"Lists\",\"params\":"
         "{\"page\":{\"attributes\":{\"description\":\"which\",\"required\":true},\"schema\":"
         "{\"type\":\"object\",\"properties\":[]}}},\"output\":{\"type\":\"array\"}}},"
         "{\"id\":\"cache.rebuild\",\"attributes\":{},\"links\":{\"self\":"
         "\"http://elsewhere/jsonrpc/methods/cache.rebuild\"}},{\"id\":\"gone\",\"attributes\":{}},"
         "{\"attributes\":{\"params\":[]}}]}",
         0},
        {"/jsonrpc/methods/cache.rebuild", NULL,
         "{\"id\":\"cache.rebuild\",\"attributes\":{\"usage\":\"Rebuilds\",\"params\":[{\"schema\":"
         "{\"type\":\"string\"}}]}}",
         0},
        {"/jsonrpc/methods/gone", NULL, NULL, 404});
    exposed all = read_back(j);
    assert_int_equal(all.n, 3);
    const cw_method *list = find(all, "plugins.list");
    assert_true(list->params[0].is_required);
    assert_str(list->params[0].description, "which");
    assert_str(find(all, "cache.rebuild")->params[0].name, "p0");
    assert_str(find(all, "cache.rebuild")->usage, "Rebuilds");
    END(j);
}

TEST(an_ill_site_is_not_taken_for_one_without_tools)
{
    RUN(j, "drupal", "http://x/jsonrpc", {"/mcp/tools/list", NULL, NULL, 500});
    assert_int_equal(j->rc, CW_IO);
    assert_int_equal(j->n, 1);
    END(j);
}

/* ---- all of them ---- */

TEST(what_makes_no_sense_is_refused_by_everyone)
{
    static const char *const nonsense[] = {"null", "5", "{}", "[5]", "\"\"", "[[]]", "{\"a\":5}"};
    job *j = calloc(1, sizeof *j);
    for (const cw_describer *const *d = cw_describers; *d; d++) {
        for (size_t i = 0; i < CW_COUNT(nonsense); i++) {
            /* To whatever is asked. */
            problem table[16];
            static const char *const first[] = {
                "rpc.discover",       "system.listMethods", "core.describe",
                "JSONRPC.Introspect", "query-qmp-schema",   "list_dbs",
                "get_schema",         "rpc_get_methods",    "help",
                "session-get",        "workspace/symbol",   "/mcp/tools/list",
                "/jsonrpc/methods",   "system.methodHelp"};
            for (size_t k = 0; k < CW_COUNT(first); k++)
                table[k] = (problem){first[k], NULL, nonsense[i], 0};
            open_job(j, "http://x/jsonrpc", table, CW_COUNT(first));
            run_job(j, (*d)->name);
            if (j->rc)
                assert_true(*j->why);
            else
                read_back(j); /* few methods, or none, but a document */
            close_job(j);
        }
    }
    free(j);
}

TEST(a_service_that_is_not_there_is_told_by_everyone)
{
    job *j = calloc(1, sizeof *j);
    unsigned n = 0;
    for (const cw_describer *const *d = cw_describers; *d; d++, n++) {
        assert_ptr_equal(cw_describer_find(cw_str_from((*d)->name)), *d);
        assert_non_null(strstr(cw_describer_names(), (*d)->name));
        open_job(j, "http://x/jsonrpc", NULL, 0);
        run_job(j, (*d)->name);
        assert_int_equal(j->rc, CW_IO);
        assert_non_null(strstr(j->why, "nobody there (at all)"));
        close_job(j);
        if (!(*d)->is_http)
            continue;
        open_job(j, "tcp://x:1", NULL, 0);
        j->no_http = true;
        run_job(j, (*d)->name);
        assert_int_equal(j->rc, CW_PARAMS);
        close_job(j);
    }
    assert_int_equal(n, 14);
    assert_null(cw_describer_find(CW_STR("auto")));
    free(j);
}

/* ---- manifests ---- */

static cw_code manifest(const char *text, cw_arena *arena, cw_buf *out, cw_err *err)
{
    cw_buf_clear(out);
    return cw_describe_manifest(json_of(arena, text), out, err);
}

TEST(a_manifest_becomes_a_description)
{
    job *j = calloc(1, sizeof *j);
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, 100000);
    open_job(j, "", NULL, 0);
    assert_int_equal(
        manifest(
            "{\"methods\":[{\"name\":\"a.b\",\"description\":\"Does\",\"params\":{\"x\":{"
            "\"type\":\"string\",\"description\":\"an x\"},\"y\":{}},\"required\":[5,\"x\"],"
            "\"result\":{\"type\":\"object\"},\"title\":\"T\",\"annotations\":{\"readOnlyHint\""
            ":true}},{\"name\":\"free\",\"notification\":true},{\"name\":\"bare\",\"params\":"
            "{},\"annotations\":{\"a\":1}}]}",
            &j->answers, &out, NULL),
        CW_OK);
    j->openrpc = cw_buf_str(&out);
    exposed all = read_back(j);
    assert_int_equal(all.n, 3);
    const cw_method *m = find(all, "a.b");
    assert_str(m->usage, "Does");
    assert_str(m->params[0].description, "an x");
    assert_true(m->params[0].is_required && !m->params[1].is_required);
    assert_str(m->mark->title, "T");
    assert_true(m->mark->is_read_only);
    assert_true(is_spread(find(all, "free")));
    assert_int_equal(find(all, "bare")->n_params, 0);
    static const char *const same = "{\"openrpc\":\"1.3.2\",\"methods\":[]}";
    assert_int_equal(manifest(same, &j->answers, &out, NULL), CW_OK);
    assert_str(cw_buf_str(&out), same);
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"{}", "neither an OpenRPC document"},
        {"[]", "neither an OpenRPC document"},
        {"{\"methods\":[5]}", "methods[0]: expected an object"},
        {"{\"methods\":[{\"name\":\"a\"},{}]}", "methods[1]: name"},
        {"{\"methods\":[{\"name\":\"\"}]}", "methods[0]: name"},
        {"{\"methods\":[{\"name\":\"a\",\"param\":{}}]}", "unknown member 'param'"},
        {"{\"methods\":[{\"name\":\"a\",\"description\":5}]}", "description"},
        {"{\"methods\":[{\"name\":\"a\",\"params\":[]}]}", "params"},
        {"{\"methods\":[{\"name\":\"a\",\"required\":{}}]}", "required"},
    };
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        cw_err err = {0};
        assert_int_equal(manifest(bad[i].text, &j->answers, &out, &err), CW_PARAMS);
        assert_non_null(strstr(err.msg, bad[i].part));
    }
    END(j);
}

/* ---- without memory ---- */

typedef struct repeat {
    const char *name;
    job *j;
} repeat;

static void describe_once(void *ctx)
{
    repeat *r = ctx;
    job *j = r->j;
    cw_arena_init(&j->arena, 64 << 20);
    j->n = j->n_heard = 0;
    j->ends = 0;
    j->rc = CW_OK;
    run_job(j, r->name);
    if (oom_was_hit() && j->rc != CW_NOMEM)
        fail_msg("%s: %d, %s", r->name, j->rc, j->why);
    if (!oom_was_hit())
        assert_int_equal(j->rc, CW_OK);
    cw_arena_done(&j->arena);
}

TEST(every_failed_allocation_is_survived)
{
    static const problem table[] = {
        {"rpc_discover", NULL, "{\"methods\":[]}", 0},
        {"rpc.discover", NULL, NULL, NOT_FOUND},
        {"system.listMethods", NULL, "[\"a\",\"system.methodHelp\"]", 0},
        {"core.describe", NULL, "{\"a\":{\"params\":[{\"name\":\"x\",\"default\":1}]}}", 0},
        {"JSONRPC.Introspect", NULL,
         "{\"methods\":{\"a\":{\"permission\":\"ReadData\",\"params\":[{\"name\":\"x\",\"$ref\":"
         "\"T\"}],\"returns\":\"string\"}},\"types\":{\"T\":{\"extends\":\"U\"},\"U\":{}}}",
         0},
        {"query-qmp-schema", NULL,
         "[{\"name\":\"a\",\"meta-type\":\"command\",\"arg-type\":\"1\"},{\"name\":\"1\","
         "\"meta-type\":\"object\",\"members\":[{\"name\":\"x\",\"type\":\"1\"}]}]",
         0},
        {"list_dbs", NULL, "[\"d\"]", 0},
        {"get_schema", NULL, "{\"tables\":{\"t\":{}}}", 0},
        {"rpc_get_methods", NULL, "[\"a\"]", 0},
        {"help", NULL, "\"a b\"", 0},
        {"session-get", NULL, "{}", 0},
        {"workspace/symbol", NULL, "[]", 0},
        {"tools/list", NULL,
         "{\"tools\":[{\"name\":\"a\",\"title\":\"t\",\"inputSchema\":{\"properties\":{\"x\":{"
         "\"$ref\":\"#/$defs/y\"}},\"additionalProperties\":false,\"$defs\":{\"y\":{}}}}]}",
         0},
        {"/mcp/tools/list", NULL,
         "{\"tools\":[{\"name\":\"a\",\"title\":\"t\",\"inputSchema\":{\"properties\":{\"x\":{}}}}]"
         ","
         "\"nextCursor\":\"c\"}",
         0},
        {"/mcp/tools/list?cursor=c", NULL, "{\"tools\":[]}", 0},
        {"/jsonrpc/methods", NULL, "{\"data\":[{\"id\":\"a\",\"attributes\":{}}]}", 0},
        {"/jsonrpc/methods/a", NULL, "{\"id\":\"a\",\"attributes\":{\"params\":{\"x\":{}}}}", 0},
    };
    job *j = calloc(1, sizeof *j);
    open_job(j, "http://x/jsonrpc", table, CW_COUNT(table));
    cw_arena_done(&j->arena);
    for (const cw_describer *const *d = cw_describers; *d; d++) {
        repeat r = {(*d)->name, j};
        size_t n = oom_each(describe_once, &r);
        assert_true(n >= 1 || strcmp(r.name, "openrpc") == 0); /* which hands on what it got */
    }
    END(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(openrpc_is_taken_as_it_is_under_any_of_its_names),
        cmocka_unit_test(system_says_names_help_and_signatures),
        cmocka_unit_test(names_alone_are_enough),
        cmocka_unit_test(spdk_says_names),
        cmocka_unit_test(mopidy_says_params_and_defaults),
        cmocka_unit_test(kodi_says_draft_03),
        cmocka_unit_test(qmp_members_that_stand_twice_count_once),
        cmocka_unit_test(qmp_says_types_by_number),
        cmocka_unit_test(a_qmp_type_that_explodes_is_left_open),
        cmocka_unit_test(many_qmp_commands_of_a_large_type_end),
        cmocka_unit_test(a_qmp_param_has_a_size),
        cmocka_unit_test(many_databases_with_many_tables_end),
        cmocka_unit_test(a_tool_that_requires_much_ends),
        cmocka_unit_test(ovsdb_says_databases_and_tables),
        cmocka_unit_test(no_database_is_fine_too),
        cmocka_unit_test(help_is_read_from_lines_and_lists),
        cmocka_unit_test(help_of_core_lightning_has_brackets),
        cmocka_unit_test(some_are_known_without_being_asked),
        cmocka_unit_test(a_language_server_is_known_whatever_it_answers),
        cmocka_unit_test(drupal_tools_come_page_by_page),
        cmocka_unit_test(drupal_methods_are_next_where_there_are_no_tools),
        cmocka_unit_test(an_ill_site_is_not_taken_for_one_without_tools),
        cmocka_unit_test(what_makes_no_sense_is_refused_by_everyone),
        cmocka_unit_test(a_service_that_is_not_there_is_told_by_everyone),
        cmocka_unit_test(a_manifest_becomes_a_description),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
