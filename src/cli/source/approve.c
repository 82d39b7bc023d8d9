/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source approve: write the definitions of tools, as the services give them, to the lock file
 * or the database.
 *
 * Without the name of a tool, a source that is named (or all) is approved as a whole. With one,
 * exactly the named tools are approved, of the named sources or of any; the other tools stay as
 * they were approved, or not approved.
 */
#include "base/clock.h"
#include "cli/lib/audit_record.h"
#include "cli/source/source_set.h"
#include "config/syntax/quote.h"

typedef struct approving {
    bool json;
    const cw_str *tools; /* named, by their ids in the services */
    size_t n_tools;
    bool has_sources; /* sources are named: tools are looked for in these only */
    const cw_lock *lock;
    cw_buf text; /* what was approved, as JSON */
    cw_json_writer w;
    cw_lock_approval approval;
    cw_arena arena;
} approving;

static bool is_found(const cw_source_set_item *item, cw_str method)
{
    return cw_lock_is_defined(item->definitions, item->n_definitions, method);
}

/* Whether anything of it is to be written. */
static bool is_meant(const approving *a, const cw_source_set_item *item)
{
    for (size_t i = 0; i < a->n_tools; i++) {
        if (is_found(item, a->tools[i]))
            return true;
    }
    return a->n_tools == 0;
}

/* The name of a source that is also a method of another one can mean either. */
static int fail_ambiguous(cw_str source, cw_str other)
{
    char first[CW_EXCERPT_SIZE], second[CW_EXCERPT_SIZE];
    return cw_cli_usage("%s is a source, and a method of source %s: name one source at a time",
                        cw_excerpt(source, first), cw_excerpt(other, second));
}

static int check_sources(const approving *a, const cw_source_set *all)
{
    for (size_t i = 0; i < all->n && a->has_sources; i++) {
        const cw_source_set_item *item = &all->items[i];
        for (size_t j = 0; j < all->n && item->is_wanted; j++) {
            const cw_source_set_item *other = &all->items[j];
            if (j != i && other->is_wanted && is_found(other, item->config->name))
                return fail_ambiguous(item->config->name, other->config->name);
        }
    }
    return -1;
}

static int check_methods(approving *a, const cw_source_set *all)
{
    size_t n = 0;
    cw_err err = {0};
    cw_lock_offer *offers = cw_arena_calloc(&a->arena, all->n + 1, sizeof *offers);
    if (!offers)
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    for (size_t i = 0; i < all->n; i++) {
        const cw_source_set_item *item = &all->items[i];
        if (item->is_wanted)
            offers[n++] =
                (cw_lock_offer){item->config->name, item->definitions, item->n_definitions};
    }
    cw_code rc = cw_lock_check_methods(offers, n, a->has_sources, a->tools, a->n_tools, &err);
    for (size_t i = 0; i < all->n && rc == CW_NOTFOUND; i++) {
        if (all->items[i].is_wanted && !all->items[i].source)
            cw_source_set_report(&all->items[i]);
    }
    /* A mistake in the names, and nothing is written. */
    return rc ? cw_source_set_fail(rc, &err) : check_sources(a, all);
}

/* Whether the operator has seen these differences, if an etag is given. */
static int check_etag(const approving *a, const cw_source_set *all)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    char etag[CW_LOCK_HASH + 1];
    cw_err err = {0};
    cw_buf_init(&text, CW_CLI_OUTPUT_MAX);
    if (!all->etag)
        return -1;
    cw_code rc = cw_source_set_compare(all, a->lock, &text, etag, &err);
    if (!rc)
        rc = cw_lock_check_etag(cw_str_from(all->etag), etag, &err);
    return rc ? cw_cli_failure("%s", err.msg) : -1;
}

static cw_code collect(approving *a, cw_source_set *all, bool *ret_whole)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < all->n && !rc; i++) {
        cw_source_set_item *item = &all->items[i];
        if (!item->is_wanted)
            continue;
        /* One that was only looked through for tools is of no interest. */
        if (!item->source && a->n_tools)
            continue;
        if (!item->source) {
            *ret_whole = false;
            cw_source_set_report(item);
            continue;
        }
        item->is_wanted = is_meant(a, item);
        rc = cw_lock_approve(&a->approval, item->config->name, item->definitions,
                             item->n_definitions);
    }
    return rc;
}

static void record(const approving *a, const cw_source_set *all, bool is_done)
{
    for (size_t i = 0; i < a->approval.n_replaced; i++)
        cw_cli_record(all->config, "source approve", a->approval.replaced[i], is_done);
}

/* ---- printing ---- */

static void add_member(cw_buf *out, const cw_json *object, const char *name, const char *end)
{
    cw_cli_add_text(out, cw_cli_admin_text(object, name));
    cw_buf_add(out, cw_str_from(end));
}

/* `by` is the result of the server that did it, or NULL. */
static int print(const cw_json *approved, bool json, const cw_source_set *all, const cw_json *by)
{
    cw_buf out;
    if (json)
        return cw_cli_print_value(approved);
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    for (const cw_json *c = cw_json_first(approved); c; c = cw_json_next(c)) {
        add_member(&out, c, "source", ": ");
        add_member(&out, c, "method", ": ");
        add_member(&out, c, "change", "\n");
    }
    if (!cw_json_count(approved)) {
        cw_buf_add(&out, CW_STR("nothing to approve\n"));
        return cw_cli_print_buf(&out);
    }
    cw_buf_add(&out, CW_STR("approved"));
    if (all->config && all->config->state.approvals_in_store)
        cw_buf_add(&out, CW_STR(" in the database"));
    else if (all->config)
        cw_buf_printf(&out, " in %s", all->config->state.lock.p);
    if (by) {
        cw_buf_add(&out, CW_STR(" by "));
        cw_cli_admin_add_server(&out, by);
    }
    cw_buf_add_char(&out, '\n');
    return cw_cli_print_buf(&out);
}

static int approve_all(cw_source_set *all, void *ctx)
{
    approving *a = ctx;
    cw_err err = {0};
    bool is_whole = true;
    const cw_json *approved = NULL;
    int code = check_etag(a, all);
    if (code < 0)
        code = check_methods(a, all);
    if (code >= 0)
        return code;
    cw_json_writer_init(&a->w, &a->text, CW_JSON_COMPACT);
    cw_json_open_array(&a->w);
    cw_lock_approval_init(&a->approval, a->lock, a->tools, a->n_tools, &a->w);
    char user[CW_CLI_USER];
    cw_cli_user(user);
    a->approval.stamp = (cw_lock_stamp){.at = cw_clock_wall_ms(), .by = cw_str_from(user)};
    cw_code rc = collect(a, all, &is_whole);
    cw_json_close(&a->w);
    if (rc)
        cw_fail(&err, rc, "%s", cw_code_text(rc));
    if (!rc)
        rc = cw_json_writer_end(&a->w, &err);
    if (!rc && a->approval.n_replaced) {
        rc = cw_source_set_save(all, &a->approval, &err);
        record(a, all, rc == CW_OK);
    }
    if (!rc)
        rc = cw_json_read(cw_buf_str(&a->text), NULL, &a->arena, &approved, NULL, &err);
    if (rc)
        return cw_cli_failure("%s", err.msg);
    code = print(approved, a->json, all, NULL);
    return code == CW_EXIT_OK && !is_whole ? CW_EXIT_FAILURE : code;
}

static int approve_alone(cw_source_set *all, const cw_str *tools)
{
    cw_lock *lock = NULL;
    int code = cw_source_set_read_lock(all, &lock);
    if (code >= 0)
        return code;
    /* Any source may have a tool of that name. */
    for (size_t i = 0; i < all->n && all->n_named == 0; i++)
        all->items[i].is_wanted = true;
    approving a = {.json = all->json,
                   .tools = tools,
                   .n_tools = all->n_methods,
                   .has_sources = all->n_named > 0,
                   .lock = lock};
    cw_buf_init(&a.text, CW_CLI_OUTPUT_MAX);
    cw_arena_init(&a.arena, 8 * CW_CLI_OUTPUT_MAX);
    code = cw_source_set_run(all, CW_SOURCE_SET_DEFINE, approve_all, &a);
    cw_lock_approval_done(&a.approval);
    cw_buf_done(&a.text);
    cw_arena_done(&a.arena);
    cw_lock_unref(lock);
    return code;
}

/* ---- by the running server ---- */

typedef struct request {
    const cw_source_set *all;
    cw_str etag;
} request;

static void write_request(cw_json_writer *w, const void *ctx)
{
    const request *r = ctx;
    cw_json_add_string_member(w, CW_STR("etag"), r->etag);
    cw_source_set_write_names(w, r->all);
    if (!r->all->n_methods)
        return;
    cw_json_add_key(w, CW_STR("methods"));
    cw_json_open_array(w);
    for (size_t i = 0; i < r->all->n_methods; i++)
        cw_json_add_string(w, cw_str_from(r->all->methods[i]));
    cw_json_close(w);
}

/* The same check as without a server: methods that differ are those that an approval would change. */
static int check_differences(const cw_source_set *all, const cw_json *diff)
{
    const cw_json *differences = cw_json_get(diff, CW_STR("differences"));
    for (const cw_json *d = cw_cli_admin_items(differences); d && all->n_named;
         d = cw_json_next(d)) {
        cw_str method = cw_cli_admin_text(d, "method"), source = cw_cli_admin_text(d, "source");
        for (size_t i = 0; i < all->n; i++) {
            cw_str name = all->items[i].config->name;
            if (all->items[i].is_wanted && cw_str_eq(name, method) && !cw_str_eq(name, source))
                return fail_ambiguous(name, source);
        }
    }
    return -1;
}

/* The server compares once more: what it approves is what it has just shown to this command, or
 * what the operator has seen. */
static int approve_on_server(const cw_source_set *all, cw_cli_admin *a)
{
    request r = {.all = all};
    cw_err err = {0};
    const cw_json *diff = NULL, *result = NULL;
    int code = cw_source_set_ask_diff(all, a, &diff);
    if (code < 0)
        code = check_differences(all, diff);
    if (code >= 0)
        return code;
    r.etag = all->etag ? cw_str_from(all->etag) : cw_cli_admin_text(diff, "etag");
    cw_code rc = cw_cli_admin_try(a, "causeway.sources.approve", write_request, &r, &result, &err);
    if (rc == CW_NOTFOUND)
        cw_source_set_report_problems(diff);
    if (rc)
        return cw_source_set_fail(rc, &err);
    const cw_json *approved = cw_json_get(result, CW_STR("approved"));
    if (!cw_json_is(approved, CW_JSON_ARRAY))
        return cw_cli_failure("the server returned an unexpected result");
    /* Sources that were only searched for methods may be out of reach. */
    bool is_whole = all->n_methods || cw_source_set_report_problems(result);
    code = print(approved, all->json, all, result);
    return code == CW_EXIT_OK && !is_whole ? CW_EXIT_FAILURE : code;
}

static int approve(cw_source_set *all)
{
    cw_cli_admin a;
    int code = cw_cli_admin_open(&all->target, &a);
    if (code >= 0)
        return code;
    cw_str *tools = cw_arena_calloc(&a.arena, all->n_methods + 1, sizeof *tools);
    for (size_t i = 0; tools && i < all->n_methods; i++)
        tools[i] = cw_str_from(all->methods[i]);
    if (!tools)
        code = cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    else if (cw_cli_admin_has_server(&a))
        code = approve_on_server(all, &a);
    else
        code = approve_alone(all, tools);
    cw_cli_admin_close(&a);
    return code;
}

int cw_cli_source_approve(int argc, char **argv)
{
    static const cw_source_command command = {
        .name = "source approve",
        .args = "[SOURCE...] [METHOD...]",
        .about = "Approve the current definitions of the tools of all sources, or of the named\n"
                 "ones. If methods are named, approve exactly these, in the named sources or in\n"
                 "any. The lock file (state.lock) or the database (state.approvals) records\n"
                 "them. Run \"causeway source diff\" first, and name the etag that it printed: if\n"
                 "something has changed since, nothing is approved.",
        .has_json = true,
        .has_etag = true,
        .has_server = true,
        .takes_methods = true,
        .run = approve,
    };
    return cw_source_set_command(&command, argc, argv);
}
