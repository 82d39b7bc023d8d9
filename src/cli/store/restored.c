/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store restored: makes servers verify all callers again, and lists what a restore has revived. */
#include <stdio.h>

#include "admin/audit_search.h"
#include "cli/lib/admin.h"
#include "cli/lib/audit_record.h"
#include "cli/lib/owner.h"
#include "cli/lib/table.h"
#include "cli/store/revived.h"
#include "cli/store/store.h"
#include "server/options/database.h"

#define LIST_MAX ((size_t)256 << 20)
#define MAX_ROTATED 100u /* of an audit that the configuration does not name */
#define MAX_AUDITS 64u

typedef struct restored {
    const char *config_path;
    cw_cli_texts audits;
    const char *since_text;
    char since[CW_CLOCK_ISO_LEN + 1];
    bool revoke, json;
    cw_config *config;
    cw_arena arena;
    cw_revived_lists found;
    size_t n, n_revoked; /* that can be revoked, and that were */
    size_t n_passwords;
    bool is_incomplete; /* reported: the exit code */
    bool *was_revoked;  /* by place in the list */
} restored;

/* How a kind is called, and how it is withdrawn; NULL: only its owner can replace it. */
static const struct kind {
    const char *word, *method, *command;
} kinds[CW_REVIVED_KINDS] = {
    [CW_REVIVED_TOKEN] = {"token", "causeway.tokens.revoke", "token revoke"},
    [CW_REVIVED_GRANT] = {"grant", "causeway.grants.revoke", "grant revoke"},
    [CW_REVIVED_SESSION] = {"session", "causeway.sessions.end", "session revoke"},
    [CW_REVIVED_ACCOUNT_ROLE] = {"account_role", "causeway.accounts.revoke", "account revoke"},
    [CW_REVIVED_BLOCK] = {"block", "causeway.accounts.block", "account block"},
    [CW_REVIVED_ACCOUNT] = {"account", "causeway.accounts.remove", "account remove"},
    [CW_REVIVED_PERMISSION] = {"permission", "causeway.roles.deny", "role deny"},
    [CW_REVIVED_ROLE] = {"role", "causeway.roles.remove", "role remove"},
    [CW_REVIVED_CLIENT] = {"client", "causeway.clients.remove", "client remove"},
    [CW_REVIVED_DENIAL] = {"client_denial", "causeway.clients.deny", "client deny"},
    [CW_REVIVED_PASSWORD] = {"password", NULL, NULL},
};

/* ---- the audit ---- */

/* The database is marked, so a problem does not end the command: the list may be incomplete. */
static void report(restored *r, const char *text)
{
    r->is_incomplete = true;
    (void)cw_cli_failure("%s", text);
}

static void read_audit(restored *r, cw_withdrawals *w, const char *path, unsigned files)
{
    cw_err err = {0};
    if (cw_withdrawals_read(w, path, files, r->since, &err))
        report(r, err.msg);
}

static void read_audits(restored *r, cw_withdrawals *w)
{
    const cw_str path = r->config->audit.path;
    for (size_t i = 0; i < r->audits.n; i++)
        read_audit(r, w, r->audits.items[i], MAX_ROTATED);
    if (!r->audits.n && path.n)
        read_audit(r, w, path.p, r->config->audit.files);
    if (!r->audits.n && !path.n)
        report(r,
               "nothing is recorded: without audit.path or --audit FILE, revoked tokens that are "
               "valid again cannot be found");
    uint64_t damaged = cw_withdrawals_n_damaged(w), lost = cw_withdrawals_n_lost(w);
    if (damaged)
        fprintf(stderr, "causeway: damaged lines left out: %llu\n", (unsigned long long)damaged);
    if (lost)
        fprintf(stderr, "causeway: refusals, logins and changes that were not recorded: %llu\n",
                (unsigned long long)lost);
}

/* Not in the list, and not revoked: an operator has to decide. */
static void report_unsure(restored *r)
{
    for (const cw_revived *v = r->found.young; v; v = v->next)
        fprintf(stderr,
                "causeway: %s %lld of %.*s was created less than a minute after its number was "
                "revoked: if the clocks of servers differ, revoke it with: causeway %s %lld\n",
                kinds[v->kind].word, (long long)v->id, CW_STR_ARG(v->account),
                kinds[v->kind].command, (long long)v->id);
    for (const cw_revived *v = r->found.cut; v; v = v->next) {
        r->is_incomplete = true;
        (void)cw_cli_failure("a client was denied at %.*s, and the audit has only the beginning of "
                             "its id; find it and deny it again: %.*s",
                             CW_STR_ARG(v->when), CW_STR_ARG(v->name));
    }
}

/* ---- the database ---- */

static cw_code open_database(const cw_config *config, cw_db **ret, cw_err *err)
{
    cw_db_opts opts = cw_database_opts(config, CW_CLI_STORE_BUSY_MS);
    cw_code rc = config->store.path.n ? cw_cli_become_owner(config->store.path.p, err) : CW_OK;
    return rc ? rc : cw_db_open(&opts, ret, err);
}

static cw_code find(restored *r, cw_err *err)
{
    cw_db *db = NULL;
    cw_withdrawals *w = NULL;
    cw_code rc = open_database(r->config, &db, err);
    /* First: the audit may be long, and a revived token counts until it is revoked. */
    if (!rc)
        rc = cw_db_begin_epoch(db, err);
    if (!rc)
        rc = cw_withdrawals_new(&w, err);
    if (!rc)
        read_audits(r, w);
    if (!rc)
        rc = cw_revived_find(w, db, r->config, &r->arena, &r->found, err);
    cw_withdrawals_free(w);
    cw_db_close(db);
    for (const cw_revived *v = r->found.sure; v; v = v->next)
        ++*(kinds[v->kind].method ? &r->n : &r->n_passwords);
    return rc;
}

/* ---- once more ---- */

static bool has_role(cw_revived_kind kind)
{
    return kind == CW_REVIVED_ACCOUNT_ROLE || kind == CW_REVIVED_PERMISSION ||
           kind == CW_REVIVED_ROLE;
}

static void write_params(cw_json_writer *w, const void *ctx)
{
    const cw_revived *v = ctx;
    if (v->kind <= CW_REVIVED_SESSION)
        cw_json_add_i64_member(w, CW_STR("id"), v->id);
    if (v->kind == CW_REVIVED_CLIENT || v->kind == CW_REVIVED_DENIAL)
        cw_json_add_string_member(w, CW_STR("id"), v->name);
    if (v->kind >= CW_REVIVED_ACCOUNT_ROLE && v->kind <= CW_REVIVED_ACCOUNT)
        cw_json_add_string_member(w, CW_STR("name"), v->account);
    if (has_role(v->kind))
        cw_json_add_string_member(w, CW_STR("role"), v->name);
    if (v->kind == CW_REVIVED_PERMISSION)
        cw_json_add_string_member(w, CW_STR("permission"), v->permission);
}

/* The target as the command writes it into the audit. */
static void add_target(cw_buf *out, const cw_revived *v)
{
    if (v->kind <= CW_REVIVED_SESSION) {
        cw_buf_printf(out, "%lld", (long long)v->id);
        return;
    }
    cw_buf_add(out, v->account);
    if (v->kind == CW_REVIVED_ACCOUNT_ROLE)
        cw_buf_add_char(out, ' ');
    cw_buf_add(out, v->name);
    if (v->kind == CW_REVIVED_PERMISSION)
        cw_buf_add_char(out, ' ');
    cw_buf_add(out, v->permission);
}

static bool revoke_one(restored *r, cw_cli_admin *a, const cw_revived *v)
{
    const cw_json *result = NULL;
    cw_err err = {0};
    CW_CLEANUP(cw_buf_done) cw_buf target;
    cw_buf_init(&target, CW_CONFIG_MAX_BYTES);
    cw_code rc = cw_cli_admin_try(a, kinds[v->kind].method, write_params, v, &result, &err);
    add_target(&target, v);
    cw_cli_record(r->config, kinds[v->kind].command, cw_buf_str(&target), !rc);
    if (rc)
        report(r, err.msg);
    return !rc;
}

/* Alone, as the other commands of the group: a server may not have noticed the restore yet. */
static int revoke_all(restored *r)
{
    cw_cli_admin a;
    size_t i = 0;
    r->was_revoked = cw_arena_calloc(&r->arena, r->n + r->n_passwords + 1, sizeof *r->was_revoked);
    if (!r->was_revoked)
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    int code = cw_cli_admin_open_alone(r->config_path, &a);
    if (code >= 0)
        return code;
    for (const cw_revived *v = r->found.sure; v; v = v->next, i++) {
        r->was_revoked[i] = kinds[v->kind].method && revoke_one(r, &a, v);
        r->n_revoked += r->was_revoked[i];
    }
    cw_cli_admin_close(&a);
    return -1;
}

/* ---- output ---- */

static void add_text_member(cw_json_writer *w, const char *name, cw_str text)
{
    cw_json_add_key(w, cw_str_from(name));
    if (text.n)
        cw_json_add_string(w, text);
    else
        cw_json_add_null(w);
}

static void add_object(const restored *r, cw_json_writer *w, const cw_revived *v, size_t i)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("kind"), cw_str_from(kinds[v->kind].word));
    cw_json_add_key(w, CW_STR("id"));
    if (v->id)
        cw_json_add_i64(w, v->id);
    else
        cw_json_add_null(w);
    add_text_member(w, "account", v->account);
    add_text_member(w, "name", v->name);
    if (v->kind == CW_REVIVED_PERMISSION)
        add_text_member(w, "permission", v->permission);
    cw_json_add_string_member(w, CW_STR("revoked"), v->when);
    add_text_member(w, "by", v->by);
    if (r->was_revoked)
        cw_json_add_bool_member(w, CW_STR("revoked_again"), r->was_revoked[i]);
    cw_json_close(w);
}

static void add_row(cw_cli_table *t, const cw_revived *v)
{
    CW_CLEANUP(cw_buf_done) cw_buf name;
    cw_buf_init(&name, CW_CONFIG_MAX_BYTES);
    cw_buf_add(&name, v->name);
    if (v->permission.n)
        cw_buf_add(&name, CW_STR(": "));
    cw_buf_add(&name, v->permission);
    cw_cli_table_add(t, cw_str_from(kinds[v->kind].word));
    if (v->id)
        cw_cli_table_add_number(t, v->id);
    else
        cw_cli_table_add(t, CW_STR(""));
    cw_cli_table_add(t, v->account);
    cw_cli_table_add(t, cw_buf_str(&name));
    cw_cli_table_add(t, v->when);
    cw_cli_table_add(t, v->by);
}

static void add_list(const restored *r, cw_buf *out)
{
    static const cw_cli_column columns[] = {{"KIND", 13, false},    {"ID", 5, true},
                                            {"ACCOUNT", 20, false}, {"NAME", 20, false},
                                            {"REVOKED", 24, false}, {"BY", 0, false}};
    cw_cli_table t;
    size_t i = 0;
    cw_cli_table_open(&t, out, r->json, columns, CW_COUNT(columns));
    for (const cw_revived *v = r->found.sure; v; v = v->next, i++) {
        if (r->json)
            add_object(r, &t.json, v, i);
        else
            add_row(&t, v);
    }
    cw_cli_table_close(&t);
}

static int print(const restored *r)
{
    cw_buf out;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    if (!r->json) {
        cw_buf_add(&out, CW_STR("all servers verify all callers again\n"));
        if (!r->found.sure && !r->is_incomplete)
            cw_buf_add(&out, CW_STR("no right that the audit records as revoked is valid again\n"));
        if (r->found.sure)
            cw_buf_add(&out, CW_STR("revoked, and valid again:\n"));
    }
    if (r->json || r->found.sure)
        add_list(r, &out);
    if (r->n_passwords && !r->json)
        cw_buf_add(&out, CW_STR("set the passwords again with: causeway account password NAME\n"));
    if (r->n && !r->json && r->revoke)
        cw_buf_printf(&out, "revoked once more: %zu of %zu\n", r->n_revoked, r->n);
    if (r->n && !r->json && !r->revoke)
        cw_buf_add(&out, CW_STR("the same command with --revoke revokes them once more\n"));
    return cw_cli_print_buf(&out);
}

/* ---- the command ---- */

static int run(restored *r)
{
    cw_err err = {0};
    int code = -1;
    if (find(r, &err))
        return cw_cli_failure("%s", err.msg);
    report_unsure(r);
    if (!r->since[0])
        fprintf(stderr, "causeway: changed passwords are listed with --since TIME, the time of the "
                        "backup\n");
    if (r->revoke && r->found.sure)
        code = revoke_all(r);
    int printed = print(r);
    if (code >= 0)
        return code;
    return printed ? printed : r->is_incomplete ? CW_EXIT_FAILURE : CW_EXIT_OK;
}

int cw_cli_store_restored(int argc, char **argv)
{
    restored r = {.audits = {.max = MAX_AUDITS}};
    const cw_cli_option options[] = {
        CW_CLI_CONFIG_OPTION(&r.config_path),
        {"revoke", 0, CW_CLI_FLAG, &r.revoke, NULL, "revoke once more what is listed"},
        {"since", 's', CW_CLI_TEXT, &r.since_text, "TIME",
         "the time of the backup: 2026-11-15T08:00:00Z, or an\n"
         "age such as 90m or 7d; older records are not read"},
        {"audit", 0, CW_CLI_TEXTS, &r.audits, "FILE",
         "read this audit instead of audit.path; repeat it for\n"
         "each server that shares the database"},
        CW_CLI_JSON_OPTION(&r.json),
        {0},
    };
    const cw_cli_spec spec = {
        "store restored", "",
        "Mark the database as restored from a backup, while servers run: they read all\n"
        "rights again within a second. Then list the rights that the audit records as\n"
        "revoked and that are valid again: tokens, grants, sessions, accounts, roles and\n"
        "OAuth clients. With --since, accounts with an old password too.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code >= 0)
        return code;
    if (r.since_text && !cw_admin_parse_since(cw_str_from(r.since_text), r.since))
        return cw_cli_usage("not a time: %s; write 2026-11-15T08:00:00Z, 90m or 7d", r.since_text);
    code = cw_cli_store_load(r.config_path, &r.config);
    if (code >= 0)
        return code;
    cw_arena_init(&r.arena, LIST_MAX);
    code = run(&r);
    cw_arena_done(&r.arena);
    cw_config_unref(r.config);
    return code;
}
