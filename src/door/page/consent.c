/* SPDX-License-Identifier: GPL-2.0-or-later */
/* consent.c - the consent page, and the sealed value of its form. */
#include "door/page/consent.h"

#include "access/oauth/cimd.h"
#include "access/scopes.h"
#include "base/clock.h"
#include "base/digits.h"
#include "base/hex.h"
#include "base/percent.h"
#include "door/browser.h"
#include "door/oauth_challenge.h"
#include "door/page/authorize.h"
#include "door/page/device.h"
#include "door/page/grants.h"
#include "door/page/html.h"
#include "door/page/sealed_fields.h"
#include "net/http/target.h"

#define PURPOSE CW_STR("consent")
#define SCOPES_MAX 8192u
#define DAY_MS 86400000
#define EXPIRED "This form has expired. Please start again in the application."

/* ---- the sealed value ---- */

enum {
    SESSION,
    CLIENT,
    ISSUER,
    REDIRECT,
    STATE,
    CHALLENGE,
    RESOURCE,
    SCOPES,
    OFFLINE,
    DEVICE,
    N_FIELDS
};

/* The session that a form belongs to: a digest of its secret. */
static cw_str session_digest(const cw_visit *v, char out[2 * CW_SEAL_DIGEST + 1])
{
    unsigned char digest[CW_SEAL_DIGEST];
    cw_seal_digest(v->session, digest);
    cw_hex_write(out, digest, sizeof digest);
    return cw_str_make(out, sizeof digest * 2);
}

static cw_code seal_form(const cw_visit *v, const cw_consent *consent, cw_str *ret)
{
    char digest[2 * CW_SEAL_DIGEST + 1];
    cw_arena *arena = cw_http_req_arena(v->req);
    cw_str fields[N_FIELDS] = {
        [SESSION] = session_digest(v, digest),
        [ISSUER] = consent->issuer,
        [REDIRECT] = consent->redirect_uri,
        [STATE] = consent->state,
        [CHALLENGE] = consent->challenge,
        [RESOURCE] = consent->resource,
        [OFFLINE] = cw_str_from(consent->is_offline ? "1" : ""),
        [DEVICE] = consent->device,
    };
    cw_buf scopes;
    cw_buf_init(&scopes, SCOPES_MAX);
    for (size_t i = 0; i < consent->n_scopes; i++) {
        cw_buf_add(&scopes, cw_str_from(i ? " " : ""));
        cw_buf_add(&scopes, consent->scopes[i]);
    }
    fields[SCOPES] = cw_buf_str(&scopes);
    cw_code rc = scopes.code;
    if (!rc)
        rc = cw_oauth_client_format(&consent->client, arena, &fields[CLIENT], NULL);
    if (!rc)
        rc = cw_sealed_fields_close(v->settings->seal, PURPOSE, fields, N_FIELDS, arena, ret);
    cw_buf_done(&scopes);
    return rc;
}

/* CW_PARSE: it is not of this server, or of another session; CW_TIMEOUT: it has expired; CW_NOMEM. */
static cw_code open_form(cw_visit *v, cw_str form, cw_consent *ret)
{
    char digest[2 * CW_SEAL_DIGEST + 1];
    cw_str fields[N_FIELDS];
    cw_arena *arena = cw_http_req_arena(v->req);
    cw_code rc = cw_sealed_fields_open(v->settings->seal, PURPOSE, form, CW_AUTHORIZE_LIFETIME_MS,
                                       arena, fields, N_FIELDS);
    if (rc)
        return rc;
    if (!v->session.p || !cw_str_eq(fields[SESSION], session_digest(v, digest)))
        return CW_PARSE;
    *ret = (cw_consent){.issuer = fields[ISSUER],
                        .redirect_uri = fields[REDIRECT],
                        .state = fields[STATE],
                        .challenge = fields[CHALLENGE],
                        .resource = fields[RESOURCE],
                        .is_offline = fields[OFFLINE].n > 0,
                        .device = fields[DEVICE]};
    for (cw_str rest = fields[SCOPES]; rest.n && ret->n_scopes < CW_CONSENT_MAX_SCOPES;)
        ret->scopes[ret->n_scopes++] = cw_str_cut(rest, ' ', &rest);
    rc = cw_oauth_client_parse(fields[CLIENT], arena, &ret->client, NULL);
    return rc == CW_OK || rc == CW_PARSE ? rc : CW_NOMEM;
}

/* ---- tools ---- */

#define TOOLS_AT_ONCE 64u

void cw_consent_count_tools(cw_visit *v, cw_caller *caller, size_t *ret_n, size_t *ret_changing)
{
    cw_view *view = cw_runtime_view(v->rl, caller);
    const cw_entry *tools[TOOLS_AT_ONCE];
    cw_str last = CW_STR("");
    bool has_more = view != NULL;
    *ret_n = *ret_changing = 0;
    while (has_more) {
        size_t n = 0;
        cw_view_after(view, CW_VIEW_TOOLS, last, tools, TOOLS_AT_ONCE, &n, &has_more);
        for (size_t i = 0; i < n; i++)
            *ret_changing += !tools[i]->method->mark->is_read_only;
        *ret_n += n;
        has_more = has_more && n;
        if (n)
            last = cw_view_name(CW_VIEW_TOOLS, tools[n - 1]);
    }
}

/* ---- who asks ---- */

static void add_quoted(cw_buf *out, cw_str name)
{
    cw_buf_add(out, CW_STR("<strong>&quot;"));
    cw_html_add_text(out, name);
    cw_buf_add(out, CW_STR("&quot;</strong>"));
}

void cw_consent_add_client(cw_buf *out, const cw_oauth_client *client)
{
    cw_str host = CW_STR("");
    switch (client->kind) {
    case CW_OAUTH_REGISTERED:
        cw_buf_add(out, CW_STR("<strong>"));
        cw_html_add_text(out, client->name.n ? client->name : client->id);
        cw_buf_add(out, CW_STR("</strong>, registered by the operator of this server"));
        return;
    case CW_OAUTH_DOCUMENT:
        (void)cw_cimd_check_id(client->id, &host);
        cw_buf_add(out, CW_STR("An application of <strong>"));
        cw_html_add_text(out, host);
        cw_buf_add(out, CW_STR("</strong> that calls itself "));
        add_quoted(out, client->name);
        return;
    case CW_OAUTH_DYNAMIC:
        cw_buf_add(out, CW_STR("An unknown application that "));
        cw_buf_add(out, cw_str_from(client->name.n ? "calls itself " : "has no name"));
        if (client->name.n)
            add_quoted(out, client->name);
        return;
    }
}

/* ---- the page ---- */

static void add_account(cw_buf *out, cw_visit *v, const cw_consent *consent)
{
    cw_str login = cw_html_path(v->req, v->rl, cw_runtime_config(v->rl)->access.login.path.p);
    bool is_device = consent->device.n > 0;
    cw_str back =
        cw_html_path(v->req, v->rl, is_device ? CW_DEVICE_PAGE_PATH : CW_AUTHORIZE_PATH "?r=");
    cw_buf_add(out, CW_STR("<p>You are logged in as <strong>"));
    cw_html_add_text(out, v->name);
    cw_buf_add(out, CW_STR("</strong>. <a href=\""));
    cw_html_add_text(out, login);
    cw_buf_add(out, CW_STR("?again&amp;next="));
    cw_percent_encode(out, back);
    cw_percent_encode(out, consent->again);
    cw_buf_add(out, CW_STR("\">Not you?</a></p>\n"));
}

static void add_destination(cw_buf *out, const cw_redirect *to)
{
    cw_buf_add(out, CW_STR("<h3>Where the answer goes</h3>\n<p>"));
    switch (to->kind) {
    case CW_REDIRECT_LOOPBACK:
        cw_buf_add(out, CW_STR("To a program on this computer. Any program there can receive it. "
                               "Continue only if you have started this login yourself."));
        break;
    case CW_REDIRECT_HTTPS:
        cw_buf_add(out, CW_STR("To the site <strong>"));
        cw_html_add_text(out, to->host);
        cw_buf_add(out, CW_STR("</strong>."));
        break;
    case CW_REDIRECT_SCHEME:
        cw_buf_add(out, CW_STR("To the program on this computer that opens <strong>"));
        cw_html_add_text(out, to->scheme);
        cw_buf_add(out, CW_STR(":</strong> addresses."));
        break;
    }
    cw_buf_add(out, CW_STR("</p>\n"));
}

/* Someone may have sent the code of their own device to this person (RFC 8628, 5.4). */
static void add_device(cw_buf *out, const cw_consent *consent)
{
    char asked[CW_CLOCK_ISO_LEN + 1];
    cw_clock_format_iso(consent->device_asked, asked);
    cw_buf_add(out, CW_STR("<h3>Where the answer goes</h3>\n<p>To the device that showed the code "
                           "<strong>"));
    cw_buf_printf(out, "%.4s-%.4s", consent->device.p, consent->device.p + 4);
    cw_buf_add(out, CW_STR("</strong>. It asked from the address <strong>"));
    cw_html_add_text(out, consent->device_address);
    cw_buf_printf(out, "</strong> at <strong>%.10s %.8s</strong> UTC. ", asked, asked + 11);
    cw_buf_add(out, CW_STR("Continue only if you have started this login yourself, on that device. "
                           "If someone else gave you the code, deny it.</p>\n"));
}

static void add_scopes(cw_buf *out, const cw_consent *consent)
{
    if (!consent->n_scopes)
        return;
    cw_buf_add(out, CW_STR("<fieldset>\n<legend>Scopes</legend>\n"));
    for (size_t i = 0; i < consent->n_scopes; i++) {
        cw_str name = consent->scopes[i];
        const cw_scope *known = cw_scope_find(name);
        cw_buf_add(out, CW_STR("<label><input type=\"checkbox\" name=\"scope\" value=\""));
        cw_html_add_text(out, name);
        cw_buf_add(out, CW_STR("\" checked> "));
        cw_html_add_text(out, known ? known->label : name);
        if (known) {
            cw_buf_add(out, CW_STR(" (<code>"));
            cw_html_add_text(out, name);
            cw_buf_add(out, CW_STR("</code>)"));
        }
        cw_buf_add(out, CW_STR("</label>\n"));
    }
    cw_buf_add(out, CW_STR("</fieldset>\n"));
}

static void add_ceiling(cw_buf *out, const cw_visit *v, const cw_oauth_client *client)
{
    bool has_own = client->n_ceiling > 0;
    const cw_str *roles = has_own ? client->ceiling : v->settings->ceiling;
    size_t n = has_own ? client->n_ceiling : v->settings->n_ceiling;
    if (!n) {
        cw_buf_add(out, CW_STR(" Administration of this server is not included."));
        return;
    }
    cw_buf_add(out, CW_STR(" At most, it gets the permissions of "));
    cw_buf_add(out, cw_str_from(n > 1 ? "the roles " : "the role "));
    for (size_t i = 0; i < n; i++) {
        cw_buf_add(out, cw_str_from(i ? ", " : ""));
        cw_html_add_text(out, roles[i]);
    }
    cw_buf_add_char(out, '.');
}

static void add_duration(cw_buf *out, int64_t ms)
{
    if (ms >= DAY_MS)
        cw_buf_printf(out, "%lld days", (long long)(ms / DAY_MS));
    else
        cw_buf_printf(out, "%lld minutes", (long long)((ms + 59999) / 60000));
}

static void add_access(cw_buf *out, cw_visit *v, const cw_consent *consent)
{
    const cw_oauth_settings *s = v->settings;
    bool is_long = consent->client.may_refresh || consent->is_offline;
    cw_buf_printf(out,
                  "<h3>What it may do</h3>\n<p>It can use this server in your name: %zu tools, "
                  "%zu of which may change something.",
                  consent->n_tools, consent->n_changing);
    add_ceiling(out, v, &consent->client);
    cw_buf_add(out, CW_STR("</p>\n"));
    add_scopes(out, consent);
    cw_buf_add(out, CW_STR("<p>The access ends "));
    if (is_long) {
        add_duration(out, s->idle_ms);
        cw_buf_add(out, CW_STR(" after its last use, and at the latest after "));
        add_duration(out, s->life_ms);
    } else {
        cw_buf_add(out, CW_STR("after "));
        add_duration(out, s->access_ms);
    }
    cw_buf_add(out, CW_STR(". You can end it earlier under <a href=\""));
    cw_html_add_text(out, cw_html_path(v->req, v->rl, CW_GRANTS_PAGE_PATH));
    cw_buf_add(out, CW_STR("\">Allowed applications</a>.</p>\n"));
}

/* The address of this server without its scheme. */
static cw_str host_of(cw_str issuer)
{
    cw_str origin = cw_str_make(issuer.p, issuer.n - cw_oauth_resource_path(issuer).n), rest;
    (void)cw_str_cut(origin, ':', &rest);
    return rest.p && rest.n > 2 ? cw_str_make(rest.p + 2, rest.n - 2) : issuer;
}

void cw_consent_show(cw_visit *v, const cw_consent *consent)
{
    bool is_device = consent->device.n > 0;
    cw_html_page page = {.status = 200, .heading = v->heading, .leads_away = !is_device};
    cw_str form;
    cw_str action =
        cw_html_path(v->req, v->rl, is_device ? CW_DEVICE_PAGE_PATH : CW_AUTHORIZE_PATH);
    if (!action.p || seal_form(v, consent, &form)) {
        cw_html_fail_nomem(v->req);
        return;
    }
    cw_buf b;
    cw_html_open(&b, v->rl, &page);
    add_account(&b, v, consent);
    cw_html_open_form(&b, action);
    cw_html_add_hidden(&b, "consent", form);
    cw_buf_add(&b, CW_STR("<h3>Who asks</h3>\n<p>"));
    cw_consent_add_client(&b, &consent->client);
    cw_buf_add(&b, CW_STR(", for access to <strong>"));
    cw_html_add_text(&b, host_of(consent->issuer));
    cw_buf_add(&b, CW_STR("</strong>.</p>\n"));
    if (is_device)
        add_device(&b, consent);
    else
        add_destination(&b, &consent->to);
    add_access(&b, v, consent);
    cw_buf_add(&b, CW_STR("<p><button class=\"main\" name=\"decision\" value=\"allow\">Allow"
                          "</button></p>\n<p><button name=\"decision\" value=\"deny\">Deny"
                          "</button></p>\n</form>\n"));
    cw_html_send(v->req, &page, &b);
}

/* ---- the decision ---- */

static bool has_text(const cw_str *items, size_t n, cw_str text)
{
    for (size_t i = 0; i < n; i++) {
        if (cw_str_eq(items[i], text))
            return true;
    }
    return false;
}

typedef struct decision {
    cw_str consent, value;
    cw_str scopes[CW_CONSENT_MAX_SCOPES];
    size_t n_scopes;
} decision;

/* CW_PARAMS: a field is repeated, or the form is ill-formed; CW_NOMEM. */
static cw_code read_form(cw_http_req *req, decision *ret)
{
    cw_str rest = cw_http_req_body(req), name, value;
    while (rest.n) {
        cw_code rc = cw_query_next(&rest, cw_http_req_arena(req), &name, &value);
        if (rc == CW_DONE)
            break;
        if (rc)
            return rc == CW_INVALID ? CW_PARAMS : CW_NOMEM;
        bool is_consent = cw_str_is(name, "consent");
        cw_str *field = is_consent ? &ret->consent : &ret->value;
        if (cw_str_is(name, "scope")) {
            if (ret->n_scopes == CW_CONSENT_MAX_SCOPES)
                return CW_PARAMS;
            ret->scopes[ret->n_scopes++] = value;
        } else if (is_consent || cw_str_is(name, "decision")) {
            if (field->p)
                return CW_PARAMS;
            *field = value;
        }
    }
    return ret->consent.p && ret->value.p ? CW_OK : CW_PARAMS;
}

/* Only scopes that the page has shown and that are ticked. */
static void keep_ticked(cw_consent *consent, const decision *d)
{
    size_t n = 0;
    for (size_t i = 0; i < consent->n_scopes; i++) {
        if (has_text(d->scopes, d->n_scopes, consent->scopes[i]))
            consent->scopes[n++] = consent->scopes[i];
    }
    consent->n_scopes = n;
}

/* CW_PARSE: the form is not of a page of ours, or of another session; CW_PARAMS: it is incomplete. */
static cw_code read_decision(cw_visit *v, cw_consent *ret, bool *ret_allowed)
{
    decision d = {0};
    cw_code rc = read_form(v->req, &d);
    if (!rc && !cw_browser_is_ours(v->req, v->rl, /* may_be_silent= */ false))
        rc = CW_PARSE;
    if (!rc)
        rc = open_form(v, d.consent, ret);
    if (rc)
        return rc;
    *ret_allowed = cw_str_is(d.value, "allow");
    keep_ticked(ret, &d);
    return *ret_allowed || cw_str_is(d.value, "deny") ? CW_OK : CW_PARAMS;
}

bool cw_consent_receive(cw_visit *v, cw_consent *ret, bool *ret_allowed)
{
    if (!cw_html_is_form(v->req) || cw_http_req_body(v->req).n > CW_AUTHORIZE_MAX_FORM) {
        cw_visit_refuse(v, 400, "This is not the form of the page.");
        return false;
    }
    cw_code rc = read_decision(v, ret, ret_allowed);
    if (rc == CW_NOMEM || rc == CW_LIMIT)
        cw_html_fail_nomem(v->req);
    else if (rc == CW_TIMEOUT || rc == CW_PARAMS)
        cw_visit_refuse(v, 400, rc == CW_TIMEOUT ? EXPIRED : "The form is incomplete.");
    else if (rc)
        cw_visit_refuse(v, 403, CW_CONSENT_FORGED);
    return rc == CW_OK;
}

/* ---- records ---- */

/* A short text for the audit: the id of a client, or a digest of a sealed one. */
static cw_str audited_client(const cw_oauth_client *client,
                             char digest_text[2 * CW_SEAL_DIGEST + 1])
{
    unsigned char digest[CW_SEAL_DIGEST];
    if (client->kind != CW_OAUTH_DYNAMIC)
        return client->id;
    cw_seal_digest(client->id, digest);
    cw_hex_write(digest_text, digest, sizeof digest);
    return cw_str_make(digest_text, 16);
}

void cw_consent_audit(const cw_visit *v, const cw_consent *consent, const char *door,
                      const char *outcome)
{
    char digest[2 * CW_SEAL_DIGEST + 1], id[CW_DIGITS_SIZE];
    cw_audit *log = cw_runtime_audit(v->rl);
    if (!cw_audit_is_on(log))
        return;
    (void)cw_audit_add(log, &(cw_audit_record){.kind = CW_AUDIT_CONSENT,
                                               .door = door,
                                               .outcome = outcome,
                                               .caller = v->name,
                                               .caller_id = cw_digits_i64(v->account, id),
                                               .address = cw_http_req_peer(v->req),
                                               .detail = audited_client(&consent->client, digest)});
}
