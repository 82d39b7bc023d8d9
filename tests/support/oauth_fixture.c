/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oauth_fixture.c - rows of an authorization server, made and read. */
#include "support/oauth_fixture.h"
#include "support/seal_fixture.h"

#include <sodium.h>

#include "store/stmt.h"

#define DAY_MS 86400000
#define VERIFIER "a-verifier-of-forty-three-characters-or-more"

static const cw_str uris[] = {CW_STR_INIT(OAUTH_REDIRECT)};
static const cw_str robot_scopes[] = {CW_STR_INIT("a"), CW_STR_INIT("b")};

void oauth_fixture_reopen(oauth_fixture *f)
{
    cw_db_opts opts = {TEMP_DB, .may_create = true, .busy_ms = 5000};
    cw_err err = {0};
    if (cw_db_open(&opts, &f->db, &err))
        fail_msg("%s", err.msg);
}

static void add_account(oauth_fixture *f)
{
    cw_account alice = {.name = CW_STR("alice"), .password = CW_STR("$none")};
    assert_int_equal(cw_db_add_account(f->db, &alice, NULL, 0, &f->account, NULL), CW_OK);
}

static cw_oauth_client client(const char *id)
{
    return (cw_oauth_client){.id = cw_str_from(id),
                             .name = cw_str_from(id),
                             .redirect_uris = uris,
                             .n_redirect_uris = 1,
                             .may_refresh = true};
}

void oauth_fixture_open(oauth_fixture *f)
{
    cw_seal_done(&f->seal); /* of the test before */
    *f = (oauth_fixture){.clients = {client("app"), client("other"), client("robot")}};
    cw_oauth_client *robot = &f->clients[2];
    robot->has_secret = true;
    crypto_hash_sha256(robot->secret, (const unsigned char *)OAUTH_SECRET, strlen(OAUTH_SECRET));
    robot->account = CW_STR("alice");
    robot->scopes = robot_scopes;
    robot->n_scopes = 2;
    f->settings = (cw_oauth_settings){.clients = f->clients,
                                      .n_clients = CW_COUNT(f->clients),
                                      .is_dynamic = true,
                                      .has_documents = true,
                                      .access_ms = 1800000,
                                      .idle_ms = (int64_t)14 * DAY_MS,
                                      .life_ms = (int64_t)90 * DAY_MS,
                                      .grace_ms = 60000,
                                      .grants = 5,
                                      .access_tokens = 1000};
    seal_fixture_init(&f->seal, CW_STR("the key of a server in a test"));
    f->settings.seal = &f->seal;
    assert_int_equal(cw_secret_init(NULL), CW_OK);
    oauth_fixture_reopen(f);
    add_account(f);
}

void oauth_fixture_close(oauth_fixture *f)
{
    cw_db_close(f->db);
    f->db = NULL;
}

void oauth_fixture_add_code(oauth_fixture *f, char code[CW_ACCESS_TOKEN_LEN + 1],
                            const char *client_id)
{
    unsigned char digest[CW_DIGEST];
    char challenge[64];
    crypto_hash_sha256(digest, (const unsigned char *)VERIFIER, strlen(VERIFIER));
    sodium_bin2base64(challenge, sizeof challenge, digest, sizeof digest,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    cw_db_oauth_code row = {.account = f->account,
                            .client = cw_str_from(client_id),
                            .record = CW_STR("{\"kind\":\"registered\",\"id\":\"app\"}"),
                            .redirect_uri = CW_STR(OAUTH_REDIRECT),
                            .challenge = cw_str_from(challenge),
                            .resource = CW_STR("/mcp"),
                            .scopes = CW_STR("a b"),
                            .may_refresh = true,
                            .expires = OAUTH_NOW + CW_OAUTH_CODE_MS};
    assert_int_equal(cw_access_token_make(CW_CODE_PREFIX, code, NULL), CW_OK);
    assert_true(cw_access_token_digest(CW_CODE_PREFIX, cw_str_from(code), row.hash));
    assert_int_equal(cw_db_begin(f->db, NULL), CW_OK);
    cw_code rc = cw_db_add_oauth_code(f->db, &row, OAUTH_NOW, NULL);
    assert_int_equal(cw_db_end(f->db, rc, NULL), CW_OK);
}

cw_oauth_token_request oauth_fixture_exchange(const char *code)
{
    return (cw_oauth_token_request){.type = CW_OAUTH_AUTHORIZATION_CODE,
                                    .client_id = CW_STR("app"),
                                    .code = cw_str_from(code),
                                    .code_verifier = CW_STR(VERIFIER),
                                    .redirect_uri = CW_STR(OAUTH_REDIRECT),
                                    .resource = CW_STR("/mcp")};
}

cw_oauth_token_request oauth_fixture_refresh(const char *token)
{
    return (cw_oauth_token_request){.type = CW_OAUTH_REFRESH_TOKEN,
                                    .client_id = CW_STR("app"),
                                    .refresh_token = cw_str_from(token)};
}

cw_oauth_tokens oauth_fixture_ask(oauth_fixture *f, const cw_oauth_token_request *r, int64_t now)
{
    cw_oauth_tokens tokens;
    cw_err err = {0};
    cw_arena arena;
    cw_arena_init(&arena, 1u << 20);
    if (cw_oauth_exchange(f->db, &f->settings, r, now, &arena, &tokens, &err))
        fail_msg("%s", err.msg);
    cw_arena_done(&arena);
    tokens.scope = tokens.account_name = tokens.client_id = (cw_str){NULL, 0};
    return tokens;
}

/* Rows of one statement, whose first columns are hashes. */
static void dump_rows(cw_db *db, const char *sql, int n_hashes, int n_columns, cw_buf *out)
{
    cw_db_query q;
    cw_stmt_open(&q, db, sql);
    while (cw_stmt_step(&q)) {
        unsigned char hash[CW_DIGEST];
        for (int i = 0; i < n_hashes; i++) {
            bool is_there = cw_stmt_hash(&q, i, hash);
            cw_buf_add_char(out, is_there ? '+' : '-');
            for (size_t j = 0; j < sizeof hash && is_there; j++)
                cw_buf_printf(out, "%02x", hash[j]);
            cw_buf_add_char(out, ' ');
        }
        for (int i = n_hashes; i < n_columns; i++)
            cw_buf_printf(out, "%lld ", (long long)cw_stmt_i64(&q, i));
        cw_buf_add_char(out, '\n');
    }
    assert_int_equal(cw_stmt_close(&q, NULL), CW_OK);
}

void oauth_fixture_dump(oauth_fixture *f, cw_buf *out)
{
    out->n = 0;
    dump_rows(f->db, "SELECT hash, given FROM oauth_code ORDER BY hash", 1, 2, out);
    cw_buf_add(out, CW_STR("grants\n"));
    dump_rows(f->db,
              "SELECT secret, id, generation, rotated, used, expires FROM oauth_grant ORDER BY id",
              1, 6, out);
    cw_buf_add(out, CW_STR("tokens\n"));
    dump_rows(f->db, "SELECT hash, given_by, expires FROM oauth_token ORDER BY hash", 1, 3, out);
    assert_int_equal(out->code, CW_OK);
}

bool oauth_fixture_has_token(oauth_fixture *f, const char *access_token)
{
    unsigned char hash[CW_DIGEST];
    cw_db_oauth_token *token = NULL;
    cw_account *account = NULL;
    cw_arena arena;
    cw_arena_init(&arena, 1u << 16);
    assert_true(cw_access_token_digest(CW_ACCESS_TOKEN_PREFIX, cw_str_from(access_token), hash));
    cw_code rc = cw_db_find_oauth_token(f->db, hash, &arena, &token, &account, NULL);
    assert_int_equal(rc, CW_OK);
    bool is_there = token != NULL;
    cw_arena_done(&arena);
    return is_there;
}
