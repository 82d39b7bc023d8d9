/* SPDX-License-Identifier: GPL-2.0-or-later */
/* letter.c - messages to another loop, of this server or of another one. */
#include "door/mcp/letter.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "access/fair_key.h"

static void on_anonymous_answer(cw_runtime_loop *rl, cw_str bytes)
{
    cw_mcp_take_answer(rl, bytes, NULL);
}

static void on_anonymous_inputs(cw_runtime_loop *rl, cw_str bytes)
{
    cw_mcp_take_inputs(rl, bytes, NULL);
}

static const cw_runtime_fn receivers[CW_MCP_LETTERS] = {
    [CW_MCP_LETTER_ANSWER] = on_anonymous_answer, [CW_MCP_LETTER_PARK] = cw_mcp_on_park,
    [CW_MCP_LETTER_CANCEL] = cw_mcp_on_cancel,    [CW_MCP_LETTER_CLOSING] = cw_mcp_on_closing,
    [CW_MCP_LETTER_END] = cw_mcp_on_end,          [CW_MCP_LETTER_TASK] = cw_mcp_on_task_ended,
    [CW_MCP_LETTER_INPUTS] = on_anonymous_inputs,
};

/* ---- sending ---- */

uint32_t cw_mcp_place_of(const cw_runtime_loop *rl)
{
    const cw_replicas *replicas = cw_runtime_replicas(rl);
    uint32_t number = replicas ? cw_replicas_number(replicas) : 0;
    return number << CW_MCP_PLACE_LOOP_BITS | cw_runtime_loop_of(rl)->index;
}

bool cw_mcp_place_is_here(const cw_runtime_loop *rl, uint32_t place, uint32_t *ret_loop)
{
    const cw_replicas *replicas = cw_runtime_replicas(rl);
    uint32_t number = place >> CW_MCP_PLACE_LOOP_BITS;
    *ret_loop = place & CW_MCP_PLACE_LOOP_MAX;
    return number == 0 || (replicas && number == cw_replicas_number(replicas));
}

/* Limited: a request that waits sends a check each 10 seconds, also while the share of its caller is used up. */
static cw_log_kind lost =
    CW_LOG_KIND(CW_LOG_WARN, "replica", "a letter to another server is lost", "reason");

static void log_lost(cw_code rc)
{
    cw_str reason = cw_str_from(cw_code_text(rc));
    cw_log_limited(&lost, reason, CW_KV("reason", reason));
}

/* False: it is lost. */
static bool send_away(const cw_runtime_loop *rl, uint32_t place, cw_mcp_letter_kind kind,
                      const cw_fair_key *by, cw_str credentials, cw_str bytes)
{
    cw_replicas *replicas = cw_runtime_replicas(rl);
    const cw_letter letter = {.to = place >> CW_MCP_PLACE_LOOP_BITS,
                              .loop = (uint16_t)(place & CW_MCP_PLACE_LOOP_MAX),
                              .kind = (uint16_t)kind,
                              .credentials = credentials,
                              .bytes = bytes,
                              .by = *by};
    cw_code rc = replicas ? cw_replicas_send(replicas, &letter, /* until= */ 0) : CW_NOTFOUND;
    if (rc && rc != CW_NOTFOUND)
        log_lost(rc);
    return !rc;
}

void cw_mcp_send_away(const cw_mcp_request *r, uint32_t place, cw_mcp_letter_kind kind,
                      cw_str credentials, cw_str bytes)
{
    cw_fair_key by = cw_caller_fair_key(cw_view_caller(r->view), cw_responder_peer(r->responder));
    (void)send_away(r->rl, place, kind, &by, credentials, bytes);
}

bool cw_mcp_send(cw_runtime_loop *rl, uint32_t place, cw_mcp_letter_kind kind,
                 const cw_fair_key *by, cw_str bytes)
{
    uint32_t loop;
    if (cw_mcp_place_is_here(rl, place, &loop))
        return cw_runtime_send(rl, loop, NULL, receivers[kind], bytes);
    bool fits = bytes.n + 1024 <= CW_LETTER_MAX;
    return fits && send_away(rl, place, kind, by, CW_STR(""), bytes);
}

void cw_mcp_send_all(cw_runtime_loop *rl, cw_mcp_letter_kind kind, const cw_fair_key *by,
                     cw_str bytes)
{
    cw_replicas *replicas = cw_runtime_replicas(rl);
    const cw_letter letter = {.to = CW_LETTER_ALL,
                              .loop = CW_LETTER_ALL_LOOPS,
                              .kind = (uint16_t)kind,
                              .bytes = bytes,
                              .by = *by};
    cw_runtime_broadcast(rl, receivers[kind], bytes);
    if (replicas && cw_replicas_has_others(replicas))
        (void)!cw_replicas_send(replicas, &letter, /* until= */ 0);
}

void cw_mcp_send_lasting(cw_runtime_loop *rl, const cw_letter *letter, int64_t until)
{
    cw_replicas *replicas = cw_runtime_replicas(rl);
    if (replicas)
        (void)!cw_replicas_send(replicas, letter, until);
}

#define FEW_ANSWERS 100u

void cw_mcp_count_answer(bool is_letter)
{
    static atomic_uint_least64_t answers, letters;
    static atomic_bool is_told;
    uint64_t n = atomic_fetch_add(&answers, 1) + 1;
    uint64_t n_letters = atomic_fetch_add(&letters, is_letter) + is_letter;
    if (n < FEW_ANSWERS || n_letters * 100 <= n || atomic_exchange(&is_told, true))
        return;
    cw_log(CW_LOG_WARN, "replica",
           "more than 1 % of answers arrive at another server than the question: route by "
           "Mcp-Session-Id",
           CW_KN("answers", n), CW_KN("letters", n_letters));
}

/* ---- an answer with credentials ---- */

/* The caller logs in here, by the credentials that came with the answer. */
typedef struct answer_login {
    cw_login_waiter waiter;
    cw_loop_hook hook;
    cw_runtime_loop *rl;
    uint16_t kind;
    size_t n_credentials, n;
    char texts[];
} answer_login;

static void free_login(answer_login *l)
{
    cw_login_cancel(&l->waiter);
    cw_loop_remove_hook(&l->hook);
    explicit_bzero(l->texts, l->n_credentials);
    free(l);
}

static void on_loop_end(cw_loop_hook *hook)
{
    free_login(CW_CONTAINER(hook, answer_login, hook));
}

/* Without rights there is no answer: the question waits for its time limit. */
static void on_login(cw_login_waiter *w, const cw_login *login)
{
    answer_login *l = CW_CONTAINER(w, answer_login, waiter);
    cw_str bytes = cw_str_make(l->texts + l->n_credentials, l->n - l->n_credentials);
    if (login->status == CW_LOGIN_OK && l->kind == CW_MCP_LETTER_INPUTS)
        cw_mcp_take_inputs(l->rl, bytes, login->caller);
    else if (login->status == CW_LOGIN_OK)
        cw_mcp_take_answer(l->rl, bytes, login->caller);
    free_login(l);
}

static cw_str no_peer(cw_login_waiter *w)
{
    (void)w;
    return CW_STR("");
}

/* In front of the credentials and the message. */
typedef struct answer_head {
    size_t n_credentials;
    uint16_t kind;
} answer_head;

static void on_answer_with(cw_runtime_loop *rl, cw_str bytes)
{
    answer_head head;
    cw_accounts *accounts = cw_runtime_accounts(rl);
    memcpy(&head, bytes.p, sizeof head);
    cw_str texts = cw_str_make(bytes.p + sizeof head, bytes.n - sizeof head);
    answer_login *l = accounts ? calloc(1, sizeof *l + texts.n) : NULL;
    if (!l)
        return;
    l->waiter = (cw_login_waiter){.peer = no_peer, .fn = on_login};
    l->hook.on_end = on_loop_end;
    l->rl = rl;
    l->kind = head.kind;
    l->n_credentials = head.n_credentials;
    l->n = texts.n;
    memcpy(l->texts, texts.p, texts.n);
    cw_loop_add_hook(cw_runtime_loop_of(rl), &l->hook);
    cw_login login = cw_accounts_login(accounts, cw_runtime_loop_of(rl),
                                       cw_str_make(l->texts, l->n_credentials), &l->waiter);
    if (login.status != CW_LOGIN_PENDING)
        on_login(&l->waiter, &login);
}

/* ---- receiving, on the main thread ---- */

static void post(const cw_mcp *door, uint16_t loop, cw_runtime_fn fn, cw_str bytes)
{
    if (loop != CW_LETTER_ALL_LOOPS) {
        cw_runtime_post(door->runtime, loop, fn, bytes);
        return;
    }
    for (uint32_t i = 0; i < door->n_loops; i++)
        cw_runtime_post(door->runtime, i, fn, bytes);
}

void cw_mcp_take_letter(cw_mcp *door, const cw_letter *letter)
{
    CW_CLEANUP(cw_buf_done) cw_buf b;
    answer_head head;
    bool is_answer = letter->kind == CW_MCP_LETTER_ANSWER || letter->kind == CW_MCP_LETTER_INPUTS;
    bool is_answer_with = is_answer && letter->credentials.n > 0;
    cw_buf_init(&b, 2 * CW_LETTER_MAX);
    if (letter->kind >= CW_MCP_LETTERS || letter->bytes.n < sizeof door)
        return;
    if (is_answer_with) {
        memset(&head, 0, sizeof head);
        head.n_credentials = letter->credentials.n;
        head.kind = letter->kind;
        cw_buf_add_bytes(&b, &head, sizeof head);
        cw_buf_add(&b, letter->credentials);
    }
    /* The address of the door in front is that of the sender's. */
    cw_buf_add_bytes(&b, &door, sizeof door);
    cw_buf_add(&b, cw_str_make(letter->bytes.p + sizeof door, letter->bytes.n - sizeof door));
    if (!b.code)
        post(door, letter->loop, is_answer_with ? on_answer_with : receivers[letter->kind],
             cw_buf_str(&b));
}

/* Other letters have no request that waits for them without a time limit. */
void cw_mcp_take_returned(cw_mcp *door, const cw_letter *letter, bool has_no_receiver)
{
    if (letter->kind == CW_MCP_LETTER_PARK)
        cw_mcp_park_returned(door, letter->bytes, has_no_receiver);
}
