/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/temp_db.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "store/db.h"
#include "store/seal_key.h"
#include "store/task.h"
#include "support/oom.h"

static cw_err err;

static cw_db *open_db(void)
{
    cw_db *db = NULL;
    cw_db_opts opts = {TEMP_DB, .may_create = true, .busy_ms = 50};
    assert_int_equal(cw_db_open(&opts, &db, &err), CW_OK);
    return db;
}

static int64_t add_account(cw_db *db, const char *name)
{
    int64_t id = 0;
    cw_account account = {.name = cw_str_from(name),
                          .password = CW_STR("hash"),
                          .language = CW_STR("de"),
                          .created = 5};
    assert_int_equal(cw_db_add_account(db, &account, NULL, 0, &id, &err), CW_OK);
    return id;
}

static cw_code join(cw_str text, void *ctx, cw_err *e)
{
    char *out = ctx;
    (void)e;
    snprintf(out + strlen(out), 200 - strlen(out), "%.*s|", CW_STR_ARG(text));
    return CW_OK;
}

/* ---- what it does ---- */

TEST(a_new_database_is_for_its_owner_alone)
{
    struct stat st;
    cw_db *db = open_db();
    add_account(db, "alice");
    char wal[128];
    snprintf(wal, sizeof wal, "%s-wal", temp_db_path);
    assert_int_equal(stat(temp_db_path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(wal, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    cw_db_close(db);
}

TEST(an_account_is_found_by_its_exact_name)
{
    cw_db *db = open_db();
    cw_arena arena;
    cw_arena_init(&arena, 65536);
    int64_t id = add_account(db, "alice");
    assert_int_equal(id, 1);
    cw_account *found = NULL;
    assert_int_equal(cw_db_find_account(db, CW_STR("alice"), &arena, &found, &err), CW_OK);
    assert_non_null(found);
    assert_int_equal(found->id, id);
    assert_true(cw_str_is(found->password, "hash"));
    assert_true(cw_str_is(found->language, "de"));
    assert_int_equal(found->created, 5);
    assert_false(found->is_blocked);
    static const cw_str others[] = {CW_STR_INIT("Alice"),    CW_STR_INIT("alice "),
                                    CW_STR_INIT(""),         CW_STR_INIT("' OR 1=1 --"),
                                    CW_STR_INIT("alice\0x"), CW_STR_INIT("%")};
    for (size_t i = 0; i < CW_COUNT(others); i++) {
        assert_int_equal(cw_db_find_account(db, others[i], &arena, &found, &err), CW_OK);
        assert_null(found);
    }
    cw_arena_done(&arena);
    cw_db_close(db);
}

TEST(names_are_unique_and_numbers_are_not_used_again)
{
    int64_t id;
    cw_db *db = open_db();
    add_account(db, "alice");
    cw_account again = {.name = CW_STR("alice")};
    assert_int_equal(cw_db_add_account(db, &again, NULL, 0, &id, &err), CW_PARAMS);
    assert_string_equal(err.msg, "account 'alice' exists already");
    assert_int_equal(cw_db_remove_account(db, CW_STR("alice"), &err), CW_OK);
    assert_int_equal(cw_db_remove_account(db, CW_STR("alice"), &err), CW_NOTFOUND);
    assert_true(add_account(db, "alice") > 1);
    cw_db_close(db);
}

TEST(an_account_comes_with_all_its_roles_or_not_at_all)
{
    static const cw_str roles[] = {CW_STR_INIT("a"), CW_STR_INIT("b"), CW_STR_INIT("a")};
    char joined[200] = "";
    cw_account bob = {.name = CW_STR("bob")}, carol = {.name = CW_STR("carol")}, *found;
    cw_arena arena;
    int64_t id;
    cw_db *db = open_db();
    cw_arena_init(&arena, 65536);
    assert_int_equal(cw_db_add_account(db, &bob, roles, 3, &id, &err), CW_OK);
    assert_int_equal(cw_db_each_role_of(db, id, join, joined, &err), CW_OK);
    assert_string_equal(joined, "a|b|");
    if (temp_db_is_server())
        temp_db_run("ALTER TABLE account_role ADD CHECK (role <> 'b') NOT VALID");
    else
        temp_db_run("CREATE TRIGGER t BEFORE INSERT ON account_role WHEN NEW.role = 'b'"
                    " BEGIN SELECT RAISE(ABORT, 'no'); END");
    assert_int_equal(cw_db_add_account(db, &carol, roles, 3, &id, &err), CW_PARAMS);
    assert_int_equal(cw_db_find_account(db, CW_STR("carol"), &arena, &found, &err), CW_OK);
    assert_null(found);
    cw_arena_done(&arena);
    cw_db_close(db);
}

TEST(an_account_is_changed_by_name)
{
    cw_db *db = open_db();
    cw_arena arena;
    cw_account *found;
    cw_arena_init(&arena, 65536);
    add_account(db, "alice");
    assert_int_equal(cw_db_block_account(db, CW_STR("alice"), true, &err), CW_OK);
    assert_int_equal(cw_db_set_password(db, CW_STR("alice"), CW_STR(""), &err), CW_OK);
    assert_int_equal(cw_db_find_account(db, CW_STR("alice"), &arena, &found, &err), CW_OK);
    assert_true(found->is_blocked);
    assert_int_equal(found->password.n, 0);
    assert_int_equal(cw_db_block_account(db, CW_STR("bob"), true, &err), CW_NOTFOUND);
    assert_string_equal(err.msg, "no account 'bob'");
    assert_int_equal(cw_db_set_password(db, CW_STR("bob"), CW_STR("x"), &err), CW_NOTFOUND);
    cw_arena_done(&arena);
    cw_db_close(db);
}

TEST(permissions_come_from_all_roles_of_an_account)
{
    char all[200] = "", roles[200] = "";
    cw_db *db = open_db();
    int64_t id = add_account(db, "alice");
    assert_int_equal(cw_db_add_role(db, CW_STR("editor"), &err), CW_OK);
    assert_int_equal(cw_db_add_role(db, CW_STR("other"), &err), CW_OK);
    assert_int_equal(cw_db_add_role(db, CW_STR("editor"), &err), CW_PARAMS);
    assert_int_equal(cw_db_allow(db, CW_STR("editor"), CW_STR("edit"), true, &err), CW_OK);
    assert_int_equal(cw_db_allow(db, CW_STR("editor"), CW_STR("edit"), true, &err), CW_DONE);
    assert_int_equal(cw_db_allow(db, CW_STR("other"), CW_STR("no"), true, &err), CW_OK);
    assert_int_equal(cw_db_allow(db, CW_STR("authenticated"), CW_STR("see"), true, &err), CW_OK);
    assert_int_equal(cw_db_allow(db, CW_STR("nobody"), CW_STR("see"), true, &err), CW_NOTFOUND);
    assert_int_equal(cw_db_grant(db, CW_STR("alice"), CW_STR("editor"), true, &err), CW_OK);
    assert_int_equal(cw_db_grant(db, CW_STR("alice"), CW_STR("editor"), true, &err), CW_DONE);
    assert_int_equal(cw_db_grant(db, CW_STR("alice"), CW_STR("configured"), true, &err), CW_OK);
    assert_int_equal(cw_db_grant(db, CW_STR("bob"), CW_STR("editor"), true, &err), CW_NOTFOUND);
    assert_int_equal(cw_db_each_permission_of(db, id, join, all, &err), CW_OK);
    assert_true(strcmp(all, "see|edit|") == 0 || strcmp(all, "edit|see|") == 0);
    assert_int_equal(cw_db_each_role_of(db, id, join, roles, &err), CW_OK);
    assert_string_equal(roles, "configured|editor|");
    assert_int_equal(cw_db_remove_role(db, CW_STR("editor"), &err), CW_OK);
    all[0] = roles[0] = 0;
    assert_int_equal(cw_db_each_permission_of(db, id, join, all, &err), CW_OK);
    assert_string_equal(all, "see|");
    assert_int_equal(cw_db_each_role_of(db, id, join, roles, &err), CW_OK);
    assert_string_equal(roles, "configured|");
    cw_db_close(db);
}

TEST(the_built_in_roles_stay)
{
    char roles[200] = "";
    cw_db *db = open_db();
    assert_int_equal(cw_db_remove_role(db, CW_STR("anonymous"), &err), CW_PARAMS);
    assert_int_equal(cw_db_remove_role(db, CW_STR("authenticated"), &err), CW_PARAMS);
    assert_int_equal(cw_db_remove_role(db, CW_STR("nope"), &err), CW_NOTFOUND);
    assert_int_equal(cw_db_each_role(db, join, roles, &err), CW_OK);
    assert_string_equal(roles, "anonymous|authenticated|");
    cw_db_close(db);
}

static cw_code count_token(const cw_token *token, void *ctx, cw_err *e)
{
    (void)e;
    assert_true(cw_str_is(token->account_name, "alice"));
    ++*(int *)ctx;
    return CW_OK;
}

TEST(tokens_belong_to_accounts_and_go_with_them)
{
    char scopes[200] = "";
    int n = 0;
    int64_t id = 0;
    cw_arena arena;
    cw_token *found;
    cw_account *owner;
    cw_db *db = open_db();
    cw_token token = {.account = add_account(db, "alice"), .name = CW_STR("ci"), .expires = 99};
    static const cw_str names[] = {CW_STR_INIT("b"), CW_STR_INIT("a"), CW_STR_INIT("b")};
    cw_arena_init(&arena, 65536);
    memset(token.hash, 7, sizeof token.hash);
    assert_int_equal(cw_db_add_token(db, &token, names, 3, &id, &err), CW_OK);
    assert_int_equal(cw_db_add_token(db, &token, names, 3, &id, &err), CW_PARAMS);
    assert_int_equal(cw_db_find_token(db, token.hash, &arena, &found, &owner, &err), CW_OK);
    assert_int_equal(found->expires, 99);
    assert_int_equal(found->revoked, 0);
    assert_memory_equal(found->hash, token.hash, sizeof token.hash);
    assert_true(cw_str_is(owner->name, "alice"));
    assert_int_equal(cw_db_each_scope_of(db, id, join, scopes, &err), CW_OK);
    assert_string_equal(scopes, "a|b|");
    assert_int_equal(cw_db_revoke_token(db, id, 5, &err), CW_OK);
    assert_int_equal(cw_db_revoke_token(db, id, 6, &err), CW_DONE);
    assert_int_equal(cw_db_revoke_token(db, 77, 6, &err), CW_NOTFOUND);
    assert_int_equal(cw_db_each_token(db, token.account, count_token, &n, &err), CW_OK);
    assert_int_equal(cw_db_each_token(db, 0, count_token, &n, &err), CW_OK);
    assert_int_equal(n, 2);
    assert_int_equal(cw_db_remove_account(db, CW_STR("alice"), &err), CW_OK);
    assert_int_equal(cw_db_find_token(db, token.hash, &arena, &found, &owner, &err), CW_OK);
    assert_null(found);
    assert_null(owner);
    /* Without its account there is none. */
    assert_int_equal(cw_db_add_token(db, &token, names, 3, &id, &err), CW_PARAMS);
    cw_arena_done(&arena);
    cw_db_close(db);
}

static void count_change(int64_t account, void *ctx)
{
    (void)account;
    ++*(int *)ctx;
}

static void assert_last_use(cw_db *db, const cw_token *token, int64_t used, const char *from)
{
    cw_arena arena;
    cw_token *found;
    cw_account *owner;
    cw_arena_init(&arena, 65536);
    assert_int_equal(cw_db_find_token(db, token->hash, &arena, &found, &owner, &err), CW_OK);
    assert_int_equal(found->used, used);
    assert_true(cw_str_is(found->used_from, from));
    cw_arena_done(&arena);
}

TEST(the_last_use_of_a_token_is_kept_and_is_no_change_of_rights)
{
    int n = 0;
    int64_t id = 0;
    cw_db_reading reading = {0};
    cw_db *db = open_db();
    cw_token token = {.account = add_account(db, "alice"), .name = CW_STR("ci")};
    assert_int_equal(cw_db_add_token(db, &token, NULL, 0, &id, &err), CW_OK);
    assert_last_use(db, &token, 0, "");
    (void)!cw_db_read_changes(db, &reading, count_change, &n, &err);
    n = 0;
    const cw_token_use uses[] = {
        {.token = id, .used = 2000, .address = "192.0.2.7"},
        {.token = id, .used = 1000, .address = "192.0.2.8"},
        {.token = id + 1000, .used = 3000, .address = "192.0.2.9"}, /* no such token */
    };
    assert_int_equal(cw_db_add_token_uses(db, uses, CW_COUNT(uses), &err), CW_OK);
    assert_last_use(db, &token, 2000, "192.0.2.7");
    const cw_token_use later = {.token = id, .used = 4000, .address = "2001:db8::1"};
    assert_int_equal(cw_db_add_token_uses(db, &later, 1, &err), CW_OK);
    assert_last_use(db, &token, 4000, "2001:db8::1");
    assert_int_equal(cw_db_read_changes(db, &reading, count_change, &n, &err), CW_DONE);
    assert_int_equal(n, 0);
    assert_int_equal(cw_db_remove_account(db, CW_STR("alice"), &err), CW_OK);
    cw_db_close(db);
}

static cw_code copy_task(const cw_db_task *task, void *ctx, cw_err *e)
{
    char *out = ctx;
    (void)e;
    snprintf(out + strlen(out), 200 - strlen(out), "%lld %.*s|", (long long)task->status,
             CW_STR_ARG(task->payload));
    return CW_OK;
}

/* As after a connection that was lost in a commit, whose outcome nobody knows. */
TEST(a_task_that_is_added_again_is_one_row_and_its_end_stays)
{
    char out[200] = "";
    cw_db *db = open_db();
    cw_db_task task = {.id = CW_STR("t"),
                       .owner = CW_STR("o"),
                       .caller = CW_STR("c"),
                       .tool = CW_STR("tool"),
                       .method = CW_STR("m"),
                       .process = CW_STR("p"),
                       .created = 5,
                       .expires = INT64_C(9000000000000)};
    assert_int_equal(cw_db_add_task(db, &task, &err), CW_OK);
    assert_int_equal(cw_db_add_task(db, &task, &err), CW_OK);
    task.status = 2;
    task.payload = CW_STR("{}");
    task.ended = 6;
    assert_int_equal(cw_db_add_task(db, &task, &err), CW_OK);
    task.status = 3;
    task.payload = CW_STR("late");
    assert_int_equal(cw_db_add_task(db, &task, &err), CW_OK);
    assert_int_equal(cw_db_each_task(db, 0, copy_task, out, &err), CW_OK);
    assert_string_equal(out, "2 {}|");
    cw_db_close(db);
}

static cw_code stop(cw_str text, void *ctx, cw_err *e)
{
    (void)text;
    ++*(int *)ctx;
    return cw_fail(e, CW_LIMIT, "enough");
}

TEST(an_enumeration_ends_with_the_code_of_its_callback)
{
    int n = 0;
    cw_db *db = open_db();
    assert_int_equal(cw_db_each_role(db, stop, &n, &err), CW_LIMIT);
    assert_string_equal(err.msg, "enough");
    assert_int_equal(n, 1);
    cw_db_close(db);
}

/* A database of the first version is brought up to date with what is in it. */
#define DROP_NOTES(table)                                                                          \
    "DROP TRIGGER change_" table "_INSERT; DROP TRIGGER change_" table                             \
    "_UPDATE; DROP TRIGGER change_" table "_DELETE;"

TEST(an_older_database_is_brought_up_to_date)
{
    cw_db *db = open_db();
    int64_t id = add_account(db, "alice");
    cw_db_close(db);
    temp_db_run("DROP TRIGGER failure_of_account; DROP TRIGGER failure_of_old_account;"
                "DROP TABLE failure;");
    temp_db_run("DROP TABLE approval; DROP TABLE token_use; DROP TABLE webhook; DROP TABLE letter; "
                "DROP TABLE generation; "
                "DROP TABLE change; DROP "
                "TABLE replica;"
                "DROP TABLE oauth_key; DROP TABLE task; DROP TABLE oauth_device;"
                "DROP TABLE oauth_assertion; DROP TRIGGER oauth_device_of_account;");
    temp_db_run("DROP TABLE oauth_token; DROP TABLE oauth_grant; DROP TABLE oauth_code;"
                "DROP TABLE oauth_client; DROP TRIGGER oauth_of_account;"
                "DROP TABLE secret; DROP TABLE session; DROP TRIGGER session_of_account;"
                "DROP TRIGGER session_of_new_role; DROP TRIGGER session_of_old_role;");
    temp_db_run(DROP_NOTES("account") DROP_NOTES("role") DROP_NOTES("role_permission") DROP_NOTES(
        "account_role") DROP_NOTES("token") DROP_NOTES("token_scope") "PRAGMA user_version = 1");
    db = open_db();
    char roles[200] = "";
    assert_int_equal(cw_db_grant(db, CW_STR("alice"), CW_STR("editor"), true, &err), CW_OK);
    assert_int_equal(cw_db_each_role_of(db, id, join, roles, &err), CW_OK);
    assert_string_equal(roles, "editor|");
    cw_db_close(db);
}

TEST(changes_of_others_are_seen)
{
    int64_t before, after;
    cw_db *db = open_db(), *other = open_db();
    assert_int_equal(cw_db_data_version(db, &before, &err), CW_OK);
    assert_int_equal(cw_db_data_version(db, &after, &err), CW_OK);
    assert_int_equal(before, after);
    add_account(other, "alice");
    assert_int_equal(cw_db_data_version(db, &after, &err), CW_OK);
    assert_int_not_equal(before, after);
    cw_db_close(db);
    cw_db_close(other);
}

static cw_db_seal_key seal_key(int64_t number, unsigned char byte)
{
    cw_db_seal_key key = {.number = number, .created = number * 100, .begins = number * 1000};
    memset(key.key, byte, sizeof key.key);
    return key;
}

TEST(the_first_key_of_the_seal_is_made_once_and_shared)
{
    const cw_db_seal_key ours = seal_key(1, 1), theirs = seal_key(1, 2);
    cw_db_seal_key got[CW_DB_SEAL_KEYS];
    size_t n = 9;
    cw_db *db = open_db(), *other = open_db();
    assert_int_equal(cw_db_read_seal_keys(db, got, &n, &err), CW_OK);
    assert_int_equal(n, 0);
    assert_int_equal(cw_db_add_seal_key(other, &theirs, &err), CW_OK);
    assert_int_equal(cw_db_add_seal_key(db, &ours, &err), CW_OK);
    assert_int_equal(cw_db_read_seal_keys(db, got, &n, &err), CW_OK);
    assert_int_equal(n, 1);
    assert_memory_equal(&got[0], &theirs, sizeof theirs);
    cw_db_close(other);
    cw_db_close(db);
    /* A row that was damaged is no key. */
    temp_db_run("UPDATE secret SET value = substr(value, 1, 1)");
    db = open_db();
    assert_int_equal(cw_db_read_seal_keys(db, got, &n, &err), CW_OK);
    assert_int_equal(n, 0);
    cw_db_close(db);
}

TEST(the_newest_keys_of_the_seal_are_read_and_others_see_them)
{
    cw_db_seal_key got[CW_DB_SEAL_KEYS];
    size_t n;
    int64_t before, after;
    cw_db *db = open_db(), *other = open_db();
    /* 10 comes after 9. */
    for (int64_t i = 1; i <= 11; i++) {
        const cw_db_seal_key key = seal_key(i, (unsigned char)i);
        assert_int_equal(cw_db_data_version(other, &before, &err), CW_OK);
        assert_int_equal(cw_db_begin(db, &err), CW_OK);
        assert_int_equal(cw_db_add_seal_key(db, &key, &err), CW_OK);
        assert_int_equal(cw_db_end(db, cw_db_remove_seal_keys(db, i - 3, &err), &err), CW_OK);
        assert_int_equal(cw_db_data_version(other, &after, &err), CW_OK);
        assert_int_not_equal(before, after);
        assert_int_equal(cw_db_read_seal_keys(other, got, &n, &err), CW_OK);
        assert_int_equal(n, i < 3 ? i : 3);
        assert_memory_equal(&got[0], &key, sizeof key);
        assert_int_equal(got[n - 1].number, i < 3 ? 1 : i - 2);
    }
    cw_db_close(other);
    cw_db_close(db);
    temp_db_run("DELETE FROM secret WHERE name = 'seal/11' OR name = 'seal/10'");
    temp_db_run("UPDATE secret SET name = 'seal/x' WHERE name = 'seal/9'");
    db = open_db();
    assert_int_equal(cw_db_read_seal_keys(db, got, &n, &err), CW_OK);
    assert_int_equal(n, 1); /* 8 was kept for this; the other name is none */
    assert_int_equal(got[0].number, 8);
    cw_db_close(db);
}

/* ---- faults ---- */

TEST(without_a_file_nothing_is_opened)
{
    cw_db *db = NULL;
    cw_db_opts opts = {TEMP_DB, .busy_ms = 50};
    assert_int_equal(cw_db_open(&opts, &db, &err), CW_NOTFOUND);
    assert_null(db);
    assert_int_not_equal(access(temp_db_path, F_OK), 0);
    opts.where = "/nonexistent/a.db";
    opts.may_create = true;
    assert_int_equal(cw_db_open(&opts, &db, &err), CW_IO);
}

TEST(a_file_of_somebody_else_is_left_alone)
{
    cw_db *db = NULL;
    cw_db_opts opts = {TEMP_DB, .busy_ms = 50};
    temp_db_run("CREATE TABLE theirs (x)");
    assert_int_equal(cw_db_open(&opts, &db, &err), CW_IO);
    assert_non_null(strstr(err.msg, "belongs to another program"));
    temp_db_run("INSERT INTO theirs VALUES (1)");
}

TEST(a_newer_database_is_refused)
{
    cw_db *db = open_db();
    cw_db_close(db);
    temp_db_run("PRAGMA user_version = 1000");
    cw_db_opts opts = {TEMP_DB, .busy_ms = 50};
    assert_int_equal(cw_db_open(&opts, &db, &err), CW_IO);
    assert_non_null(strstr(err.msg, "newer version"));
}

TEST(garbage_is_refused)
{
    cw_db *db = NULL;
    int fd = open(temp_db_path, O_WRONLY | O_CREAT, 0600);
    char junk[8192];
    memset(junk, 'x', sizeof junk);
    assert_int_equal(write(fd, junk, sizeof junk), sizeof junk);
    close(fd);
    cw_db_opts opts = {TEMP_DB, .may_create = true, .busy_ms = 50};
    assert_int_equal(cw_db_open(&opts, &db, &err), CW_IO);
    assert_non_null(strstr(err.msg, "not a database"));
}

TEST(a_damaged_page_is_an_error)
{
    cw_db *db = open_db();
    for (int i = 0; i < 200; i++) {
        char name[32];
        snprintf(name, sizeof name, "account %d", i);
        add_account(db, name);
    }
    cw_db_close(db);
    int fd = open(temp_db_path, O_RDWR);
    char junk[4096];
    memset(junk, 0xA5, sizeof junk);
    off_t size = lseek(fd, 0, SEEK_END);
    for (off_t at = 4096; at < size; at += 4096)
        assert_int_equal(pwrite(fd, junk, sizeof junk, at), sizeof junk);
    close(fd);
    cw_db_opts opts = {TEMP_DB, .busy_ms = 50};
    cw_arena arena;
    cw_account *found;
    cw_arena_init(&arena, 65536);
    cw_code rc = cw_db_open(&opts, &db, &err);
    if (!rc) {
        rc = cw_db_find_account(db, CW_STR("account 7"), &arena, &found, &err);
        cw_db_close(db);
    }
    assert_int_equal(rc, CW_IO);
    cw_arena_done(&arena);
}

static cw_code check(cw_db_health *ret)
{
    cw_db_opts opts = {TEMP_DB, .busy_ms = 50};
    return cw_db_check(&opts, ret, &err);
}

TEST(a_check_finds_version_and_damage_and_changes_nothing)
{
    cw_db_health health;
    assert_int_equal(check(&health), CW_NOTFOUND);
    cw_db_close(open_db());
    assert_int_equal(check(&health), CW_OK);
    assert_int_equal(health.version, health.newest);
    assert_string_equal(health.damage, "");
    temp_db_run("PRAGMA user_version = 1");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(check(&health), CW_OK);
        assert_int_equal(health.version, 1);
    }
    temp_db_run("PRAGMA user_version = 1000");
    assert_int_equal(check(&health), CW_IO);
    temp_db_run("PRAGMA user_version = 1; PRAGMA journal_mode = DELETE");
    assert_int_equal(truncate(temp_db_path, 8192), 0);
    assert_int_equal(check(&health), CW_OK);
    assert_string_not_equal(health.damage, "");
}

TEST(the_header_shows_whether_a_database_is_up_to_date)
{
    char beside[160];
    assert_false(cw_db_is_up_to_date(temp_db_path));
    cw_db_close(open_db());
    assert_true(cw_db_is_up_to_date(temp_db_path));
    snprintf(beside, sizeof beside, "%s-wal", temp_db_path);
    assert_int_equal(access(beside, F_OK), -1);
    temp_db_run("PRAGMA user_version = 1");
    assert_false(cw_db_is_up_to_date(temp_db_path));
    temp_db_run("PRAGMA user_version = 1000");
    assert_false(cw_db_is_up_to_date(temp_db_path));
    assert_int_equal(truncate(temp_db_path, 20), 0);
    assert_false(cw_db_is_up_to_date(temp_db_path));
}

TEST(a_removed_or_replaced_file_is_noticed)
{
    char away[128];
    cw_db *db = open_db();
    snprintf(away, sizeof away, "%s.away", temp_db_path);
    assert_true(cw_db_is_current(db));
    assert_int_equal(rename(temp_db_path, away), 0);
    assert_false(cw_db_is_current(db));
    close(open(temp_db_path, O_WRONLY | O_CREAT, 0600));
    assert_false(cw_db_is_current(db));
    assert_int_equal(rename(away, temp_db_path), 0);
    assert_true(cw_db_is_current(db));
    cw_db_close(db);
}

TEST(a_writer_holds_up_writers_only)
{
    int64_t id;
    cw_arena arena;
    cw_account *found;
    cw_db *db = open_db();
    sqlite3 *other;
    cw_arena_init(&arena, 65536);
    add_account(db, "alice");
    assert_int_equal(sqlite3_open(temp_db_path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    cw_account bob = {.name = CW_STR("bob")};
    assert_int_equal(cw_db_add_account(db, &bob, NULL, 0, &id, &err), CW_TIMEOUT);
    assert_int_equal(cw_db_grant(db, CW_STR("alice"), CW_STR("r"), true, &err), CW_TIMEOUT);
    assert_int_equal(cw_db_find_account(db, CW_STR("alice"), &arena, &found, &err), CW_OK);
    assert_non_null(found);
    assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(cw_db_add_account(db, &bob, NULL, 0, &id, &err), CW_OK);
    sqlite3_close(other);
    cw_arena_done(&arena);
    cw_db_close(db);
}

TEST(a_full_disk_loses_nothing)
{
    struct rlimit old, small = {.rlim_cur = 262144};
    cw_arena arena;
    cw_account *found;
    cw_code rc = CW_OK;
    int n = 0;
    cw_db *db = open_db();
    cw_arena_init(&arena, 65536);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    while (!rc && n < 10000) {
        char name[32];
        int64_t id;
        snprintf(name, sizeof name, "account %d", n);
        cw_account account = {.name = cw_str_from(name), .password = CW_STR("0123456789abcdef")};
        rc = cw_db_add_account(db, &account, NULL, 0, &id, &err);
        n += !rc;
    }
    assert_int_equal(rc, CW_IO);
    assert_true(n > 0);
    char last[32];
    snprintf(last, sizeof last, "account %d", n - 1);
    assert_int_equal(cw_db_find_account(db, cw_str_from(last), &arena, &found, &err), CW_OK);
    assert_non_null(found);
    setrlimit(RLIMIT_FSIZE, &old);
    add_account(db, "room again");
    cw_db_close(db);
    db = open_db();
    assert_int_equal(cw_db_find_account(db, cw_str_from(last), &arena, &found, &err), CW_OK);
    assert_non_null(found);
    cw_arena_done(&arena);
    cw_db_close(db);
}

/* ---- memory ---- */

static void use_all(void *ctx)
{
    cw_db *db = NULL;
    cw_arena arena;
    cw_account *found = NULL;
    (void)ctx;
    cw_arena_init(&arena, 65536);
    cw_db_opts opts = {TEMP_DB, .busy_ms = 50};
    cw_code rc = cw_db_open(&opts, &db, &err);
    if (!rc)
        rc = cw_db_find_account(db, CW_STR("alice"), &arena, &found, &err);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    assert_true(rc == CW_NOMEM || found);
    if (oom_was_hit())
        assert_int_equal(rc, CW_NOMEM);
    cw_arena_done(&arena);
    cw_db_close(db);
}

TEST(every_failed_allocation_of_ours_is_reported)
{
    cw_db *db = open_db();
    add_account(db, "alice");
    cw_db_close(db);
    assert_true(oom_each(use_all, NULL) >= 2);
}

/* SQLite's own allocations: it is given an allocator that fails when told to. */
static sqlite3_mem_methods plain;
static int fail_in; /* 0: never */

static void *failing_malloc(int n)
{
    if (fail_in && --fail_in == 0)
        return NULL;
    return plain.xMalloc(n);
}

static void *failing_realloc(void *p, int n)
{
    if (fail_in && --fail_in == 0)
        return NULL;
    return plain.xRealloc(p, n);
}

static cw_code change_all(cw_db *db)
{
    int64_t id;
    cw_arena arena;
    cw_token *token_found;
    cw_account *found;
    cw_token token = {.account = 1, .name = CW_STR("t")};
    static const cw_str scopes[] = {CW_STR_INIT("a"), CW_STR_INIT("b")};
    cw_account bob = {.name = CW_STR("bob")};
    cw_arena_init(&arena, 65536);
    cw_code rc = cw_db_add_account(db, &bob, NULL, 0, &id, &err);
    if (!rc)
        rc = cw_db_grant(db, CW_STR("bob"), CW_STR("editor"), true, &err);
    if (!rc)
        rc = cw_db_add_token(db, &token, scopes, 2, &id, &err);
    if (!rc)
        rc = cw_db_find_token(db, token.hash, &arena, &token_found, &found, &err);
    if (!rc)
        rc = cw_db_revoke_token(db, id, 5, &err);
    if (!rc)
        rc = cw_db_remove_account(db, CW_STR("bob"), &err);
    cw_arena_done(&arena);
    return rc;
}

TEST(a_failed_allocation_inside_undoes_the_change)
{
    cw_db *db = open_db();
    add_account(db, "alice");
    cw_db_close(db);
    bool was_hit = true;
    for (int n = 1; was_hit && n < 5000; n++) {
        db = open_db();
        temp_db_run("DELETE FROM token; DELETE FROM account WHERE name = 'bob'");
        fail_in = n;
        cw_code rc = change_all(db);
        was_hit = fail_in == 0;
        fail_in = 0;
        /* Where SQLite can do without, it does. */
        assert_true(rc == CW_OK || rc == CW_NOMEM);
        cw_db_close(db);
        char roles[200] = "";
        db = open_db();
        assert_int_equal(cw_db_each_role_of(db, 1, join, roles, &err), CW_OK);
        cw_db_close(db);
    }
    assert_false(was_hit);
}

int main(void)
{
    sqlite3_mem_methods mine;
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain);
    mine = plain;
    mine.xMalloc = failing_malloc;
    mine.xRealloc = failing_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &mine);
#define T(name) cmocka_unit_test_setup_teardown(name, temp_db_setup, temp_db_teardown)
    const struct CMUnitTest tests[] = {
        T(an_account_is_found_by_its_exact_name),
        T(names_are_unique_and_numbers_are_not_used_again),
        T(an_account_comes_with_all_its_roles_or_not_at_all),
        T(an_account_is_changed_by_name),
        T(permissions_come_from_all_roles_of_an_account),
        T(the_built_in_roles_stay),
        T(tokens_belong_to_accounts_and_go_with_them),
        T(the_last_use_of_a_token_is_kept_and_is_no_change_of_rights),
        T(a_task_that_is_added_again_is_one_row_and_its_end_stays),
        T(an_enumeration_ends_with_the_code_of_its_callback),
        T(the_first_key_of_the_seal_is_made_once_and_shared),
        T(the_newest_keys_of_the_seal_are_read_and_others_see_them),
        T(changes_of_others_are_seen),
    };
    const struct CMUnitTest of_a_file[] = {
        T(a_new_database_is_for_its_owner_alone),
        T(an_older_database_is_brought_up_to_date),
        T(without_a_file_nothing_is_opened),
        T(a_file_of_somebody_else_is_left_alone),
        T(a_newer_database_is_refused),
        T(garbage_is_refused),
        T(a_damaged_page_is_an_error),
        T(a_check_finds_version_and_damage_and_changes_nothing),
        T(the_header_shows_whether_a_database_is_up_to_date),
        T(a_removed_or_replaced_file_is_noticed),
        T(a_writer_holds_up_writers_only),
        T(a_full_disk_loses_nothing),
        T(every_failed_allocation_of_ours_is_reported),
        T(a_failed_allocation_inside_undoes_the_change),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return temp_db_is_server() ? failed : failed + cmocka_run_group_tests(of_a_file, NULL, NULL);
}
