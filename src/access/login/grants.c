/* SPDX-License-Identifier: GPL-2.0-or-later */
/* grants.c - operations of the authorization server: from the loop to the store's thread and back. */
#include "access/login/grants.h"

#include <sodium.h>
#include <stdlib.h>

#include "access/login/login_int.h"
#include "access/oauth/keys.h"
#include "base/clock.h"

#define OP_MAX_BYTES ((size_t)4 << 20) /* CW_OAUTH_GRANTS_LISTED grants */

/* One operation; on the heap, because it may outlive the request that waits for it. */
typedef struct cw_oauth_op {
    cw_store_job job;
    cw_list node; /* of the loop's operations */
    cw_message message;
    cw_accounts_loop *al;
    cw_oauth_settings *settings;
    cw_oauth_waiter *waiter; /* NULL: it was cancelled */
    cw_arena arena;
    cw_code rc;
    /* the question */
    cw_str id; /* of a client */
    cw_oauth_code_request code;
    cw_oauth_token_request request;
    int64_t account, grant;
    bool is_counted;                  /* failures count: */
    unsigned char counter[CW_DIGEST]; /* find_token_grant: of the token */
    bool is_guess;                    /* of a user code; wrong ones count: */
    cw_network network;
    cw_str address;
    cw_code (*run)(cw_store_job *job, cw_db *db, cw_err *err); /* of one that counts */
    cw_oauth_device_decision decision;
    /* the answer */
    cw_oauth_client client;
    char code_text[CW_ACCESS_TOKEN_LEN + 1];
    cw_oauth_tokens tokens;
    cw_device_codes codes;
    cw_device device;
    cw_str keys;
    cw_oauth_grant *grants;
    size_t n_grants, cap;
    uint32_t wait_s;
} cw_oauth_op;

static cw_oauth_op *of_job(cw_store_job *job)
{
    return CW_CONTAINER(job, cw_oauth_op, job);
}

static uint32_t seconds_of(uint64_t ms)
{
    return (uint32_t)((ms + 999) / 1000);
}

static void free_op(cw_oauth_op *op)
{
    cw_oauth_settings_unref(op->settings);
    sodium_memzero(op->code_text, sizeof op->code_text);
    sodium_memzero(&op->tokens, sizeof op->tokens);
    sodium_memzero(&op->codes, sizeof op->codes);
    /* It has codes, secrets and tokens of clients. */
    cw_arena_wipe(&op->arena);
    free(op);
}

void cw_grant_ops_done(cw_accounts_loop *al)
{
    for (cw_list *node; (node = cw_list_take_first(&al->grant_ops));)
        free_op(CW_CONTAINER(node, cw_oauth_op, node));
}

/* ---- the way there and back ---- */

static cw_str account_key(const cw_oauth_op *op)
{
    return cw_str_make((const char *)&op->account, sizeof op->account);
}

static cw_str client_key(const cw_oauth_op *op)
{
    return cw_str_make((const char *)op->counter, sizeof op->counter);
}

static cw_str text_of(const char *text)
{
    return text ? cw_str_from(text) : CW_STR("");
}

/* The counters of a client in its network, or of guesses of a user code. */
static cw_code collect_counters(cw_oauth_op *op, cw_failure_counters *ret, cw_err *err)
{
    cw_accounts *a = op->al->accounts;
    char hex[2 * CW_DIGEST + 1];
    ret->n = 1;
    if (op->is_guess) {
        ret->items[0] = (cw_failure_counter){&a->user_codes, account_key(op), CW_STR("")};
        ret->items[0].who =
            text_of(cw_arena_printf(&op->arena, "code-account:%lld", (long long)op->account));
        cw_failures_of_networks(&a->user_codes_made_up, &op->network, "code", op->address,
                                &op->arena, ret);
    } else {
        sodium_bin2hex(hex, sizeof hex, op->counter, sizeof op->counter);
        ret->items[0] = (cw_failure_counter){&a->token_requests, client_key(op), CW_STR("")};
        ret->items[0].who = text_of(cw_arena_printf(&op->arena, "client:%s", hex));
    }
    return op->arena.failed ? cw_arena_fail(&op->arena, err) : CW_OK;
}

static uint64_t wait_of(const cw_failure_counters *counters)
{
    uint64_t longest = 0, now = cw_clock_ms();
    for (size_t i = 0; i < counters->n; i++) {
        const cw_failure_counter *c = &counters->items[i];
        uint64_t wait = cw_throttle_wait(c->throttle, c->name, now);
        longest = wait > longest ? wait : longest;
    }
    return longest;
}

/* Count it if it failed, so that the next ones are delayed. A right user code clears nothing: someone
 * could enter those of their own devices between two guesses. Clients that the operator has not registered
 * count here alone: anyone can make up any number of them, and each would be a row of the database.
 * Returns whether the database has to count it. */
static bool count_failure(const cw_oauth_op *op)
{
    cw_accounts *a = op->al->accounts;
    uint64_t now = cw_clock_ms();
    bool has_failed = op->is_guess ? op->rc == CW_NOTFOUND
                                   : !op->rc && (op->tokens.error == CW_OAUTH_INVALID_CLIENT ||
                                                 op->tokens.error == CW_OAUTH_INVALID_GRANT);
    if (has_failed && op->is_guess) {
        cw_throttle_fail(&a->user_codes, account_key(op), now);
        cw_network_throttle_fail(&a->user_codes_made_up, &op->network, now);
    } else if (has_failed) {
        cw_throttle_fail(op->tokens.is_registered ? &a->token_requests : &a->strangers,
                         client_key(op), now);
    }
    return has_failed && (op->is_guess || op->tokens.is_registered);
}

/* A client has succeeded; `row` is its counter in the database. */
static void forget_failures(const cw_oauth_op *op, cw_db *db, const cw_db_failures *row)
{
    cw_accounts *a = op->al->accounts;
    cw_throttle_forget(&a->strangers, client_key(op));
    if (!row->left_ms)
        return;
    cw_throttle_forget(&a->token_requests, client_key(op));
    (void)!cw_db_forget_failures(db, row->who, NULL);
}

/* The request, between the counters of all servers (failures.h). */
static cw_code run_counted(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_oauth_op *op = of_job(job);
    cw_accounts *a = op->al->accounts;
    cw_failure_counters counters;
    cw_db_failures rows[CW_DB_FAILURE_COUNTERS];
    cw_code rc = collect_counters(op, &counters, err);
    if (!rc)
        rc = cw_failures_sync(a, &counters, db, rows, err);
    if (rc)
        return rc;
    uint64_t wait = wait_of(&counters);
    if (wait) {
        op->wait_s = seconds_of(wait);
        op->rc = CW_AGAIN;
        return CW_OK;
    }
    rc = op->run(job, db, err);
    if (rc)
        return rc;
    if (count_failure(op))
        (void)!cw_failures_sync(a, &counters, db, rows, NULL);
    else if (op->is_counted && !op->rc && !op->tokens.error)
        forget_failures(op, db, &rows[0]);
    return CW_OK;
}

static void settle(cw_oauth_op *op)
{
    cw_oauth_waiter *w = op->waiter;
    cw_oauth_result result = {.rc = op->rc,
                              .client = &op->client,
                              .code = cw_str_from(op->code_text),
                              .grants = op->grants,
                              .n_grants = op->n_grants,
                              .tokens = &op->tokens,
                              .codes = &op->codes,
                              .device = &op->device,
                              .keys = op->keys,
                              .wait_s = op->wait_s};
    cw_list_remove(&op->node);
    if (w) {
        w->op = NULL;
        w->fn(w, &result);
    }
    free_op(op);
}

static void on_message(cw_message *message)
{
    settle(CW_CONTAINER(message, cw_oauth_op, message));
}

static void on_done(cw_store_job *job, cw_code rc)
{
    cw_oauth_op *op = of_job(job);
    op->rc = rc ? rc : op->rc;
    op->message.fn = on_message;
    cw_accounts_post(op->al, &op->message);
}

void cw_oauth_cancel(cw_oauth_waiter *w)
{
    if (w->op)
        w->op->waiter = NULL;
    w->op = NULL;
}

/* NULL: no memory, or the server is off. */
static cw_oauth_op *new_op(cw_accounts *a, cw_loop *loop,
                           cw_code (*run)(cw_store_job *job, cw_db *db, cw_err *err))
{
    cw_accounts_loop *al = cw_accounts_at(a, loop);
    cw_oauth_settings *settings = al ? cw_accounts_take_oauth(a) : NULL;
    cw_oauth_op *op = settings ? calloc(1, sizeof *op) : NULL;
    if (!op) {
        cw_oauth_settings_unref(settings);
        return NULL;
    }
    op->al = al;
    op->settings = settings;
    op->job.run = run;
    op->job.done = on_done;
    cw_arena_init(&op->arena, OP_MAX_BYTES);
    return op;
}

static cw_code begin(cw_oauth_op *op, cw_oauth_waiter *w)
{
    if (op->arena.failed) {
        free_op(op);
        return CW_NOMEM;
    }
    if (op->is_counted || op->is_guess) {
        op->run = op->job.run;
        op->job.run = run_counted;
    }
    op->waiter = w;
    op->job.by = w->by;
    w->op = op;
    cw_list_add(&op->al->grant_ops, &op->node);
    cw_code rc = cw_store_ask(op->al->accounts->store, &op->job);
    if (rc) {
        cw_oauth_cancel(w);
        cw_list_remove(&op->node);
        free_op(op);
    }
    return rc;
}

/* A copy for the store's thread; an absent text stays absent. */
static cw_str copy(cw_oauth_op *op, cw_str text)
{
    return text.p ? cw_arena_dup_str(&op->arena, text) : text;
}

static const cw_str *copy_list(cw_oauth_op *op, const cw_str *items, size_t n)
{
    cw_str *list = cw_arena_calloc(&op->arena, n + 1, sizeof *list);
    for (size_t i = 0; list && i < n; i++)
        list[i] = copy(op, items[i]);
    return list;
}

/* ---- clients ---- */

/* A code that is no failure of the database is an answer. */
static cw_code answer(cw_oauth_op *op, cw_code rc)
{
    bool is_answer = rc == CW_NOTFOUND || rc == CW_DECLINED || rc == CW_GONE || rc == CW_LIMIT;
    op->rc = is_answer ? rc : CW_OK;
    return is_answer ? CW_OK : rc;
}

static cw_code run_find_client(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_oauth_op *op = of_job(job);
    return answer(op, cw_oauth_client_find(db, op->settings, op->id, &op->arena, &op->client, err));
}

cw_code cw_oauth_find_client(cw_accounts *a, cw_loop *loop, cw_str id, cw_oauth_waiter *w)
{
    cw_oauth_op *op = new_op(a, loop, run_find_client);
    if (!op)
        return CW_NOMEM;
    op->id = copy(op, id);
    return begin(op, w);
}

/* ---- codes ---- */

/* The session may have ended since the page was shown, with the password for example. */
static cw_code check_session(cw_oauth_op *op, cw_db *db, cw_str secret, int64_t of, cw_err *err)
{
    unsigned char hash[CW_DIGEST];
    cw_session *session = NULL;
    cw_account *account = NULL;
    crypto_hash_sha256(hash, (const unsigned char *)secret.p, secret.n);
    cw_code rc = cw_db_find_session(db, hash, &op->arena, &session, &account, err);
    if (rc)
        return rc;
    bool is_good = session && account->id == of && !account->is_blocked;
    return is_good ? CW_OK : CW_GONE;
}

/* The client may have been denied since then. One with a document is not in the database. */
static cw_code check_client(cw_oauth_op *op, cw_db *db, cw_str id, cw_err *err)
{
    cw_oauth_client found;
    cw_code rc = cw_oauth_client_find(db, op->settings, id, &op->arena, &found, err);
    if (rc == CW_DECLINED)
        return CW_OK;
    return rc == CW_NOTFOUND ? CW_GONE : rc;
}

static cw_code add_code(cw_oauth_op *op, cw_db *db, cw_err *err)
{
    const cw_oauth_code_request *c = &op->code;
    int64_t now = cw_clock_wall_ms();
    cw_db_oauth_code row = {.account = c->account,
                            .client = c->client->id,
                            .redirect_uri = c->redirect_uri,
                            .challenge = c->code_challenge,
                            .resource = c->resource,
                            .scopes = cw_oauth_join_scopes(&op->arena, c->scopes, c->n_scopes),
                            .may_refresh = c->client->may_refresh || c->is_offline,
                            .expires = now + CW_OAUTH_CODE_MS};
    cw_code rc = row.scopes.p ? check_session(op, db, c->session, c->account, err)
                              : cw_arena_fail(&op->arena, err);
    if (!rc)
        rc = check_client(op, db, c->client->id, err);
    if (!rc)
        rc = cw_oauth_client_format(c->client, &op->arena, &row.record, err);
    if (!rc)
        rc = cw_access_token_make(CW_CODE_PREFIX, op->code_text, err);
    if (!rc && !cw_access_token_digest(CW_CODE_PREFIX, cw_str_from(op->code_text), row.hash))
        rc = cw_fail(err, CW_INTERNAL, "the new code is malformed");
    return rc ? rc : cw_db_add_oauth_code(db, &row, now, err);
}

static cw_code run_issue_code(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_oauth_op *op = of_job(job);
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : answer(op, cw_db_end(db, add_code(op, db, err), err));
}

static void copy_client(cw_oauth_op *op, const cw_oauth_client *from)
{
    op->client = *from;
    op->client.id = copy(op, from->id);
    op->client.name = copy(op, from->name);
    op->client.account = copy(op, from->account);
    op->client.redirect_uris = copy_list(op, from->redirect_uris, from->n_redirect_uris);
    op->client.ceiling = copy_list(op, from->ceiling, from->n_ceiling);
    op->client.scopes = copy_list(op, from->scopes, from->n_scopes);
}

cw_code cw_oauth_issue_code(cw_accounts *a, cw_loop *loop, const cw_oauth_code_request *request,
                            cw_oauth_waiter *w)
{
    cw_oauth_op *op = new_op(a, loop, run_issue_code);
    if (!op)
        return CW_NOMEM;
    copy_client(op, request->client);
    op->code = *request;
    op->code.client = &op->client;
    op->code.account_name = copy(op, request->account_name);
    op->code.session = copy(op, request->session);
    op->code.redirect_uri = copy(op, request->redirect_uri);
    op->code.code_challenge = copy(op, request->code_challenge);
    op->code.resource = copy(op, request->resource);
    op->code.scopes = copy_list(op, request->scopes, request->n_scopes);
    return begin(op, w);
}

/* ---- tokens ---- */

/* Tokens that ended must not stay in the caches of logins. */
static void note_end(cw_oauth_op *op)
{
    op->job.is_change = op->tokens.event == CW_OAUTH_REUSED ||
                        op->tokens.event == CW_OAUTH_REVOKED || op->tokens.has_ended_others;
}

static cw_code run_tokens(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_oauth_op *op = of_job(job);
    cw_code rc = cw_oauth_exchange(db, op->settings, &op->request, cw_clock_wall_ms(), &op->arena,
                                   &op->tokens, err);
    note_end(op);
    return rc;
}

static cw_code run_revoke(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_oauth_op *op = of_job(job);
    cw_code rc = cw_oauth_revoke(db, op->settings, &op->request, cw_clock_wall_ms(), &op->arena,
                                 &op->tokens, err);
    note_end(op);
    return rc;
}

static void copy_request(cw_oauth_op *op, const cw_oauth_token_request *from)
{
    op->request = *from;
    cw_str *const texts[] = {
        &op->request.client_id,     &op->request.client_secret, &op->request.code,
        &op->request.code_verifier, &op->request.redirect_uri,  &op->request.refresh_token,
        &op->request.scope,         &op->request.resource,      &op->request.assertion,
        &op->request.issuer,        &op->request.token,         &op->request.address};
    for (size_t i = 0; i < CW_COUNT(texts); i++)
        *texts[i] = copy(op, *texts[i]);
}

/* The counter of a client in its network has a fixed size, and is the same on all servers. */
static void counter_of(cw_str client, cw_str peer, unsigned char out[CW_DIGEST])
{
    crypto_generichash_state state;
    char text[CW_NETWORK_TEXT];
    cw_str network = cw_network_text(peer, 0, text);
    crypto_generichash_init(&state, NULL, 0, CW_DIGEST);
    crypto_generichash_update(&state, (const unsigned char *)network.p, network.n);
    crypto_generichash_update(&state, (const unsigned char *)"\n", 1);
    crypto_generichash_update(&state, (const unsigned char *)client.p, client.n);
    crypto_generichash_final(&state, out, CW_DIGEST);
}

static cw_code ask(cw_oauth_op *op, const cw_oauth_token_request *request, cw_str peer,
                   uint32_t *ret_wait_s, cw_oauth_waiter *w)
{
    if (!op)
        return CW_NOMEM;
    counter_of(request->client_id, peer, op->counter);
    op->is_counted = true;
    cw_accounts *a = op->al->accounts;
    uint64_t wait = cw_throttle_wait(&a->token_requests, client_key(op), cw_clock_ms());
    uint64_t alone = cw_throttle_wait(&a->strangers, client_key(op), cw_clock_ms());
    cw_network_of(peer, &op->network);
    if (alone || (wait && !cw_failures_may_read(a, &op->network))) {
        *ret_wait_s = seconds_of(alone > wait ? alone : wait);
        free_op(op);
        return CW_AGAIN;
    }
    copy_request(op, request);
    return begin(op, w);
}

cw_code cw_oauth_ask_tokens(cw_accounts *a, cw_loop *loop, const cw_oauth_token_request *request,
                            cw_str peer, uint32_t *ret_wait_s, cw_oauth_waiter *w)
{
    return ask(new_op(a, loop, run_tokens), request, peer, ret_wait_s, w);
}

cw_code cw_oauth_ask_revoke(cw_accounts *a, cw_loop *loop, const cw_oauth_token_request *request,
                            cw_str token, cw_str peer, uint32_t *ret_wait_s, cw_oauth_waiter *w)
{
    cw_oauth_token_request all = *request;
    all.token = token;
    return ask(new_op(a, loop, run_revoke), &all, peer, ret_wait_s, w);
}

/* ---- keys ---- */

static cw_code run_keys(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_oauth_op *op = of_job(job);
    cw_code rc = op->settings->is_jwt ? cw_oauth_keys_publish(db, op->settings, cw_clock_wall_ms(),
                                                              &op->arena, &op->keys, err)
                                      : CW_NOTFOUND;
    return answer(op, rc);
}

/* Set the network of the peer, and take one of its requests a minute. CW_AGAIN frees the op. */
static cw_code take_turn(cw_oauth_op *op, cw_per_minute *rate, unsigned level, cw_str peer,
                         uint32_t *ret_wait_s)
{
    cw_network_of(peer, &op->network);
    *ret_wait_s = cw_per_minute_take(rate, op->network.keys[level], cw_clock_ms());
    if (!*ret_wait_s)
        return CW_OK;
    free_op(op);
    return CW_AGAIN;
}

/* Anyone may ask, and each time the database is read. */
cw_code cw_oauth_ask_keys(cw_accounts *a, cw_loop *loop, cw_str peer, uint32_t *ret_wait_s,
                          cw_oauth_waiter *w)
{
    cw_oauth_op *op = new_op(a, loop, run_keys);
    if (!op)
        return CW_NOMEM;
    cw_code rc = take_turn(op, &a->keys, 0, peer, ret_wait_s);
    return rc ? rc : begin(op, w);
}

/* ---- devices ---- */

static cw_code run_begin_device(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_oauth_op *op = of_job(job);
    cw_code rc = cw_device_begin(db, op->settings, &op->request, cw_clock_wall_ms(), &op->arena,
                                 &op->codes, err);
    op->tokens = op->codes.refusal;
    return answer(op, rc);
}

cw_code cw_oauth_begin_device(cw_accounts *a, cw_loop *loop, const cw_oauth_token_request *request,
                              cw_str peer, uint32_t *ret_wait_s, cw_oauth_waiter *w)
{
    cw_oauth_op *op = new_op(a, loop, run_begin_device);
    if (!op)
        return CW_NOMEM;
    /* The narrow one first: a request that it stops costs the neighbours nothing. */
    cw_code rc = take_turn(op, &a->devices, 0, peer, ret_wait_s);
    if (!rc)
        rc = take_turn(op, &a->devices_around, CW_NETWORK_LEVELS - 1, peer, ret_wait_s);
    if (rc)
        return rc;
    cw_oauth_token_request all = *request;
    all.address = peer;
    return ask(op, &all, peer, ret_wait_s, w);
}

static cw_code run_find_device(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_oauth_op *op = of_job(job);
    return answer(op, cw_device_find(db, op->settings, op->id, cw_clock_wall_ms(), &op->arena,
                                     &op->device, err));
}

cw_code cw_oauth_find_device(cw_accounts *a, cw_loop *loop, cw_str user_code, int64_t account,
                             cw_str peer, uint32_t *ret_wait_s, cw_oauth_waiter *w)
{
    cw_oauth_op *op = new_op(a, loop, run_find_device);
    if (!op)
        return CW_NOMEM;
    op->account = account;
    op->is_guess = true;
    cw_network_of(peer, &op->network);
    uint64_t by_account = cw_throttle_wait(&a->user_codes, account_key(op), cw_clock_ms());
    uint64_t wait = cw_network_throttle_wait(&a->user_codes_made_up, &op->network,
                                             /* only_narrowest= */ false, cw_clock_ms());
    wait = by_account > wait ? by_account : wait;
    if (wait) {
        *ret_wait_s = seconds_of(wait);
        free_op(op);
        return CW_AGAIN;
    }
    op->id = copy(op, user_code);
    op->address = copy(op, peer);
    return begin(op, w);
}

static cw_code decide_device(cw_oauth_op *op, cw_db *db, cw_err *err)
{
    const cw_oauth_device_decision *d = &op->decision;
    cw_str scopes = cw_oauth_join_scopes(&op->arena, d->scopes, d->n_scopes);
    cw_code rc = scopes.p ? check_session(op, db, d->session, d->account, err)
                          : cw_arena_fail(&op->arena, err);
    return rc ? rc
              : cw_device_decide(db, op->settings, d->user_code, d->is_allowed ? d->account : 0,
                                 scopes, cw_clock_wall_ms(), err);
}

static cw_code run_decide_device(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_oauth_op *op = of_job(job);
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : answer(op, cw_db_end(db, decide_device(op, db, err), err));
}

cw_code cw_oauth_decide_device(cw_accounts *a, cw_loop *loop,
                               const cw_oauth_device_decision *decision, cw_oauth_waiter *w)
{
    cw_oauth_op *op = new_op(a, loop, run_decide_device);
    if (!op)
        return CW_NOMEM;
    op->decision = *decision;
    op->decision.user_code = copy(op, decision->user_code);
    op->decision.session = copy(op, decision->session);
    op->decision.scopes = copy_list(op, decision->scopes, decision->n_scopes);
    return begin(op, w);
}

/* ---- grants of an account ---- */

static cw_code keep_grant(const cw_db_oauth_grant *row, void *ctx, cw_err *err)
{
    cw_oauth_op *op = ctx;
    int64_t end = cw_oauth_grant_end(row, op->settings->idle_ms);
    if (cw_clock_wall_ms() >= end)
        return CW_OK;
    if (op->n_grants == op->cap) {
        size_t cap = op->cap ? op->cap * 2 : 16;
        cw_oauth_grant *grants =
            cw_arena_resize(&op->arena, op->grants, op->cap * sizeof *grants, cap * sizeof *grants);
        if (!grants)
            return cw_arena_fail(&op->arena, err);
        op->grants = grants;
        op->cap = cap;
    }
    cw_oauth_grant *grant = &op->grants[op->n_grants];
    *grant = (cw_oauth_grant){.id = row->id,
                              .account = row->account,
                              .account_name = copy(op, row->account_name),
                              .redirect_uri = copy(op, row->redirect_uri),
                              .resource = copy(op, row->resource),
                              .scopes = copy(op, row->scopes),
                              .created = row->created,
                              .used = row->used,
                              .expires = end};
    cw_code rc = op->arena.failed
                     ? cw_arena_fail(&op->arena, err)
                     : cw_oauth_client_parse(row->record, &op->arena, &grant->client, err);
    op->n_grants += !rc;
    return rc;
}

static cw_code list_grant(const cw_db_oauth_grant *row, void *ctx, cw_err *err)
{
    const cw_oauth_op *op = ctx;
    bool is_shown = !op->grant || row->id < op->grant;
    return is_shown && op->n_grants < CW_OAUTH_GRANTS_LISTED ? keep_grant(row, ctx, err) : CW_OK;
}

static cw_code run_list(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_oauth_op *op = of_job(job);
    return cw_db_each_oauth_grant(db, op->account, list_grant, op, err);
}

cw_code cw_oauth_list_grants(cw_accounts *a, cw_loop *loop, int64_t account, int64_t before,
                             cw_oauth_waiter *w)
{
    cw_oauth_op *op = new_op(a, loop, run_list);
    if (!op)
        return CW_NOMEM;
    op->account = account;
    op->grant = before;
    return begin(op, w);
}

static cw_code find_token_grant(cw_oauth_op *op, cw_db *db, cw_err *err)
{
    cw_db_oauth_token *token = NULL;
    cw_account *account = NULL;
    cw_db_oauth_grant *grant = NULL;
    cw_code rc = cw_db_find_oauth_token(db, op->counter, &op->arena, &token, &account, err);
    if (!rc && token)
        rc = cw_db_find_oauth_grant(db, token->grant, &op->arena, &grant, err);
    if (!rc)
        rc = grant ? keep_grant(grant, op, err) : CW_NOTFOUND;
    if (rc)
        return rc;
    op->client = (cw_oauth_client){.kind = CW_OAUTH_DOCUMENT, .id = grant->client};
    rc = cw_oauth_client_find(db, op->settings, grant->client, &op->arena, &op->client, err);
    return rc == CW_DECLINED ? CW_OK : rc;
}

static cw_code run_find_token_grant(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_oauth_op *op = of_job(job);
    return answer(op, find_token_grant(op, db, err));
}

cw_code cw_oauth_find_token_grant(cw_accounts *a, cw_loop *loop,
                                  const unsigned char hash[CW_DIGEST], cw_oauth_waiter *w)
{
    cw_oauth_op *op = new_op(a, loop, run_find_token_grant);
    if (!op)
        return CW_NOMEM;
    memcpy(op->counter, hash, CW_DIGEST);
    return begin(op, w);
}

static cw_code run_end(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_oauth_op *op = of_job(job);
    cw_code rc = cw_db_remove_oauth_grant(db, op->account, op->grant, err);
    job->is_change = !rc;
    return answer(op, rc);
}

cw_code cw_oauth_end_grant(cw_accounts *a, cw_loop *loop, int64_t account, int64_t id,
                           cw_oauth_waiter *w)
{
    cw_oauth_op *op = new_op(a, loop, run_end);
    if (!op)
        return CW_NOMEM;
    op->account = account;
    op->grant = id;
    return begin(op, w);
}
