/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source approve: write the definitions of tools, as the services give them, to the lock file.
 *
 * Without the name of a tool, a source that is named (or all) is approved as a whole. With one,
 * exactly the named tools are approved, of the named sources or of any; the other tools stay as
 * they were approved, or not approved.
 */
#include <stdlib.h>

#include "cli/lib/audit_record.h"
#include "cli/source/source_set.h"
#include "config/syntax/quote.h"

typedef struct approving {
    bool json;
    char **tools; /* named, by their ids in the services */
    size_t n_tools;
    const bool *is_whole; /* by source: all of its tools */
    bool has_sources;     /* sources are named: tools are looked for in these only */
    const cw_lock *lock;
    cw_lock_entry *entries;
    size_t n, cap;
    cw_str *replaced;
    size_t n_replaced;
    const cw_source_set_item *item;
    cw_buf out;
    cw_json_writer w;
    size_t n_accepted;
} approving;

static bool is_named(const approving *a, cw_str method)
{
    for (size_t i = 0; i < a->n_tools; i++) {
        if (cw_str_is(method, a->tools[i]))
            return true;
    }
    return false;
}

static void print_result(approving *a, cw_str method, const char *what)
{
    a->n_accepted++;
    cw_str source = a->item->config->name;
    if (a->json) {
        cw_json_open_object(&a->w);
        cw_json_add_string_member(&a->w, CW_STR("source"), source);
        cw_json_add_string_member(&a->w, CW_STR("method"), method);
        cw_json_add_string_member(&a->w, CW_STR("change"), cw_str_from(what));
        cw_json_close(&a->w);
        return;
    }
    cw_buf_printf(&a->out, "%s: ", source.p);
    cw_cli_add_text(&a->out, method);
    cw_buf_printf(&a->out, ": %s\n", what);
}

static cw_code add(approving *a, cw_str method, cw_str definition)
{
    if (a->n == a->cap) {
        size_t cap = a->cap ? 2 * a->cap : 64;
        cw_lock_entry *entries = realloc(a->entries, cap * sizeof *entries);
        if (!entries)
            return CW_NOMEM;
        a->entries = entries;
        a->cap = cap;
    }
    a->entries[a->n++] = (cw_lock_entry){a->item->config->name, method, definition};
    return CW_OK;
}

static bool is_found(const cw_source_set_item *item, cw_str method)
{
    for (size_t i = 0; i < item->n_definitions; i++) {
        if (cw_str_eq(item->definitions[i].method, method))
            return true;
    }
    return false;
}

/* Approved once and not there any more: it goes with its source, and stays where only others are
 * named. */
static cw_code on_approved(cw_str method, void *ctx)
{
    approving *a = ctx;
    if (is_found(a->item, method))
        return CW_OK;
    if (!a->is_whole[a->item - a->item->all->items] && !is_named(a, method))
        return add(a, method, CW_STR(""));
    print_result(a, method, "gone");
    return CW_OK;
}

static cw_code approve_tool(approving *a, const cw_remote_definition *d)
{
    cw_str name = a->item->config->name;
    cw_lock_verdict verdict =
        a->lock ? cw_lock_check(a->lock, name, d->method, d->definition, NULL) : CW_LOCK_NEW;
    bool is_meant = a->is_whole[a->item - a->item->all->items] || is_named(a, d->method);
    if (!is_meant)
        return verdict == CW_LOCK_NEW ? CW_OK : add(a, d->method, CW_STR(""));
    if (verdict != CW_LOCK_SAME)
        print_result(a, d->method, verdict == CW_LOCK_NEW ? "new" : "changed");
    return add(a, d->method, d->definition);
}

/* Whether anything of it is to be written. */
static bool is_meant(const approving *a, const cw_source_set_item *item)
{
    if (a->is_whole[item - item->all->items])
        return true;
    for (size_t i = 0; i < item->n_definitions; i++) {
        if (is_named(a, item->definitions[i].method))
            return true;
    }
    return false;
}

static cw_code approve_source(approving *a, const cw_source_set_item *item)
{
    cw_code rc = CW_OK;
    a->item = item;
    a->replaced[a->n_replaced++] = item->config->name;
    for (size_t i = 0; i < item->n_definitions && !rc; i++)
        rc = approve_tool(a, &item->definitions[i]);
    return rc ? rc : cw_lock_each(a->lock, item->config->name, on_approved, a);
}

static int report_unknown(const approving *a, const cw_source_set *all, const char *tool)
{
    char exposed[CW_EXCERPT_SIZE];
    for (size_t j = 0; j < all->n; j++) {
        if (all->items[j].is_wanted && !all->items[j].source)
            cw_source_set_report(&all->items[j]);
    }
    cw_excerpt(cw_str_from(tool), exposed);
    return a->has_sources
               ? cw_cli_failure("no source is called %s, and the named ones expose no such method",
                                exposed)
               : cw_cli_failure("no source is called %s, and none exposes such a method", exposed);
}

/* With tools, a source only says where they are: one that has none of them is a mistake, and so is
 * the name of a source that is also a tool of another one. */
static int check_sources(const approving *a, const cw_source_set *all)
{
    for (size_t i = 0; i < all->n && a->has_sources; i++) {
        const cw_source_set_item *item = &all->items[i];
        if (item->is_wanted && a->n_tools && !is_meant(a, item))
            return cw_cli_usage("none of the named methods is exposed by source \"%s\"",
                                item->config->name.p);
        for (size_t j = 0; j < all->n && item->is_wanted; j++) {
            const cw_source_set_item *other = &all->items[j];
            if (j != i && other->is_wanted && is_found(other, item->config->name))
                return cw_cli_usage("\"%s\" is a source, and a method of source \"%s\": name one "
                                    "source at a time",
                                    item->config->name.p, other->config->name.p);
        }
    }
    return -1;
}

/* A name that fits nothing is a mistake, and nothing is written. */
static int check_names(const approving *a, const cw_source_set *all)
{
    for (size_t i = 0; i < a->n_tools; i++) {
        bool any = false;
        for (size_t j = 0; j < all->n && !any; j++)
            any = is_found(&all->items[j], cw_str_from(a->tools[i]));
        if (!any)
            return report_unknown(a, all, a->tools[i]);
    }
    return check_sources(a, all);
}

static cw_code collect(approving *a, cw_source_set *all, bool *ret_whole)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < all->n && !rc; i++) {
        cw_source_set_item *item = &all->items[i];
        if (!item->is_wanted)
            continue;
        /* One that was only looked through for tools is of no interest. */
        if (!item->source && !a->is_whole[i])
            continue;
        if (!item->source) {
            *ret_whole = false;
            cw_source_set_report(item);
            continue;
        }
        item->is_wanted = is_meant(a, item);
        if (item->is_wanted)
            rc = approve_source(a, item);
    }
    return rc;
}

static void record(const approving *a, const cw_source_set *all, bool is_done)
{
    for (size_t i = 0; i < a->n_replaced; i++)
        cw_cli_record(all->config, "source approve", a->replaced[i], is_done);
}

static int finish(approving *a, const cw_source_set *all)
{
    if (a->json) {
        cw_json_close(&a->w);
        cw_cli_end_json(&a->w);
        return cw_cli_print_buf(&a->out);
    }
    if (a->n_accepted == 0)
        cw_buf_add(&a->out, CW_STR("nothing to approve\n"));
    else
        cw_buf_printf(&a->out, "approved in %s; a running server follows when it asks again%s\n",
                      all->config->state.lock.p,
                      all->config->store.path.n ? ", which was ordered" : " (HUP makes it)");
    return cw_cli_print_buf(&a->out);
}

/* The running server uses the new definitions at once. Without one there is none to tell. */
static cw_code refresh(const cw_source_set *all, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf reports;
    cw_buf_init(&reports, CW_CLI_OUTPUT_MAX);
    cw_code rc = cw_source_set_refresh(all, &reports, err);
    return rc == CW_NOTFOUND ? CW_OK : rc;
}

static int approve_all(cw_source_set *all, void *ctx)
{
    approving *a = ctx;
    cw_err err = {0};
    bool is_whole = true;
    int code = check_names(a, all);
    if (code >= 0)
        return code;
    cw_json_writer_init(&a->w, &a->out, CW_JSON_INDENT);
    if (a->json)
        cw_json_open_array(&a->w);
    cw_code rc = collect(a, all, &is_whole);
    if (rc)
        cw_fail(&err, rc, "%s", cw_code_text(rc));
    if (!rc && a->n_replaced) {
        rc = cw_lock_write(all->config->state.lock.p, a->lock, a->replaced, a->n_replaced,
                           a->entries, a->n, &err);
        record(a, all, rc == CW_OK);
    }
    if (!rc && a->n_accepted)
        rc = refresh(all, &err);
    if (rc)
        return cw_cli_failure("%s", err.msg);
    code = finish(a, all);
    return code == CW_EXIT_OK && !is_whole ? CW_EXIT_FAILURE : code;
}

static int approve(cw_source_set *all)
{
    cw_lock *lock = NULL;
    int code = cw_source_set_read_lock(all, &lock);
    if (code >= 0)
        return code;
    bool *is_whole = calloc(all->n + 1, sizeof *is_whole);
    cw_str *replaced = calloc(all->n + 1, sizeof *replaced);
    if (is_whole && replaced) {
        for (size_t i = 0; i < all->n; i++)
            is_whole[i] = all->items[i].is_wanted && all->n_methods == 0;
        /* Any source may have a tool of that name. */
        for (size_t i = 0; i < all->n && all->n_named == 0; i++)
            all->items[i].is_wanted = true;
        approving a = {.json = all->json,
                       .tools = all->methods,
                       .n_tools = all->n_methods,
                       .is_whole = is_whole,
                       .has_sources = all->n_named > 0,
                       .lock = lock,
                       .replaced = replaced};
        cw_buf_init(&a.out, CW_CLI_OUTPUT_MAX);
        code = cw_source_set_run(all, CW_SOURCE_SET_DEFINE, approve_all, &a);
        cw_buf_done(&a.out);
        free(a.entries);
    } else {
        code = cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    }
    free(is_whole);
    free(replaced);
    cw_lock_free(lock);
    return code;
}

int cw_cli_source_approve(int argc, char **argv)
{
    static const cw_source_command command = {
        .name = "source approve",
        .args = "[SOURCE...] [METHOD...]",
        .about =
            "Approve the current definitions of the tools of all sources, or of the named\n"
            "ones. If methods are named, approve exactly these, in the named sources or in\n"
            "any. The lock file (state.lock) records them. Run \"causeway source diff\" first.",
        .has_json = true,
        .takes_methods = true,
        .run = approve,
    };
    return cw_source_set_command(&command, argc, argv);
}
