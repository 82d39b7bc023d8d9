/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/upstream/oauth_token.h"

#include <stdlib.h>

#include "net/http/http1.h"

#define TOKEN_MAX 16384u
#define TOKEN_MS 300000u   /* of one that does not say how long it is good */
#define TOKEN_MIN_MS 1000u /* of one that is over at once: it is asked for once per login */
#define ANSWER_MAX (1024u * 1024u)

bool cw_oauth_token_is_needed(const cw_oauth_token *b)
{
    return b->service->oauth_basic.n && cw_loop_now(b->loop) >= b->until;
}

/* "Bearer TOKEN", and until when it is good. */
static cw_code take_token(cw_oauth_token *b, cw_str body, cw_arena *arena, cw_err *err)
{
    const cw_json *root;
    cw_code rc = cw_json_read(body, NULL, arena, &root, NULL, err);
    if (rc)
        return rc;
    const cw_json *token = cw_json_get(root, CW_STR("access_token"));
    const cw_json *life = cw_json_get(root, CW_STR("expires_in"));
    uint64_t seconds = 0, ms = TOKEN_MS;
    if (!cw_json_is(token, CW_JSON_STRING) || token->n == 0 || token->n > TOKEN_MAX)
        return cw_fail(err, CW_PARAMS, "no access_token in the answer");
    if (!cw_http_is_value(cw_json_text(token)))
        return cw_fail(err, CW_PARAMS, "an access_token that cannot be sent");
    if (life && cw_json_to_u64(life, &seconds) && seconds < UINT32_MAX)
        ms = seconds ? seconds * 1000 : TOKEN_MIN_MS;
    char *text = malloc(token->n + sizeof "Bearer ");
    if (!text)
        return cw_fail_nomem(err);
    memcpy(text, "Bearer ", 7);
    memcpy(text + 7, cw_json_text(token).p, token->n);
    text[7 + token->n] = 0;
    free(b->token);
    b->token = text;
    /* Renewed a little earlier than it ends: clocks differ, and a call takes its time. */
    b->until = cw_loop_now(b->loop) + ms - ms / 10;
    return CW_OK;
}

static void on_answer(cw_fetch *f, const cw_fetch_response *answer, const char *why)
{
    cw_oauth_token *b = CW_CONTAINER(f, cw_oauth_token, fetch);
    cw_err err = {0};
    unsigned status = answer ? answer->status : 0;
    /* RFC 6749, 5.2: an unknown client, or a wrong secret, is 400 or 401. */
    b->is_refused = status == 400 || status == 401 || status == 403;
    if (!answer) {
        b->on_done(b, why);
        return;
    }
    cw_arena arena;
    cw_arena_init(&arena, ANSWER_MAX);
    cw_code rc = status == 200 ? take_token(b, answer->body, &arena, &err)
                               : cw_fail(&err, CW_IO, "the token endpoint answered %u%s", status,
                                         b->is_refused ? ": it refuses our credentials" : "");
    cw_arena_done(&arena);
    b->on_done(b, rc ? err.msg : NULL);
}

void cw_oauth_token_request(cw_oauth_token *b)
{
    const cw_endpoint *s = b->service;
    cw_err err = {0};
    b->is_refused = false;
    cw_code rc = b->fetcher ? CW_OK : cw_fetcher_new(b->loop, &b->fetcher, &err);
    b->fetch = (cw_fetch){
        .url = s->config.oauth.token_url,
        .allow_private = true, /* it is named in the configuration */
        .ca_file = s->config.tls.ca_file.n ? s->config.tls.ca_file.p : NULL,
        .form = s->oauth_form,
        .authorization = s->oauth_basic,
        .on_done = on_answer,
    };
    if (!rc)
        rc = cw_fetcher_start(b->fetcher, &b->fetch, &err);
    if (rc)
        b->on_done(b, err.msg);
}

void cw_oauth_token_cancel(cw_oauth_token *b)
{
    cw_fetch_cancel(&b->fetch);
}

void cw_oauth_token_drop(cw_oauth_token *b)
{
    b->until = 0;
}

void cw_oauth_token_init(cw_oauth_token *b, const cw_endpoint *s, cw_loop *loop,
                         void (*on_done)(cw_oauth_token *b, const char *why))
{
    *b = (cw_oauth_token){.service = s, .loop = loop, .on_done = on_done};
}

void cw_oauth_token_done(cw_oauth_token *b)
{
    cw_oauth_token_cancel(b);
    cw_fetcher_close(b->fetcher);
    b->fetcher = NULL;
    free(b->token);
    b->token = NULL;
}

void cw_oauth_token_redact(const cw_oauth_token *b, char *text, size_t n)
{
    cw_str token = {NULL, 0};
    if (b->token)
        cw_str_cut(cw_str_from(b->token), ' ', &token);
    if (token.n < CW_SECRETS_SHORTEST)
        return;
    char *end = text + n;
    for (char *p = text; (p = memmem(p, (size_t)(end - p), token.p, token.n)); p += token.n)
        memset(p, '*', token.n);
}
