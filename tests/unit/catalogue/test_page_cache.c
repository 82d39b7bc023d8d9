/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/snapshot.h"
#include "support/json_fixture.h"

#include <zlib.h>

#include "base/clock.h"
#include "catalogue/page_cache.h"
#include "support/oom.h"

#define N_METHODS 300

static void nothing(cw_source *source)
{
    (void)source;
}

/* Every third method is open, every third needs "a", every third "b". */
typedef struct fixture {
    cw_method methods[N_METHODS];
    char names[N_METHODS][8];
    cw_snapshot *snapshot;
    cw_page_cache cache;
} fixture;

static const cw_str a = CW_STR_INIT("a"), b = CW_STR_INIT("b");

static void set_up(fixture *f)
{
    static const cw_offer_ops ops = {nothing, nothing};
    static const cw_mark plain = {.title = CW_STR_INIT("")};
    for (size_t i = 0; i < N_METHODS; i++) {
        snprintf(f->names[i], sizeof f->names[i], "m%05zu", i);
        f->methods[i] =
            (cw_method){.id = cw_str_from(f->names[i]), .usage = CW_STR("u"), .mark = &plain};
        if (i % 3)
            f->methods[i].needs =
                (cw_requirements){.permissions = i % 3 == 1 ? &a : &b, .n_permissions = 1};
    }
    const cw_offer offer = {CW_STR("test"), f->methods, N_METHODS, NULL};
    assert_int_equal(cw_snapshot_build(&offer, 1, &ops, NULL, &f->snapshot, NULL), CW_OK);
    cw_page_cache_init(&f->cache);
    cw_page_cache_limit(&f->cache, 1 << 20);
}

static void tear_down(fixture *f)
{
    cw_page_cache_done(&f->cache);
    cw_snapshot_unref(f->snapshot);
}

static cw_view *view_of(fixture *f, const cw_str *permissions, size_t n)
{
    cw_caller *caller;
    cw_view *view;
    assert_int_equal(cw_caller_new_anonymous(permissions, n, &caller, NULL), CW_OK);
    assert_int_equal(cw_view_new(f->snapshot, caller, &view, NULL), CW_OK);
    cw_caller_unref(caller);
    return view;
}

static unsigned written;

/* `ctx` is the text, many times over when it begins with '*'. */
static void write_text(cw_buf *out, void *ctx)
{
    const char *text = ctx;
    written++;
    cw_buf_add(out, cw_str_from(text));
    for (int i = 0; text[0] == '*' && i < 300; i++)
        cw_buf_add(out, cw_str_from(text));
}

static bool get(fixture *f, cw_view *view, const char *name, const char *text, cw_page **ret)
{
    bool hit;
    cw_page_cache_key key = {
        .kind = CW_STR("list"), .view = view, .language = CW_STR("en"), .name = cw_str_from(name)};
    assert_int_equal(
        cw_page_cache_get(&f->cache, &key, write_text, (void *)(uintptr_t)text, ret, &hit), CW_OK);
    return hit;
}

static bool asks(fixture *f, cw_view *view, const char *name, const char *text)
{
    cw_page *d;
    bool hit = get(f, view, name, text, &d);
    cw_page_unref(d);
    return hit;
}

TEST(callers_who_see_the_same_share_a_document)
{
    fixture f;
    set_up(&f);
    const cw_str more[] = {a, CW_STR("other")};
    cw_view *first = view_of(&f, &a, 1), *same = view_of(&f, more, 2), *other = view_of(&f, &b, 1);
    assert_false(asks(&f, first, "0", "x"));
    assert_true(asks(&f, first, "0", "x"));
    assert_true(asks(&f, same, "0", "x"));
    assert_int_equal(cw_view_cache_id(first), cw_view_cache_id(same));
    assert_false(asks(&f, other, "0", "y"));
    assert_int_not_equal(cw_view_cache_id(first), cw_view_cache_id(other));
    assert_false(asks(&f, first, "50", "z"));
    assert_false(asks(&f, NULL, "0", "w"));
    assert_true(asks(&f, NULL, "0", "w"));
    cw_view_unref(first);
    cw_view_unref(same);
    cw_view_unref(other);
    tear_down(&f);
}

TEST(every_part_of_a_key_counts)
{
    fixture f;
    set_up(&f);
    static const cw_page_cache_key keys[] = {
        {.kind = CW_STR_INIT("ab")},
        {.kind = CW_STR_INIT("a"), .language = CW_STR_INIT("b")},
        {.kind = CW_STR_INIT("a"), .base = CW_STR_INIT("b")},
        {.kind = CW_STR_INIT("a"), .name = CW_STR_INIT("b")},
        {.language = CW_STR_INIT("ab")},
        {.base = CW_STR_INIT("ab")},
        {.name = CW_STR_INIT("ab")},
    };
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < CW_COUNT(keys); i++) {
            cw_page *d;
            bool hit;
            assert_int_equal(cw_page_cache_get(&f.cache, &keys[i], write_text,
                                               (void *)(uintptr_t) "x", &d, &hit),
                             CW_OK);
            assert_int_equal(hit, round == 1);
            cw_page_unref(d);
        }
    }
    tear_down(&f);
}

TEST(what_is_cleared_is_written_anew_and_sent_to_its_end)
{
    fixture f;
    set_up(&f);
    cw_view *view = view_of(&f, NULL, 0);
    cw_page *held;
    assert_false(get(&f, view, "0", "old", &held));
    cw_page_cache_clear(&f.cache);
    assert_int_equal(f.cache.bytes, 0);
    assert_str(cw_buf_str(&held->body), "old");
    cw_page *fresh;
    assert_false(get(&f, view, "0", "new", &fresh));
    assert_str(cw_buf_str(&fresh->body), "new");
    assert_false(cw_str_eq(cw_page_etag(held), cw_page_etag(fresh)));
    cw_page_unref(held);
    cw_page_unref(fresh);
    cw_view_unref(view);
    tear_down(&f);
}

TEST(documents_are_dropped_by_their_tags)
{
    fixture f;
    cw_page *d, *sent;
    set_up(&f);
    cw_view *view = view_of(&f, &a, 1);
    assert_false(get(&f, view, "0", "mine", &sent));
    assert_int_equal(sent->tags, CW_PAGE_CACHE_ALL_TAGS);
    assert_false(get(&f, NULL, "0", "all", &d));
    assert_int_equal(d->tags, CW_PAGE_CACHE_DISCOVERY);
    cw_page_unref(d);
    cw_page_cache_drop(&f.cache, 0);
    assert_true(asks(&f, view, "0", "mine"));
    cw_page_cache_drop(&f.cache, CW_PAGE_CACHE_PERMISSIONS);
    assert_true(asks(&f, NULL, "0", "all"));
    assert_false(asks(&f, view, "0", "mine"));
    /* Whoever sends it is not disturbed. */
    assert_true(cw_str_is(cw_buf_str(&sent->body), "mine"));
    cw_page_unref(sent);
    cw_page_cache_drop(&f.cache, CW_PAGE_CACHE_DISCOVERY);
    assert_int_equal(f.cache.bytes, 0);
    assert_true(cw_list_is_empty(&f.cache.pages));
    assert_false(asks(&f, NULL, "0", "all"));
    cw_view_unref(view);
    tear_down(&f);
}

TEST(tags_have_names)
{
    assert_int_equal(cw_page_cache_tag_find(CW_STR("jsonrpc_mcp:discovery")),
                     CW_PAGE_CACHE_DISCOVERY);
    assert_int_equal(cw_page_cache_tag_find(CW_STR("user.permissions")), CW_PAGE_CACHE_PERMISSIONS);
    assert_int_equal(cw_page_cache_tag_find(CW_STR("")), 0);
    assert_int_equal(cw_page_cache_tag_find(cw_page_cache_tags_text(CW_PAGE_CACHE_ALL_TAGS)), 0);
    assert_true(cw_str_is(cw_page_cache_tags_text(CW_PAGE_CACHE_ALL_TAGS),
                          "jsonrpc_mcp:discovery user.permissions"));
    assert_int_equal(cw_page_cache_tags_text(0).n, 0);
}

TEST(transient_and_overlong_keys_are_not_kept)
{
    fixture f;
    set_up(&f);
    static char name[CW_PAGE_CACHE_MAX_KEY + 1];
    memset(name, 'x', sizeof name);
    const cw_page_cache_key keys[] = {
        {.kind = CW_STR("a"), .is_transient = true},
        {.kind = CW_STR("a"), .name = cw_str_make(name, sizeof name)},
        {.kind = CW_STR("a"), .name = cw_str_make(name, sizeof name - 10)},
        {.kind = cw_str_make(name, 600),
         .language = cw_str_make(name, 600),
         .base = cw_str_make(name, 600),
         .name = cw_str_make(name, 600)},
    };
    for (size_t i = 0; i < 2 * CW_COUNT(keys); i++) {
        cw_page *d;
        bool hit;
        assert_int_equal(cw_page_cache_get(&f.cache, &keys[i / 2], write_text,
                                           (void *)(uintptr_t) "x", &d, &hit),
                         CW_OK);
        assert_false(hit);
        cw_page_unref(d);
    }
    assert_int_equal(f.cache.bytes, 0);
    tear_down(&f);
}

TEST(the_ceiling_holds_and_the_oldest_goes)
{
    fixture f;
    char name[16];
    set_up(&f);
    cw_page_cache_limit(&f.cache, 20000);
    assert_false(asks(&f, NULL, "first", "x"));
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "%d", i);
        (void)asks(&f, NULL, name, "x");
        assert_true(asks(&f, NULL, "first", "x")); /* used, so it stays */
        assert_true(f.cache.bytes <= 20000);
    }
    assert_false(asks(&f, NULL, "0", "x"));
    assert_true(asks(&f, NULL, "999", "x"));
    cw_page_cache_limit(&f.cache, 100);
    assert_int_equal(f.cache.bytes, 0);
    assert_false(asks(&f, NULL, "first", "x"));
    assert_false(asks(&f, NULL, "first", "x"));
    tear_down(&f);
}

/* 1,024 sets are kept; a view that has its number keeps it. */
TEST(sets_have_a_ceiling)
{
    fixture f;
    set_up(&f);
    cw_view *view = view_of(&f, &a, 1);
    assert_false(asks(&f, view, "0", "x"));
    uint64_t number = cw_view_cache_id(view);
    f.cache.n_sets = 0; /* as if they were forgotten */
    free((void *)(uintptr_t)f.cache.sets[0].bits.p);
    assert_true(asks(&f, view, "0", "x"));
    for (size_t i = 0; i < CW_PAGE_CACHE_MAX_SETS + 10; i++) {
        cw_view *one = view_of(&f, i % 2 ? &a : &b, 1);
        if (f.cache.n_sets)
            f.cache.sets[f.cache.n_sets - 1].hash ^= 1; /* never found again */
        (void)asks(&f, one, "0", "x");
        assert_true(f.cache.n_sets <= CW_PAGE_CACHE_MAX_SETS);
        assert_int_not_equal(cw_view_cache_id(one), number);
        cw_view_unref(one);
    }
    assert_int_equal(cw_view_cache_id(view), number);
    cw_view_unref(view);
    tear_down(&f);
}

TEST(a_large_body_is_packed_once_and_counts)
{
    fixture f;
    set_up(&f);
    cw_page *d, *small;
    (void)get(&f, NULL, "large", "*0123456789", &d);
    size_t before = f.cache.bytes;
    cw_str packed = cw_page_pack(d);
    assert_true(packed.n > 0 && packed.n < d->body.n / 4);
    assert_true(f.cache.bytes > before);
    assert_ptr_equal(cw_page_pack(d).p, packed.p);
    assert_string_equal(d->etag, ""); /* nobody has asked */
    assert_false(cw_str_eq(cw_page_etag(d), cw_page_packed_etag(d)));
    char plain[8192];
    z_stream z = {.next_in = (Bytef *)(uintptr_t)packed.p,
                  .avail_in = (uInt)packed.n,
                  .next_out = (Bytef *)plain,
                  .avail_out = sizeof plain};
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.total_out, d->body.n);
    assert_memory_equal(plain, d->body.p, d->body.n);
    inflateEnd(&z);
    (void)get(&f, NULL, "small", "x", &small);
    assert_int_equal(cw_page_pack(small).n, 0);
    /* Without a place in the cache it does not pay. */
    cw_page_unref(d);
    cw_page_cache_limit(&f.cache, 0);
    (void)get(&f, NULL, "large", "*0123456789", &d);
    assert_int_equal(cw_page_pack(d).n, 0);
    cw_page_unref(d);
    cw_page_unref(small);
    tear_down(&f);
}

/* ---- pages ---- */

static void assert_page(cw_view *view, size_t offset, size_t n, size_t step, size_t first)
{
    const cw_entry *entries[N_METHODS];
    size_t found, total;
    assert_int_equal(cw_view_page(view, CW_VIEW_TOOLS, offset, entries, n, &found, &total), CW_OK);
    size_t all = (N_METHODS - first + step - 1) / step;
    assert_int_equal(total, all);
    assert_int_equal(found, offset >= all ? 0 : (all - offset < n ? all - offset : n));
    for (size_t i = 0; i < found; i++) {
        char name[8];
        snprintf(name, sizeof name, "m%05zu", first + (offset + i) * step);
        assert_str(entries[i]->tool_name, name);
    }
}

TEST(a_page_has_what_its_caller_sees)
{
    fixture f;
    set_up(&f);
    const cw_str both[] = {a, b};
    cw_view *all = view_of(&f, both, 2), *open = view_of(&f, NULL, 0);
    for (size_t offset = 0; offset < N_METHODS + 70; offset++) {
        assert_page(all, offset, 50, 1, 0);
        assert_page(open, offset, 7, 3, 0);
    }
    assert_page(all, SIZE_MAX, 50, 1, 0);
    assert_page(open, SIZE_MAX, 0, 3, 0);
    cw_view_unref(all);
    cw_view_unref(open);
    tear_down(&f);
}

/* Wherever a page begins among 100,000 tools, it takes as long as among few. */
TEST(a_page_of_many_tools_takes_no_longer)
{
    enum { MANY = 100000, ROUNDS = 20000 };
    static const cw_offer_ops ops = {nothing, nothing};
    static const cw_mark plain = {.title = CW_STR_INIT("")};
    cw_method *methods = calloc(MANY, sizeof *methods);
    char(*names)[8] = calloc(MANY, sizeof *names);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "m%05zu", i);
        methods[i] = (cw_method){.id = cw_str_from(names[i]), .mark = &plain};
        /* All but every thousandth hidden from who has no permission. */
        if (i % 1000)
            methods[i].needs = (cw_requirements){.permissions = &a, .n_permissions = 1};
    }
    fixture f = {0};
    const cw_offer offer = {CW_STR("test"), methods, MANY, NULL};
    assert_int_equal(cw_snapshot_build(&offer, 1, &ops, NULL, &f.snapshot, NULL), CW_OK);
    cw_view *all = view_of(&f, &a, 1), *few = view_of(&f, NULL, 0);
    const cw_entry *entries[50];
    size_t n, total;
    uint64_t started = cw_clock_ns();
    for (size_t i = 0; i < ROUNDS; i++) {
        size_t offset = i * 7919 % (MANY - 50);
        assert_int_equal(cw_view_page(all, CW_VIEW_TOOLS, offset, entries, 50, &n, &total), CW_OK);
        assert_int_equal(n, 50);
        assert_string_equal(entries[0]->tool_name.p, names[offset]);
    }
    assert_int_equal(total, MANY);
    assert_int_equal(cw_view_page(few, CW_VIEW_TOOLS, 50, entries, 50, &n, &total), CW_OK);
    assert_int_equal(n, 50);
    assert_int_equal(total, 100);
    assert_string_equal(entries[49]->tool_name.p, names[99000]);
    /* Walking to each page would take a hundred times as long. */
    assert_true(cw_clock_ns() - started < UINT64_C(5000000000));
    cw_view_unref(all);
    cw_view_unref(few);
    cw_snapshot_unref(f.snapshot);
    free(methods);
    free(names);
}

TEST(marks_are_filled)
{
    static const struct {
        const char *body, *text, *expected;
    } cases[] = {
        {"a#b##c", "xy", "axybxyxyc"}, {"#", "x", "x"}, {"##", "", ""},
        {"none", "x", "none"},         {"", "x", ""},
    };
    fixture f;
    set_up(&f);
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_page *d;
        (void)get(&f, NULL, cases[i].body, cases[i].body, &d);
        cw_page *one = cw_page_fill(d, '#', cw_str_from(cases[i].text));
        cw_page *same = cw_page_fill(d, '#', cw_str_from(cases[i].text));
        cw_page *other = cw_page_fill(d, '#', CW_STR("other"));
        assert_str(cw_buf_str(&one->body), cases[i].expected);
        assert_int_equal(one->tags, d->tags);
        assert_true(cw_str_eq(cw_page_etag(one), cw_page_etag(same)));
        assert_false(cw_str_eq(cw_page_etag(one), cw_page_etag(other)));
        assert_false(cw_str_eq(cw_page_etag(one), cw_page_etag(d)));
        cw_page_unref(one);
        cw_page_unref(same);
        cw_page_unref(other);
        cw_page_unref(d);
    }
    tear_down(&f);
}

static void work(void *ctx)
{
    fixture *f = ctx;
    cw_page_cache_init(&f->cache);
    cw_page_cache_limit(&f->cache, 1 << 20);
    cw_caller *caller = NULL;
    cw_view *view = NULL;
    cw_code rc = cw_caller_new_anonymous(&a, 1, &caller, NULL);
    if (!rc)
        rc = cw_view_new(f->snapshot, caller, &view, NULL);
    const cw_entry *entries[5];
    size_t found, total;
    if (!rc)
        rc = cw_view_page(view, CW_VIEW_METHODS, 7, entries, 5, &found, &total);
    for (int i = 0; i < 3 && !rc; i++) {
        cw_page_cache_key key = {.kind = CW_STR("x"), .view = view};
        cw_page *d = NULL;
        rc = cw_page_cache_get(&f->cache, &key, write_text, (void *)(uintptr_t) "*text", &d, NULL);
        if (!rc)
            (void)cw_page_pack(d);
        cw_page *filled = rc ? NULL : cw_page_fill(d, 't', CW_STR("longer"));
        if (!rc && !filled)
            rc = CW_NOMEM;
        cw_page_unref(filled);
        cw_page_unref(d);
    }
    assert_true(rc == CW_OK || (rc == CW_NOMEM && oom_was_hit()));
    cw_view_unref(view);
    cw_caller_unref(caller);
    cw_page_cache_done(&f->cache);
}

TEST(the_cache_survives_every_failed_allocation)
{
    fixture f;
    set_up(&f);
    cw_page_cache_done(&f.cache);
    assert_true(oom_each(work, &f) >= 8);
    cw_snapshot_unref(f.snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_filled),
        cmocka_unit_test(callers_who_see_the_same_share_a_document),
        cmocka_unit_test(every_part_of_a_key_counts),
        cmocka_unit_test(what_is_cleared_is_written_anew_and_sent_to_its_end),
        cmocka_unit_test(documents_are_dropped_by_their_tags),
        cmocka_unit_test(tags_have_names),
        cmocka_unit_test(transient_and_overlong_keys_are_not_kept),
        cmocka_unit_test(the_ceiling_holds_and_the_oldest_goes),
        cmocka_unit_test(sets_have_a_ceiling),
        cmocka_unit_test(a_large_body_is_packed_once_and_counts),
        cmocka_unit_test(a_page_has_what_its_caller_sees),
        cmocka_unit_test(a_page_of_many_tools_takes_no_longer),
        cmocka_unit_test(the_cache_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
