/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/snapshot.h"
#include "support/json_fixture.h"

#include "catalogue/view.h"
#include "support/oom.h"

static void nothing(cw_source *source)
{
    (void)source;
}

static const cw_offer_ops ops = {nothing, nothing};
static const cw_mark plain = {.title = CW_STR_INIT("")};
static const cw_str edit = CW_STR_INIT("edit");
static const cw_str read_and_edit[] = {CW_STR_INIT("edit"), CW_STR_INIT("read")};

enum { OPEN, EDIT, BOTH, LOGIN, LIST, CALLABLE, SILENT, N_METHODS };

/* Seven methods with different needs. */
typedef struct fixture {
    cw_arena arena;
    cw_method methods[N_METHODS];
    cw_snapshot *snapshot;
} fixture;

static cw_snapshot *snapshot_of(const cw_method *methods, size_t n)
{
    const cw_offer offer = {CW_STR("test"), methods, n, NULL};
    cw_snapshot *s = NULL;
    assert_int_equal(cw_snapshot_build(&offer, 1, &ops, NULL, &s, NULL), CW_OK);
    return s;
}

static void set_up(fixture *f)
{
    *f = (fixture){0};
    cw_arena_init(&f->arena, 1 << 20);
    static const char *const ids[] = {"open", "edit",     "both",  "login",
                                      "list", "callable", "silent"};
    for (size_t i = 0; i < N_METHODS; i++)
        f->methods[i] = (cw_method){
            .id = cw_str_from(ids[i]), .usage = CW_STR("u"), .mark = i < CALLABLE ? &plain : NULL};
    f->methods[EDIT].needs = (cw_requirements){.permissions = &edit, .n_permissions = 1};
    f->methods[BOTH].needs = (cw_requirements){.permissions = read_and_edit, .n_permissions = 2};
    f->methods[LOGIN].needs.level = CW_AUTH_REQUIRED;
    f->methods[LIST].needs = f->methods[EDIT].needs;
    f->methods[LIST].output = CW_STR("{\"type\":\"array\"}");
    f->methods[CALLABLE].is_callable = true;
    f->snapshot = snapshot_of(f->methods, N_METHODS);
}

static void tear_down(fixture *f)
{
    cw_snapshot_unref(f->snapshot);
    cw_arena_done(&f->arena);
}

static cw_view *view_of(cw_snapshot *snapshot, const cw_str *permissions, size_t n)
{
    cw_caller *caller = NULL;
    cw_view *v = NULL;
    assert_int_equal(cw_caller_new_anonymous(permissions, n, &caller, NULL), CW_OK);
    assert_int_equal(cw_view_new(snapshot, caller, &v, NULL), CW_OK);
    assert_ptr_equal(cw_view_caller(v), caller);
    assert_ptr_equal(cw_view_snapshot(v), snapshot);
    cw_caller_unref(caller);
    return v;
}

TEST(a_view_shows_what_the_gate_lets_through)
{
    fixture f;
    set_up(&f);
    static const struct {
        const char *id;
        cw_verdict verdicts[3]; /* with no, one and two permissions */
    } cases[] = {
        {"open", {CW_VERDICT_ALLOW, CW_VERDICT_ALLOW, CW_VERDICT_ALLOW}},
        {"edit", {CW_VERDICT_HIDDEN, CW_VERDICT_ALLOW, CW_VERDICT_ALLOW}},
        {"both", {CW_VERDICT_HIDDEN, CW_VERDICT_HIDDEN, CW_VERDICT_ALLOW}},
        {"login", {CW_VERDICT_NEEDS_LOGIN, CW_VERDICT_NEEDS_LOGIN, CW_VERDICT_NEEDS_LOGIN}},
        {"list", {CW_VERDICT_HIDDEN, CW_VERDICT_ALLOW, CW_VERDICT_ALLOW}},
    };
    for (size_t n = 0; n <= 2; n++) {
        cw_view *v = view_of(f.snapshot, read_and_edit, n);
        for (size_t i = 0; i < CW_COUNT(cases); i++) {
            cw_str id = cw_str_from(cases[i].id);
            const cw_entry *entry = cw_snapshot_find_method(f.snapshot, id);
            assert_int_equal(cw_view_verdict(v, entry), cases[i].verdicts[n]);
            bool is_hidden = cases[i].verdicts[n] == CW_VERDICT_HIDDEN;
            assert_ptr_equal(cw_view_find_tool(v, id), is_hidden ? NULL : entry);
            assert_ptr_equal(cw_view_find_method(v, id), is_hidden ? NULL : entry);
        }
        cw_view_unref(v);
    }
    tear_down(&f);
}

TEST(unmarked_methods_are_no_tools_and_may_be_callable)
{
    fixture f;
    set_up(&f);
    cw_view *v = view_of(f.snapshot, NULL, 0);
    assert_null(cw_view_find_tool(v, CW_STR("callable")));
    assert_non_null(cw_view_find_method(v, CW_STR("callable")));
    assert_null(cw_view_find_tool(v, CW_STR("silent")));
    assert_null(cw_view_find_method(v, CW_STR("silent")));
    assert_null(cw_view_find_tool(v, CW_STR("unknown")));
    assert_null(cw_view_find_method(v, CW_STR("unknown")));
    cw_view_unref(v);
    tear_down(&f);
}

TEST(tools_are_listed_by_name)
{
    fixture f;
    set_up(&f);
    static const char *const names[] = {"edit", "list", "login", "open"};
    const cw_entry *entries[CW_COUNT(names)];
    size_t n;
    bool has_more;
    cw_view *v = view_of(f.snapshot, &edit, 1);
    cw_view_after(v, CW_VIEW_TOOLS, CW_STR(""), entries, CW_COUNT(names), &n, &has_more);
    assert_int_equal(n, CW_COUNT(names));
    assert_false(has_more);
    for (size_t i = 0; i < n; i++)
        assert_str(cw_view_name(CW_VIEW_TOOLS, entries[i]), names[i]);
    cw_view_unref(v);
    tear_down(&f);
}

/* Two names with one portable name: their digests begin alike. */
#define TWIN "shadow.tool.with.a.name.that.is.long.enough."
#define TWINS_NAME "shadow_tool_with_a_name_that_is_lon___5d71d2fb58"

TEST(a_portable_name_leads_to_what_the_caller_sees)
{
    cw_method methods[] = {
        {.id = CW_STR("pub.get"), .mark = &plain},     {.id = CW_STR("pub_get"), .mark = &plain},
        {.id = CW_STR("pub__get"), .mark = &plain},    {.id = CW_STR(TWIN "9a431"), .mark = &plain},
        {.id = CW_STR(TWIN "25bebd"), .mark = &plain}, {.id = CW_STR("hidden.get"), .mark = &plain},
    };
    for (size_t i = 1; i < CW_COUNT(methods); i++) {
        if (i != 3)
            methods[i].needs = (cw_requirements){.permissions = &edit, .n_permissions = 1};
    }
    cw_snapshot *s = snapshot_of(methods, CW_COUNT(methods));
    cw_view *few = view_of(s, NULL, 0);
    cw_view *all = view_of(s, &edit, 1);
    assert_str(cw_view_find_portable(few, CW_STR("pub__get"))->method->id, "pub.get");
    assert_str(cw_view_find_portable(all, CW_STR("pub__get"))->method->id, "pub.get");
    assert_null(cw_view_find_portable(all, CW_STR("pub_get"))); /* a name, not a portable name */
    assert_null(cw_view_find_portable(few, CW_STR("hidden__get")));
    assert_non_null(cw_view_find_portable(all, CW_STR("hidden__get")));
    /* A twin counts for the caller who sees both. */
    assert_str(cw_view_find_portable(few, CW_STR(TWINS_NAME))->method->id, TWIN "9a431");
    assert_null(cw_view_find_portable(all, CW_STR(TWINS_NAME)));
    cw_view_unref(few);
    cw_view_unref(all);
    cw_snapshot_unref(s);
}

TEST(a_view_keeps_what_it_shows)
{
    fixture f;
    set_up(&f);
    cw_view *v = view_of(f.snapshot, NULL, 0);
    cw_snapshot_unref(f.snapshot);
    f.snapshot = NULL;
    assert_ptr_equal(cw_view_ref(v), v);
    cw_view_unref(v);
    assert_non_null(cw_view_find_tool(v, CW_STR("open")));
    assert_true(cw_caller_is_anonymous(cw_view_caller(v)));
    cw_view_unref(v);
    cw_view_unref(NULL);
    tear_down(&f);
}

TEST(lists_are_equal_when_their_bytes_are)
{
    fixture f;
    set_up(&f);
    cw_view *none = view_of(f.snapshot, NULL, 0);
    cw_view *editor = view_of(f.snapshot, &edit, 1);
    assert_int_equal(cw_view_changes(none, none), 0);
    assert_int_equal(cw_view_changes(none, editor), CW_CHANGED_TOOLS);
    assert_int_equal(cw_view_changes(editor, none), CW_CHANGED_TOOLS);

    /* Another snapshot of the same methods, in which one that nobody here sees is gone. */
    cw_method methods[N_METHODS];
    memcpy(methods, f.methods, sizeof methods);
    methods[BOTH].mark = NULL;
    methods[SILENT].id = CW_STR("quiet");
    cw_snapshot *again = snapshot_of(methods, N_METHODS);
    cw_view *later = view_of(again, &edit, 1);
    assert_int_equal(cw_view_changes(editor, later), 0);
    cw_view_unref(later);
    cw_snapshot_unref(again);

    /* The same names with another text. */
    methods[OPEN].usage = CW_STR("v");
    again = snapshot_of(methods, N_METHODS);
    later = view_of(again, &edit, 1);
    assert_int_equal(cw_view_changes(editor, later), CW_CHANGED_TOOLS);
    cw_view_unref(later);
    cw_snapshot_unref(again);
    cw_view_unref(none);
    cw_view_unref(editor);
    tear_down(&f);
}

typedef struct pair {
    cw_snapshot *snapshot;
    cw_caller *caller;
} pair;

/* With the n-th allocation failing; whether there was one. A list that could not be made is made
 * the next time. */
static bool view_with_failure(pair *p, size_t n)
{
    oom_fail_at(n);
    cw_view *v = NULL;
    cw_err err = {0};
    cw_code rc = cw_view_new(p->snapshot, p->caller, &v, &err);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    assert_int_equal(err.code, rc);
    if (rc)
        return true;
    size_t found, total;
    rc = cw_view_page(v, CW_VIEW_TOOLS, 0, NULL, 0, &found, &total);
    bool was_hit = oom_was_hit();
    assert_int_equal(rc, was_hit ? CW_NOMEM : CW_OK);
    oom_reset();
    assert_int_equal(cw_view_page(v, CW_VIEW_TOOLS, 0, NULL, 0, &found, &total), CW_OK);
    assert_true(total > 0);
    cw_view_unref(v);
    return was_hit;
}

/* The tools of a toolset, by name, for a caller with the permission "edit". */
static void check_toolset(cw_toolset_rule rule, bool is_read_only, const char *expected)
{
    static const cw_mark reading = {.title = CW_STR_INIT(""), .is_read_only = true};
    static const cw_str tag = CW_STR_INIT("t");
    fixture f;
    set_up(&f);
    f.methods[OPEN].mark = &reading;
    f.methods[LOGIN].tags = &tag;
    f.methods[LOGIN].n_tags = 1;
    rule.name = CW_STR("set");
    rule.title = rule.instructions = CW_STR("");
    const cw_offer offer = {CW_STR("test"), f.methods, N_METHODS, NULL};
    const cw_snapshot_opts opts = {.toolsets = &rule, .n_toolsets = 1};
    cw_snapshot *s = NULL;
    cw_caller *caller = NULL;
    cw_view *v = NULL;
    assert_int_equal(cw_snapshot_build(&offer, 1, &ops, &opts, &s, NULL), CW_OK);
    assert_int_equal(cw_caller_new_anonymous(&edit, 1, &caller, NULL), CW_OK);
    const cw_toolset *toolset = cw_snapshot_find_toolset(s, rule.name, is_read_only);
    assert_int_equal(cw_view_new_in(s, caller, toolset, &v, NULL), CW_OK);
    const cw_entry *entries[N_METHODS];
    size_t n, total;
    assert_int_equal(cw_view_page(v, CW_VIEW_TOOLS, 0, entries, N_METHODS, &n, &total), CW_OK);
    char names[64] = "";
    for (size_t i = 0; i < n; i++) {
        snprintf(names + strlen(names), sizeof names - strlen(names), " %.*s",
                 CW_STR_ARG(entries[i]->tool_name));
        assert_ptr_equal(cw_view_find_tool(v, entries[i]->tool_name), entries[i]);
    }
    assert_string_equal(names, expected);
    cw_view_unref(v);
    cw_caller_unref(caller);
    cw_snapshot_unref(s);
    tear_down(&f);
}

TEST(a_view_in_a_toolset_sees_less_and_never_more)
{
    static const cw_str patterns[] = {CW_STR_INIT("?????"), CW_STR_INIT("ed*")};
    static const cw_str both_word = CW_STR_INIT("both"), source = CW_STR_INIT("test"),
                        tag = CW_STR_INIT("t");
    check_toolset((cw_toolset_rule){0}, false, " edit list login open");
    check_toolset((cw_toolset_rule){.tools = {patterns, 2}}, false, " edit login");
    check_toolset((cw_toolset_rule){.tools = {&both_word, 1}}, false, "");
    check_toolset((cw_toolset_rule){.tags = {&tag, 1}}, false, " login");
    check_toolset((cw_toolset_rule){.sources = {&source, 1}, .exclude = {patterns, 2}}, false,
                  " list open");
    check_toolset((cw_toolset_rule){.sources = {&tag, 1}}, false, "");
    check_toolset((cw_toolset_rule){0}, true, " open");
    check_toolset((cw_toolset_rule){.read_only = true}, false, " open");
}

TEST(every_failed_allocation_is_reported)
{
    fixture f;
    set_up(&f);
    pair p = {f.snapshot, NULL};
    assert_int_equal(cw_caller_new_anonymous(&edit, 1, &p.caller, NULL), CW_OK);
    size_t live = oom_live();
    size_t n = 1;
    for (; view_with_failure(&p, n); n++)
        assert_int_equal(oom_live(), live);
    oom_reset();
    assert_int_equal(oom_live(), live);
    assert_true(n > 2);
    cw_caller_unref(p.caller);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_shows_what_the_gate_lets_through),
        cmocka_unit_test(unmarked_methods_are_no_tools_and_may_be_callable),
        cmocka_unit_test(tools_are_listed_by_name),
        cmocka_unit_test(a_portable_name_leads_to_what_the_caller_sees),
        cmocka_unit_test(a_view_keeps_what_it_shows),
        cmocka_unit_test(lists_are_equal_when_their_bytes_are),
        cmocka_unit_test(a_view_in_a_toolset_sees_less_and_never_more),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
