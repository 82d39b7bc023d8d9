/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/snapshot.h"
#include "support/json_fixture.h"

#include <pthread.h>
#include <time.h>

#include "catalogue/tool/tool_json.h"
#include "support/oom.h"

/* A source is whatever counts its references. */
static int refs_of[4];

static void ref(cw_source *source)
{
    ++*(int *)(void *)source;
}

static void unref(cw_source *source)
{
    --*(int *)(void *)source;
}

static const cw_offer_ops ops = {ref, unref};

static cw_source *source(unsigned i)
{
    return (cw_source *)(void *)&refs_of[i];
}

static const cw_mark plain = {.title = CW_STR_INIT("")};

static cw_method method(const char *id, bool is_tool)
{
    return (cw_method){.id = cw_str_from(id),
                       .usage = CW_STR("u"),
                       .mark = is_tool ? &plain : NULL,
                       .is_callable = true};
}

static cw_snapshot *build(const cw_offer *offers, size_t n)
{
    cw_snapshot *s = NULL;
    cw_err err = {0};
    if (cw_snapshot_build(offers, n, &ops, NULL, &s, &err))
        fail_msg("%s", err.msg);
    return s;
}

TEST(nothing_offered_is_an_empty_catalogue)
{
    cw_snapshot *s = build(NULL, 0);
    size_t n = 1;
    (void)cw_snapshot_entries(s, &n);
    assert_int_equal(n, 0);
    (void)cw_snapshot_tools(s, &n);
    assert_int_equal(n, 0);
    (void)cw_snapshot_classes(s, &n);
    assert_int_equal(n, 0);
    (void)cw_snapshot_problems(s, &n);
    assert_int_equal(n, 0);
    assert_null(cw_snapshot_find_method(s, CW_STR("a")));
    assert_null(cw_snapshot_find_tool(s, CW_STR("")));
    cw_snapshot_unref(s);
    cw_snapshot_unref(NULL);
}

TEST(entries_are_sorted_and_found)
{
    const cw_method first[] = {method("z", true), method("b/a", true), method("m", false)};
    const cw_method second[] = {method("a", false), method("b", true), method("b.b", true)};
    const cw_offer offers[] = {{CW_STR("one"), first, 3, source(0)},
                               {CW_STR("two"), second, 3, source(1)}};
    cw_snapshot *s = build(offers, 2);
    static const char *const ids[] = {"a", "b", "b.b", "b/a", "m", "z"};
    size_t n;
    const cw_entry *entries = cw_snapshot_entries(s, &n);
    assert_int_equal(n, 6);
    for (size_t i = 0; i < n; i++) {
        assert_str(entries[i].method->id, ids[i]);
        assert_ptr_equal(cw_snapshot_find_method(s, cw_str_from(ids[i])), &entries[i]);
    }
    static const char *const names[] = {"b", "b.a", "b.b", "z"};
    const cw_entry *const *tools = cw_snapshot_tools(s, &n);
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++) {
        assert_str(tools[i]->tool_name, names[i]);
        assert_ptr_equal(cw_snapshot_find_tool(s, cw_str_from(names[i])), tools[i]);
        assert_true(tools[i] >= entries && tools[i] < entries + 6);
        assert_true(tools[i]->tool_hash != 0);
    }
    assert_null(cw_snapshot_find_tool(s, CW_STR("m")));
    assert_null(cw_snapshot_find_tool(s, CW_STR("b/a")));
    assert_null(cw_snapshot_find_method(s, CW_STR("b.a")));
    assert_int_equal(entries[4].tool_name.n, 0);
    assert_true(entries[4].tool_hash == 0);
    cw_snapshot_unref(s);
}

TEST(a_snapshot_keeps_its_sources)
{
    memset(refs_of, 0, sizeof refs_of);
    const cw_method a[] = {method("a", true)};
    const cw_method b[] = {method("b", true)};
    const cw_offer offers[] = {{CW_STR("one"), a, 1, source(0)},
                               {CW_STR("two"), a, 1, source(1)}, /* left out */
                               {CW_STR("three"), b, 1, source(2)}};
    cw_snapshot *s = build(offers, 3);
    assert_int_equal(refs_of[0], 1);
    assert_int_equal(refs_of[1], 0);
    assert_int_equal(refs_of[2], 1);
    assert_ptr_equal(cw_snapshot_ref(s), s);
    cw_snapshot_unref(s);
    assert_int_equal(refs_of[0], 1);
    cw_snapshot_unref(s);
    assert_int_equal(refs_of[0], 0);
    assert_int_equal(refs_of[2], 0);
}

/* What is known of a source's tools is taken over; the old snapshot may go. */
TEST(the_tools_of_the_same_source_stay_the_same)
{
    cw_method a[] = {method("a/b", true), method("c", true)};
    a[1].output = CW_STR("{\"type\":\"array\"}");
    const cw_method b[] = {method("c", true)};
    const cw_offer first_offer = {CW_STR("one"), a, 2, source(0)};
    const cw_offer other_offer = {CW_STR("one"), b, 1, source(1)};
    cw_snapshot *first = build(&first_offer, 1), *second = NULL, *third = NULL;
    uint64_t hash = cw_snapshot_find_tool(first, CW_STR("c"))->tool_hash;
    cw_snapshot_opts opts = {.previous = first};
    assert_int_equal(cw_snapshot_build(&first_offer, 1, &ops, &opts, &second, NULL), CW_OK);
    cw_snapshot_unref(first);
    const cw_entry *c = cw_snapshot_find_tool(second, CW_STR("c"));
    assert_true(c->tool_hash == hash);
    assert_true(c->wraps_output);
    assert_str(cw_snapshot_find_method(second, CW_STR("a/b"))->tool_name, "a.b");
    opts.previous = second;
    assert_int_equal(cw_snapshot_build(&other_offer, 1, &ops, &opts, &third, NULL), CW_OK);
    c = cw_snapshot_find_tool(third, CW_STR("c"));
    assert_true(c->tool_hash != hash);
    assert_false(c->wraps_output);
    assert_null(cw_snapshot_find_tool(third, CW_STR("a.b")));
    cw_snapshot_unref(second);
    cw_snapshot_unref(third);
}

/* The second of two offers is left out, with this text, and nothing of it stays. */
static void assert_left_out(const cw_method *taken, size_t n_taken, const cw_method *methods,
                            size_t n_methods, const char *text)
{
    memset(refs_of, 0, sizeof refs_of);
    const cw_offer offers[] = {{CW_STR("articles"), taken, n_taken, source(0)},
                               {CW_STR("others"), methods, n_methods, source(1)}};
    cw_snapshot *s = build(offers, 2);
    size_t n;
    const cw_snapshot_problem *problems = cw_snapshot_problems(s, &n);
    assert_int_equal(n, 1);
    assert_int_equal(problems[0].offer, 1);
    assert_str(problems[0].text, text);
    (void)cw_snapshot_entries(s, &n);
    assert_int_equal(n, n_taken);
    for (size_t i = 0; i < n_taken; i++)
        assert_ptr_equal(cw_snapshot_find_method(s, taken[i].id)->method, &taken[i]);
    assert_int_equal(refs_of[1], 0);
    cw_snapshot_unref(s);
    /* What one offer loses is free for the next one. */
    const cw_method late[] = {method("fresh", true), method("own", true)};
    const cw_offer three[] = {offers[0], offers[1], {CW_STR("late"), late, 2, source(2)}};
    s = build(three, 3);
    (void)cw_snapshot_problems(s, &n);
    assert_int_equal(n, 1);
    assert_ptr_equal(cw_snapshot_find_tool(s, CW_STR("fresh"))->method, &late[0]);
    assert_ptr_equal(cw_snapshot_find_method(s, CW_STR("own"))->method, &late[1]);
    cw_snapshot_unref(s);
}

TEST(threat_D4_an_id_is_offered_once)
{
    const cw_method taken[] = {method("x", false)};
    const cw_method methods[] = {method("fresh", true), method("x", true), method("own", true)};
    assert_left_out(taken, 1, methods, 3, "method 'x': also offered by 'articles'");
    const cw_method twice[] = {method("fresh", true), method("own", false), method("own", true)};
    assert_left_out(taken, 1, twice, 3, "method 'own': also offered by 'others'");
    const cw_method broken[] = {method("x\ny", false)}, again[] = {method("x\ny", false)};
    assert_left_out(broken, 1, again, 1, "method 'x\\u000ay': also offered by 'articles'");
}

TEST(threat_D4_a_tool_name_is_taken_once)
{
    const cw_method taken[] = {method("a.b", true)};
    const cw_method methods[] = {method("fresh", true), method("a/b", true), method("own", true)};
    assert_left_out(taken, 1, methods, 3,
                    "method 'a/b': tool name 'a.b' is taken by method 'a.b' of 'articles'");
    /* Without a mark there is no name to take. */
    const cw_method unmarked[] = {method("a/b", false)};
    const cw_offer offers[] = {{CW_STR("one"), taken, 1, source(0)},
                               {CW_STR("two"), unmarked, 1, source(1)}};
    cw_snapshot *s = build(offers, 2);
    size_t n;
    (void)cw_snapshot_problems(s, &n);
    assert_int_equal(n, 0);
    assert_ptr_equal(cw_snapshot_find_tool(s, CW_STR("a.b"))->method, &taken[0]);
    cw_snapshot_unref(s);
}

/* ---- offers that yield ---- */

static cw_offer service(const char *name, const cw_method *methods, size_t n, unsigned i)
{
    return (cw_offer){cw_str_from(name), methods, n, source(i)};
}

static const bool all_yield[8] = {true, true, true, true, true, true, true, true};

static cw_snapshot *build_after(const cw_offer *offers, size_t n, cw_snapshot *previous)
{
    const cw_snapshot_opts opts = {.previous = previous, .defers = all_yield};
    cw_snapshot *s = NULL;
    assert_int_equal(cw_snapshot_build(offers, n, &ops, &opts, &s, NULL), CW_OK);
    return s;
}

static void assert_partial(const cw_snapshot *s, size_t offer, const char *text)
{
    size_t n;
    const cw_snapshot_problem *problems = cw_snapshot_problems(s, &n);
    assert_int_equal(n, 1);
    assert_int_equal(problems[0].offer, offer);
    assert_true(problems[0].is_partial);
    assert_str(problems[0].text, text);
}

TEST(threat_D4_who_yields_loses_only_what_another_has)
{
    const cw_method a[] = {method("a.x", true), method("b.y", true)};
    const cw_method b[] = {method("b.y", true), method("b.z", true)};
    const cw_method c[] = {method("b/z", true), method("c", true)}; /* the tool name of b.z */
    const cw_offer offers[] = {service("a", a, 2, 0), service("b", b, 2, 1), service("c", c, 2, 2)};
    cw_snapshot *s = build_after(offers, 2, NULL);
    assert_partial(s, 1, "method 'b.y': also offered by 'a'");
    assert_int_equal(cw_snapshot_count(s, a, 2).tools, 2);
    assert_int_equal(cw_snapshot_count(s, b, 2).tools, 1);
    assert_int_equal(cw_snapshot_count(NULL, b, 2).tools, 2);
    assert_ptr_equal(cw_snapshot_find_tool(s, CW_STR("b.y"))->method, &a[1]);
    assert_ptr_equal(cw_snapshot_find_tool(s, CW_STR("b.z"))->method, &b[1]);
    cw_snapshot_unref(s);
    s = build_after(&offers[1], 2, NULL);
    assert_partial(s, 1, "method 'b/z': method 'b.z' of 'b' has its tool name or address");
    assert_ptr_equal(cw_snapshot_find_tool(s, CW_STR("b.z"))->method, &b[1]);
    assert_ptr_equal(cw_snapshot_find_tool(s, CW_STR("c"))->method, &c[1]);
    cw_snapshot_unref(s);
}

TEST(threat_D4_the_order_of_offers_decides_whatever_came_first)
{
    const cw_method a[] = {method("a.x", true), method("b.y", true), method("b/z", true)};
    const cw_method b[] = {method("b.z", true), method("b.y", true)};
    const cw_offer both[] = {service("a", a, 3, 0), service("b", b, 2, 1)};
    /* The first publishes before, after, or together with the second. */
    cw_snapshot *before[] = {NULL, build_after(&both[0], 1, NULL), build_after(&both[1], 1, NULL)};
    unsigned char digest[CW_SNAPSHOT_DIGEST], other[CW_SNAPSHOT_DIGEST];
    for (size_t i = 0; i < CW_COUNT(before); i++) {
        cw_snapshot *s = build_after(both, 2, before[i]);
        size_t n;
        const cw_snapshot_problem *problems = cw_snapshot_problems(s, &n);
        assert_int_equal(n, 2);
        assert_str(problems[0].text,
                   "method 'b.z': method 'b/z' of 'a' has its tool name or address");
        assert_str(problems[1].text, "method 'b.y': also offered by 'a'");
        assert_ptr_equal(cw_snapshot_find_tool(s, CW_STR("b.y"))->method, &a[1]);
        assert_ptr_equal(cw_snapshot_find_tool(s, CW_STR("b.z"))->method, &a[2]);
        cw_snapshot_digest(s, i ? other : digest);
        assert_true(i == 0 || memcmp(digest, other, sizeof digest) == 0);
        cw_snapshot_unref(s);
    }
    for (size_t i = 0; i < CW_COUNT(before); i++)
        cw_snapshot_unref(before[i]);
}

TEST(an_offer_that_yields_is_taken_whole_or_not_in_all_else)
{
    const cw_method a[] = {method("a", true)};
    const cw_method twice[] = {method("a", true), method("own", true), method("own", true)};
    const cw_offer offers[] = {service("one", a, 1, 0), service("two", twice, 3, 1)};
    cw_snapshot *s = build_after(offers, 2, NULL);
    size_t n;
    const cw_snapshot_problem *problems = cw_snapshot_problems(s, &n);
    assert_int_equal(n, 2);
    assert_true(problems[0].is_partial && !problems[1].is_partial);
    assert_str(problems[1].text, "method 'own': also offered by 'two'");
    assert_null(cw_snapshot_find_method(s, CW_STR("own")));
    cw_snapshot_unref(s);
}

TEST(of_very_many_that_are_left_out_some_are_named)
{
    enum { N = CW_SNAPSHOT_MAX_PARTIAL + 3 };
    static char ids[N][8];
    cw_method a[N];
    for (unsigned i = 0; i < N; i++) {
        snprintf(ids[i], sizeof ids[i], "m%u", i);
        a[i] = method(ids[i], true);
    }
    const cw_offer offers[] = {service("one", a, N, 0), service("two", a, N, 1)};
    cw_snapshot *s = build_after(offers, 2, NULL);
    size_t n;
    const cw_snapshot_problem *problems = cw_snapshot_problems(s, &n);
    assert_int_equal(n, CW_SNAPSHOT_MAX_PARTIAL + 1);
    assert_str(problems[n - 1].text, "3 more methods that others offer");
    (void)cw_snapshot_entries(s, &n);
    assert_int_equal(n, N);
    cw_snapshot_unref(s);
}

TEST(a_method_that_cannot_be_published_is_named)
{
    cw_arena arena;
    cw_arena_init(&arena, 1 << 16);
    const cw_method taken[] = {method("x", false)};
    cw_method methods[] = {method("fresh", true), method("own", true)};
    methods[1].output = CW_STR("true");
    assert_left_out(taken, 1, methods, 2,
                    "method 'own': output schema: expected an object, got boolean");
    const cw_method nameless[] = {method("fresh", true), method("", false)};
    assert_left_out(taken, 1, nameless, 2, "a method has an empty id");
    char id[140];
    memset(id, 'a', sizeof id - 1);
    id[139] = '\0';
    const cw_method endless[] = {method(id, true)};
    char text[300];
    snprintf(text, sizeof text, "method '%s': its tool name would be longer than 128 characters",
             id);
    assert_left_out(taken, 1, endless, 1, text);
    cw_arena_done(&arena);
}

TEST(equal_needs_share_a_class)
{
    static const cw_str permissions[] = {CW_STR_INIT("p"), CW_STR_INIT("q")};
    static const cw_str again[] = {CW_STR_INIT("p"), CW_STR_INIT("q")};
    cw_method methods[] = {method("a", true), method("b", true), method("c", true),
                           method("d", true), method("e", false)};
    methods[1].needs = (cw_requirements){.permissions = permissions, .n_permissions = 2};
    methods[2].needs = (cw_requirements){.permissions = again, .n_permissions = 2};
    methods[3].needs =
        (cw_requirements){.permissions = again, .n_permissions = 2, .level = CW_AUTH_REQUIRED};
    const cw_offer offer = {CW_STR("one"), methods, 5, source(0)};
    cw_snapshot *s = build(&offer, 1);
    size_t n;
    const cw_requirements *classes = cw_snapshot_classes(s, &n);
    assert_int_equal(n, 3);
    const cw_entry *entries = cw_snapshot_entries(s, &n);
    assert_int_equal(entries[0].class_index, entries[4].class_index);
    assert_int_equal(entries[1].class_index, entries[2].class_index);
    assert_int_not_equal(entries[0].class_index, entries[1].class_index);
    assert_int_not_equal(entries[1].class_index, entries[3].class_index);
    for (size_t i = 0; i < n; i++)
        assert_true(
            cw_requirements_equal(&classes[entries[i].class_index], &entries[i].method->needs));
    cw_snapshot_unref(s);
}

typedef struct many {
    cw_method *methods;
    char (*ids)[24];
    cw_str *permissions;
    size_t n;
} many;

/* Methods "m0", "m1", ... in an order that is not theirs, each with its own permission. */
static many make_many(size_t n, bool is_tool)
{
    many m = {calloc(n, sizeof(cw_method)), calloc(n, sizeof(char[24])), calloc(n, sizeof(cw_str)),
              n};
    for (size_t i = 0; i < n; i++) {
        snprintf(m.ids[i], sizeof m.ids[i], "m%zu", i * 7919 % n);
        m.methods[i] = method(m.ids[i], is_tool);
        m.permissions[i] = m.methods[i].id;
        m.methods[i].needs =
            (cw_requirements){.permissions = &m.permissions[i], .n_permissions = 1};
    }
    return m;
}

static void free_many(many *m)
{
    free(m->methods);
    free(m->ids);
    free(m->permissions);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Linear but for the sorting; a second of CPU time leaves room for sanitizers. */
TEST(ten_thousand_methods_build_quickly)
{
    many m = make_many(10000, true);
    const cw_offer offer = {CW_STR("many"), m.methods, m.n, source(0)};
    double start = now();
    cw_snapshot *s = build(&offer, 1);
    double took = now() - start;
    size_t n;
    (void)cw_snapshot_classes(s, &n);
    assert_int_equal(n, 10000);
    const cw_entry *const *tools = cw_snapshot_tools(s, &n);
    assert_int_equal(n, 10000);
    for (size_t i = 1; i < n; i++)
        assert_true(cw_str_cmp(tools[i - 1]->tool_name, tools[i]->tool_name) < 0);
    cw_snapshot_unref(s);
    free_many(&m);
    print_message("built in %.1f ms\n", took * 1000);
    assert_true(took < 1.0);
}

/* CPU time of finding every tool and method, divided by how many there are. */
static double time_to_find(size_t n)
{
    many m = make_many(n, true);
    const cw_offer offer = {CW_STR("many"), m.methods, m.n, source(0)};
    cw_snapshot *s = build(&offer, 1);
    size_t rounds = 20000 / n;
    double start = now();
    for (size_t r = 0; r < rounds; r++) {
        for (size_t i = 0; i < n; i++) {
            assert_ptr_equal(cw_snapshot_find_method(s, m.methods[i].id),
                             cw_snapshot_find_tool(s, m.methods[i].id));
        }
    }
    double took = now() - start;
    cw_snapshot_unref(s);
    free_many(&m);
    return took / (double)(rounds * n);
}

/* fault-B21: there is an index; looking at all of them would take a thousand times as long. */
TEST(finding_one_of_many_takes_little_longer)
{
    double few = time_to_find(10);
    double many_of_them = time_to_find(10000);
    print_message("%.0f ns of 10, %.0f ns of 10,000\n", few * 1e9, many_of_them * 1e9);
    assert_true(many_of_them < few * 50);
}

TEST(the_catalogue_has_a_ceiling)
{
    many m = make_many(CW_SNAPSHOT_MAX_METHODS, false);
    const cw_method one = method("one", true);
    const cw_offer offers[] = {{CW_STR("many"), m.methods, m.n, source(0)},
                               {CW_STR("one"), &one, 1, source(1)}};
    cw_snapshot *s = build(offers, 2);
    size_t n;
    (void)cw_snapshot_entries(s, &n);
    assert_int_equal(n, CW_SNAPSHOT_MAX_METHODS);
    const cw_snapshot_problem *problems = cw_snapshot_problems(s, &n);
    assert_int_equal(n, 1);
    assert_int_equal(problems[0].offer, 1);
    assert_str(problems[0].text, "the catalogue would have more than 100000 methods");
    cw_snapshot_unref(s);
    const cw_offer turned[] = {offers[1], offers[0]};
    s = build(turned, 2);
    (void)cw_snapshot_entries(s, &n);
    assert_int_equal(n, 1);
    cw_snapshot_unref(s);
    free_many(&m);
}

static void *hold_for_a_while(void *arg)
{
    for (int i = 0; i < 10000; i++)
        cw_snapshot_unref(cw_snapshot_ref(arg));
    cw_snapshot_unref(arg);
    return NULL;
}

TEST(references_are_counted_across_threads)
{
    memset(refs_of, 0, sizeof refs_of);
    const cw_method a = method("a", true);
    const cw_offer offer = {CW_STR("one"), &a, 1, source(0)};
    cw_snapshot *s = build(&offer, 1);
    pthread_t threads[4];
    for (size_t i = 0; i < CW_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hold_for_a_while, cw_snapshot_ref(s)),
                         0);
    for (size_t i = 0; i < CW_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(refs_of[0], 1);
    cw_snapshot_unref(s);
    assert_int_equal(refs_of[0], 0);
}

static void build_once(void *ctx)
{
    (void)ctx;
    memset(refs_of, 0, sizeof refs_of);
    const cw_method first[] = {method("a", true), method("b", true), method("c", false)};
    const cw_method second[] = {method("d", true), method("a", true)};
    const cw_method third[] = {method("e", true), method("f", true), method("g", true),
                               method("h", true), method("i", true), method("j", true)};
    const cw_offer offers[] = {{CW_STR("one"), first, 3, source(0)},
                               {CW_STR("two"), second, 2, source(1)},
                               {CW_STR("three"), third, 6, source(2)}};
    cw_snapshot *s = NULL;
    cw_err err = {0};
    cw_code rc = cw_snapshot_build(offers, 3, &ops, NULL, &s, &err);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    assert_int_equal(err.code, rc);
    cw_snapshot_unref(s);
    assert_int_equal(refs_of[0] + refs_of[1] + refs_of[2], 0);
}

typedef struct offers_list {
    const cw_offer *items;
    size_t n;
    const bool *defers;
} offers_list;

static void build_offers_once(void *ctx)
{
    const offers_list *list = ctx;
    cw_snapshot *s = NULL;
    const cw_snapshot_opts opts = {.defers = list->defers};
    cw_code rc = cw_snapshot_build(list->items, list->n, &ops, &opts, &s, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_snapshot_unref(s);
}

TEST(every_failed_allocation_is_reported)
{
    assert_true(oom_each(build_once, NULL) >= 15);
    /* So many that every list has an allocation of its own. */
    many m = make_many(150, true);
    const cw_offer offer = {CW_STR("many"), m.methods, m.n, source(0)};
    offers_list list = {&offer, 1, all_yield};
    assert_true(oom_each(build_offers_once, &list) >= 15);
    free_many(&m);
}

/* So many problems that their texts fill more than one block of the arena. */
TEST(every_failed_allocation_of_a_problem_is_reported)
{
    char id[151];
    memset(id, 'x', sizeof id - 1);
    id[150] = '\0';
    const cw_method one = method(id, false);
    cw_offer offers[8];
    for (unsigned i = 0; i < CW_COUNT(offers); i++)
        offers[i] = (cw_offer){CW_STR("same"), &one, 1, source(0)};
    cw_snapshot *s = build(offers, CW_COUNT(offers));
    size_t n;
    (void)cw_snapshot_problems(s, &n);
    assert_int_equal(n, 7);
    cw_snapshot_unref(s);
    offers_list list = {offers, CW_COUNT(offers), NULL};
    assert_true(oom_each(build_offers_once, &list) >= 4);
    list.defers = all_yield;
    assert_true(oom_each(build_offers_once, &list) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_offered_is_an_empty_catalogue),
        cmocka_unit_test(entries_are_sorted_and_found),
        cmocka_unit_test(a_snapshot_keeps_its_sources),
        cmocka_unit_test(the_tools_of_the_same_source_stay_the_same),
        cmocka_unit_test(threat_D4_an_id_is_offered_once),
        cmocka_unit_test(threat_D4_a_tool_name_is_taken_once),
        cmocka_unit_test(threat_D4_who_yields_loses_only_what_another_has),
        cmocka_unit_test(threat_D4_the_order_of_offers_decides_whatever_came_first),
        cmocka_unit_test(an_offer_that_yields_is_taken_whole_or_not_in_all_else),
        cmocka_unit_test(of_very_many_that_are_left_out_some_are_named),
        cmocka_unit_test(a_method_that_cannot_be_published_is_named),
        cmocka_unit_test(equal_needs_share_a_class),
        cmocka_unit_test(ten_thousand_methods_build_quickly),
        cmocka_unit_test(finding_one_of_many_takes_little_longer),
        cmocka_unit_test(the_catalogue_has_a_ceiling),
        cmocka_unit_test(references_are_counted_across_threads),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(every_failed_allocation_of_a_problem_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
