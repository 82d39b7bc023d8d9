/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rights.c - doctor: rights that look wrong. The gate decides for each caller, as in a server. */
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "access/gate.h"
#include "cli/doctor/doctor.h"
#include "cli/lib/config_files.h"
#include "cli/tool/cost.h"
#include "cli/tool/tools.h"
#include "config/syntax/quote.h"
#include "server/options/database.h"
#include "store/db.h"

#define EXAMPLES 3u
#define EXAMPLES_MAX_BYTES 4096u
#define BUSY_MS 5000u
#define REJECTED 100u /* some clients reject more tools; up to that they are only worse */

/* Names for one finding: all are counted, the first ones are shown. */
typedef struct names {
    cw_buf shown;
    size_t n;
} names;

static void add_name(names *all, cw_str name)
{
    if (all->n++ >= EXAMPLES)
        return;
    cw_buf_add(&all->shown, all->n > 1 ? CW_STR(", ") : CW_STR(""));
    cw_quote(&all->shown, name);
}

static const char *more(const names *all)
{
    return all->n > EXAMPLES ? ", ..." : "";
}

typedef struct rights {
    cw_doctor *doctor;
    cw_tools *tools;
    const cw_requirements *classes;
    size_t n_classes;
    bool *is_callable;    /* by class: some caller can call its tools */
    cw_name_list granted; /* permissions that roles have, and scopes of issuers give */
    const char *exposed;  /* an address that other machines reach; NULL: none */
    const cw_caller *anonymous;
    names weaker;  /* accounts with fewer rights than anonymous callers */
    names missing; /* sources whose methods are not known */
} rights;

static bool is_allowed(const cw_caller *caller, const cw_requirements *needs)
{
    return cw_gate_permission(caller, CW_PERMISSION_CALL) == CW_VERDICT_ALLOW &&
           cw_gate_check(caller, needs) == CW_VERDICT_ALLOW;
}

/* A token of the caller may have any scope. */
static bool can_call(const cw_caller *caller, const cw_requirements *needs)
{
    cw_requirements without_scopes = *needs;
    without_scopes.n_scopes = 0;
    return is_allowed(caller, cw_caller_is_anonymous(caller) ? needs : &without_scopes);
}

static void mark_callable(rights *r, const cw_caller *caller)
{
    for (size_t i = 0; i < r->n_classes; i++)
        r->is_callable[i] = r->is_callable[i] || can_call(caller, &r->classes[i]);
}

/* ---- accounts ---- */

typedef struct reading {
    sem_t done;
    cw_caller *caller;
} reading;

/* On the store's thread. */
static void on_read(cw_caller *caller, void *ctx)
{
    reading *read = ctx;
    read->caller = caller ? cw_caller_ref(caller) : NULL;
    sem_post(&read->done);
}

static bool is_weaker(const rights *r, const cw_caller *caller)
{
    bool is_less = cw_gate_permission(r->anonymous, CW_PERMISSION_DISCOVER) == CW_VERDICT_ALLOW &&
                   cw_gate_permission(caller, CW_PERMISSION_DISCOVER) != CW_VERDICT_ALLOW;
    for (size_t i = 0; i < r->n_classes && !is_less; i++)
        is_less = is_allowed(r->anonymous, &r->classes[i]) && !is_allowed(caller, &r->classes[i]);
    return is_less;
}

/* A blocked account is no caller. */
static void check_account(rights *r, cw_str name)
{
    reading read = {0};
    sem_init(&read.done, 0, 0);
    if (cw_accounts_read_account(r->tools->app.accounts, name, on_read, &read)) {
        r->doctor->is_failed = true;
        return;
    }
    while (sem_wait(&read.done) != 0)
        ;
    if (read.caller) {
        mark_callable(r, read.caller);
        if (is_weaker(r, read.caller))
            add_name(&r->weaker, name);
    }
    cw_caller_unref(read.caller);
    sem_destroy(&read.done);
}

static cw_code on_account(const cw_account *account, void *ctx, cw_err *err)
{
    (void)err;
    return cw_name_list_add(ctx, account->name);
}

static cw_code read_names(const cw_config *config, cw_name_list *ret)
{
    cw_db *db = NULL;
    cw_db_opts opts = cw_database_opts(config, BUSY_MS);
    cw_code rc = cw_db_open(&opts, &db, NULL);
    if (!rc)
        rc = cw_db_each_account(db, on_account, ret, NULL);
    cw_db_close(db);
    return rc == CW_NOTFOUND ? CW_OK : rc;
}

static void check_accounts(rights *r)
{
    cw_doctor *d = r->doctor;
    cw_name_list all = {0};
    if (!cw_config_store(d->config).n)
        return;
    cw_arena_init(&all.arena, CW_NAME_LIST_MAX_BYTES);
    d->is_failed = read_names(d->config, &all) != CW_OK || d->is_failed;
    for (size_t i = 0; i < all.n; i++)
        check_account(r, all.items[i]);
    cw_arena_done(&all.arena);
    if (r->weaker.n)
        cw_doctor_add(d, CW_DOCTOR_WARNING, "accounts",
                      "give the role \"authenticated\" the permissions of \"anonymous\", or remove "
                      "access.authenticated_only_own",
                      "they have fewer rights than callers without a login (%zu): %.*s%s",
                      r->weaker.n, (int)r->weaker.shown.n, r->weaker.shown.p, more(&r->weaker));
}

/* The claims of a token may name any role. */
static void check_issued(rights *r)
{
    cw_caller *caller = NULL;
    const cw_caller_opts opts = {.id = CW_STR("doctor"),
                                 .name = CW_STR("doctor"),
                                 .permissions = r->granted.items,
                                 .n_permissions = r->granted.n,
                                 .has_token = true};
    if (!r->doctor->config->access.issuers.n)
        return;
    if (cw_caller_new(&opts, &caller, NULL))
        r->doctor->is_failed = true;
    else
        mark_callable(r, caller);
    cw_caller_unref(caller);
}

/* ---- permissions ---- */

static cw_code add_all(cw_name_list *all, const cw_str *items, size_t n)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < n && !rc; i++)
        rc = cw_name_list_add(all, items[i]);
    return rc;
}

/* cw_role_permissions_of_roles adds Causeway's own ones although no role may have them. */
static cw_code read_granted(rights *r)
{
    const cw_config_issuers *issuers = &r->doctor->config->access.issuers;
    bool is_known;
    cw_code rc = cw_role_permissions_of_roles(r->doctor->config, &r->granted, &is_known);
    for (size_t i = 0; i < issuers->n; i++) {
        const cw_config_roles *scopes = &issuers->items[i].scopes;
        for (size_t j = 0; j < scopes->n && !rc; j++)
            rc = add_all(&r->granted, scopes->items[j].permissions.items,
                         scopes->items[j].permissions.n);
    }
    return rc;
}

static bool has_permission(const cw_requirements *needs, cw_str permission)
{
    for (size_t i = 0; i < needs->n_permissions; i++) {
        if (cw_str_eq(needs->permissions[i], permission))
            return true;
    }
    return false;
}

static void add_ungranted(rights *r, cw_str permission, cw_str nearest)
{
    cw_doctor *d = r->doctor;
    size_t n;
    names tools = {0};
    const cw_entry *const *all = cw_snapshot_tools(r->tools->app.snapshot, &n);
    cw_buf_init(&tools.shown, EXAMPLES_MAX_BYTES);
    for (size_t i = 0; i < n; i++) {
        if (has_permission(&all[i]->method->needs, permission))
            add_name(&tools, all[i]->tool_name);
    }
    const char *remedy =
        nearest.n ? cw_doctor_text(d, "correct the name: a role has \"%.*s\"", CW_STR_ARG(nearest))
                  : "give it to a role, under roles of the configuration or with \"causeway role "
                    "allow\"";
    if (tools.n)
        cw_doctor_add(d, CW_DOCTOR_WARNING,
                      cw_doctor_text(d, "permission \"%.*s\"", CW_STR_ARG(permission)), remedy,
                      "no role has it, but tools require it (%zu): %.*s%s", tools.n,
                      (int)tools.shown.n, tools.shown.p, more(&tools));
    cw_buf_done(&tools.shown);
}

/* Each permission once, although several classes require it. Returns whether a class requires one
 * that no role has. */
static bool check_class(rights *r, size_t index)
{
    const cw_requirements *needs = &r->classes[index];
    bool is_missing = false;
    for (size_t i = 0; i < needs->n_permissions; i++) {
        cw_str permission = needs->permissions[i], nearest;
        bool is_first = true;
        if (cw_role_permissions_find(&r->granted, permission, &nearest))
            continue;
        is_missing = true;
        for (size_t j = 0; j < index && is_first; j++)
            is_first = !has_permission(&r->classes[j], permission);
        if (is_first)
            add_ungranted(r, permission, nearest);
    }
    return is_missing;
}

/* A permission of a role that no method requires, but that is nearly the name of one that is
 * required. A method that is not loaded, or withheld, may require it. */
static void check_unused(rights *r)
{
    const cw_config *c = r->doctor->config;
    cw_name_list required = {0};
    size_t n;
    if (r->missing.n || r->doctor->has_withheld)
        return;
    const cw_entry *entries = cw_snapshot_entries(r->tools->app.snapshot, &n);
    cw_arena_init(&required.arena, CW_NAME_LIST_MAX_BYTES);
    cw_code rc = cw_role_permissions_of_sources(c, &required);
    for (size_t i = 0; i < n && !rc; i++)
        rc = add_all(&required, entries[i].method->needs.permissions,
                     entries[i].method->needs.n_permissions);
    for (size_t i = 0; i < c->roles.n && !rc; i++) {
        const cw_config_role *role = &c->roles.items[i];
        for (size_t j = 0; j < role->permissions.n; j++) {
            cw_str nearest;
            if (!cw_role_permissions_find(&required, role->permissions.items[j], &nearest) &&
                nearest.n)
                cw_doctor_add(r->doctor, CW_DOCTOR_WARNING,
                              cw_doctor_text(r->doctor, "role \"%s\"", role->name.p),
                              cw_doctor_text(r->doctor, "correct the name, probably to \"%.*s\"",
                                             CW_STR_ARG(nearest)),
                              "no method requires its permission \"%s\"",
                              role->permissions.items[j].p);
        }
    }
    r->doctor->is_failed = rc || r->doctor->is_failed;
    cw_arena_done(&required.arena);
}

/* ---- tools ---- */

static void add_tools(rights *r, const bool *is_chosen, cw_doctor_severity severity,
                      const char *remedy, const char *problem)
{
    size_t n;
    names chosen = {0};
    const cw_entry *const *all = cw_snapshot_tools(r->tools->app.snapshot, &n);
    cw_buf_init(&chosen.shown, EXAMPLES_MAX_BYTES);
    for (size_t i = 0; i < n; i++) {
        if (is_chosen[all[i]->class_index])
            add_name(&chosen, all[i]->tool_name);
    }
    if (chosen.n)
        cw_doctor_add(r->doctor, severity, "tools", remedy, "%s (%zu): %.*s%s", problem, chosen.n,
                      (int)chosen.shown.n, chosen.shown.p, more(&chosen));
    cw_buf_done(&chosen.shown);
}

static void check_callable(rights *r, bool *is_chosen)
{
    for (size_t i = 0; i < r->n_classes; i++)
        is_chosen[i] = !check_class(r, i) && !r->is_callable[i];
    add_tools(r, is_chosen, CW_DOCTOR_WARNING,
              "give a role with their permissions and \"use jsonrpc services\" to an account "
              "(\"causeway account add\", \"causeway account grant\"); \"causeway why\" explains "
              "each rule",
              "no caller can call these tools");
}

static void check_open(rights *r, bool *is_chosen)
{
    for (size_t i = 0; i < r->n_classes; i++)
        is_chosen[i] = is_allowed(r->anonymous, &r->classes[i]);
    add_tools(r, is_chosen, r->exposed ? CW_DOCTOR_WARNING : CW_DOCTOR_NOTE,
              "require a permission for them in the overlay, or take \"use jsonrpc services\" from "
              "the role \"anonymous\"",
              r->exposed ? "every caller, on other machines too, can call these tools"
                         : "every caller on this machine can call these tools");
}

static void check_exposed(rights *r)
{
    bool can_list = cw_gate_permission(r->anonymous, CW_PERMISSION_DISCOVER) == CW_VERDICT_ALLOW;
    bool can_call_any = cw_gate_permission(r->anonymous, CW_PERMISSION_CALL) == CW_VERDICT_ALLOW;
    if (r->exposed && (can_list || can_call_any))
        cw_doctor_add(r->doctor, CW_DOCTOR_WARNING, "role \"anonymous\"",
                      "listen on 127.0.0.1, or move the permissions to another role",
                      "other machines reach %s and can %s tools without a login", r->exposed,
                      can_call_any ? "call" : "list");
}

/* ---- schemas that model APIs cannot get whole ---- */

static bool on_schema(const cw_lint_finding *finding, void *ctx)
{
    rights *r = ctx;
    bool is_rewrite = finding->is_input && !finding->pointer.n && !finding->keyword.n;
    if (is_rewrite)
        cw_doctor_add(r->doctor, CW_DOCTOR_NOTE,
                      cw_doctor_text(r->doctor, "tool \"%.*s\"", CW_STR_ARG(finding->method)),
                      "simplify the schema of its params", "%s", finding->text);
    return true;
}

static void check_schemas(rights *r)
{
    size_t n;
    const cw_entry *const *all = cw_snapshot_tools(r->tools->app.snapshot, &n);
    cw_lint_opts opts = cw_sources_lint_opts(r->doctor->config);
    opts.portable = true;
    for (size_t i = 0; i < n; i++) {
        if (cw_lint(all[i]->method, 1, &opts, on_schema, r))
            r->doctor->is_failed = true;
    }
}

/* ---- lists that clients or models cannot use whole ---- */

static void check_size(rights *r, const char *address, size_t n)
{
    const char *problem = cw_tools_count_problem(n);
    if (problem)
        cw_doctor_add(
            r->doctor, n > REJECTED ? CW_DOCTOR_WARNING : CW_DOCTOR_NOTE, address,
            "make smaller toolsets, or one with \"mode: search\"; \"causeway list --cost\" "
            "shows what tools cost",
            "it has %zu tools: %s", n, problem);
}

static void check_sizes(rights *r)
{
    const cw_config *c = r->doctor->config;
    const cw_snapshot *snapshot = r->tools->app.snapshot;
    size_t n, n_entries;
    const cw_entry *const *tools = cw_snapshot_tools(snapshot, &n);
    const cw_entry *entries = cw_snapshot_entries(snapshot, &n_entries);
    /* With toolsets, clients need not use the address that has all. */
    if (!c->toolsets.n)
        check_size(r, "/mcp", n);
    for (size_t i = 0; i < c->toolsets.n; i++) {
        cw_str name = c->toolsets.items[i].name;
        const cw_toolset *t = cw_snapshot_find_toolset(snapshot, name, /* is_read_only= */ false);
        size_t n_members = 0;
        for (size_t j = 0; j < n && t && !t->is_search; j++)
            n_members += cw_toolset_has(t, (size_t)(tools[j] - entries));
        check_size(r, cw_doctor_text(r->doctor, "toolset \"%.*s\"", CW_STR_ARG(name)), n_members);
    }
}

/* ---- sources that are not in the catalogue ---- */

static void on_source(const cw_source_report *report, void *ctx)
{
    rights *r = ctx;
    if (strcmp(report->state, "down") == 0 || strcmp(report->state, "loading") == 0)
        add_name(&r->missing, report->name);
}

static void check_complete(rights *r)
{
    cw_sources_each(r->tools->app.sources, on_source, r);
    if (r->missing.n)
        cw_doctor_add(
            r->doctor, CW_DOCTOR_WARNING, "sources",
            "correct the findings about these sources, then run \"causeway doctor\" again",
            "they are not loaded, so the rights to their tools are not checked (%zu): "
            "%.*s%s",
            r->missing.n, (int)r->missing.shown.n, r->missing.shown.p, more(&r->missing));
}

/* ---- all ---- */

static void check_snapshot(rights *r)
{
    bool *is_chosen = calloc(r->n_classes + 1, sizeof *is_chosen);
    r->is_callable = calloc(r->n_classes + 1, sizeof *r->is_callable);
    if (!is_chosen || !r->is_callable || read_granted(r)) {
        r->doctor->is_failed = true;
    } else {
        check_complete(r);
        mark_callable(r, r->anonymous);
        check_accounts(r);
        check_issued(r);
        check_exposed(r);
        check_callable(r, is_chosen);
        check_open(r, is_chosen);
        check_unused(r);
        check_schemas(r);
        check_sizes(r);
    }
    free(is_chosen);
    free(r->is_callable);
}

static int check_tools(cw_tools *t, void *ctx)
{
    cw_doctor *d = ctx;
    rights r = {.doctor = d,
                .tools = t,
                .exposed = cw_cli_exposed_address(d->config),
                .anonymous = t->app.anonymous};
    if (!t->app.snapshot)
        return 0;
    r.classes = cw_snapshot_classes(t->app.snapshot, &r.n_classes);
    cw_arena_init(&r.granted.arena, CW_NAME_LIST_MAX_BYTES);
    cw_buf_init(&r.weaker.shown, EXAMPLES_MAX_BYTES);
    cw_buf_init(&r.missing.shown, EXAMPLES_MAX_BYTES);
    check_snapshot(&r);
    cw_buf_done(&r.missing.shown);
    cw_buf_done(&r.weaker.shown);
    cw_arena_done(&r.granted.arena);
    return 0;
}

void cw_doctor_check_rights(cw_doctor *d)
{
    cw_err err = {0};
    const cw_sources_given services = {.items = d->services, .n = d->n_services};
    const cw_tools_opts opts = {.config = d->config_path,
                                .is_read_only = true,
                                .needs_config = true,
                                .services = &services,
                                .ret_err = &err};
    if (cw_config_store(d->config).n && !d->has_database)
        return;
    if (cw_tools_run(&opts, check_tools, d) != 0)
        cw_doctor_add(d, CW_DOCTOR_ERROR, "rights",
                      "correct the other findings first, then run \"causeway doctor\" again",
                      "they cannot be checked: %s", err.msg);
}
