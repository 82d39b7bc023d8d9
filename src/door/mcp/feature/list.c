/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list.c - lists of the catalogue, page by page, with sealed cursors. */
#include "door/mcp/feature/list.h"
#include "catalogue/skills.h"
#include "door/mcp/feature/search.h"
#include "door/mcp/task/task_legacy.h"
#include "door/negotiate.h"
#include "metrics/metrics.h"

#define PURPOSE CW_STR("mcp cursor")
#define PAGE_KIND 8u /* characters */
/* In place of a list in a cursor: of resources, behind the last one of the catalogue. */
#define SKILLS ((cw_view_list)CW_VIEW_LISTS)
#define CHUNK 64u    /* entries that are looked up at once */
#define TRAILER 320u /* bytes behind a list */
/* Pages of this size are sent from the cache: many clients that read slowly hold one copy. A
 * smaller one is copied, which is cheaper than another range to send. */
#define SHARE_FROM 16384u

typedef struct page {
    const cw_mcp_request *r;
    const cw_mcp_list *list;
    cw_view *view;
    cw_mcp_reader reader;
    cw_str after;       /* the last name of the page before; empty: the first page */
    bool in_skills;     /* `after` is the root of a skill; empty: before the first */
    bool only_callable; /* nothing that requires a login: there is none */
} page;

/* ---- cursors ---- */

/* list u8 | name */
static cw_str make_cursor(const page *p, cw_view_list list, cw_str last)
{
    cw_arena *arena = p->r->responder->arena;
    cw_str cursor = {NULL, 0};
    char *plain = cw_arena_alloc(arena, 1 + last.n);
    if (!plain)
        return cursor;
    plain[0] = (char)list;
    memcpy(plain + 1, last.p, last.n);
    if (cw_seal_close(p->r->door->seal, PURPOSE, cw_str_make(plain, 1 + last.n), arena, &cursor,
                      NULL))
        return (cw_str){NULL, 0};
    return cursor;
}

/* False: the request is answered. */
static bool read_cursor(page *p)
{
    const cw_json *cursor = p->r->members.cursor;
    cw_str plain;
    if (!cursor)
        return true;
    cw_code rc = CW_PARSE;
    if (cw_json_is(cursor, CW_JSON_STRING))
        rc = cw_seal_open(p->r->door->seal, PURPOSE, cw_json_text(cursor), p->r->responder->arena,
                          &plain);
    cw_view_list list = !rc && plain.n ? (cw_view_list)plain.p[0] : CW_VIEW_METHODS;
    p->in_skills = list == SKILLS && p->list->list == CW_VIEW_RESOURCES;
    if (p->in_skills || (!rc && plain.n > 1 && list == p->list->list)) {
        p->after = cw_str_make(plain.p + 1, plain.n - 1);
        return true;
    }
    if (rc == CW_NOMEM)
        cw_door_fail_nomem(p->r->item);
    else
        cw_door_fail(p->r->item, 200, CW_RPC_PARAMS, "cursor is not one of this list");
    return false;
}

/* ---- the page ---- */

/* False for a tool whose portable name another one has too: a call by it would reach neither. */
static bool has_own_name(const page *p, const cw_entry *entry)
{
    char room[CW_PORTABLE_NAME_MAX];
    if (!p->reader.has_portable_names || p->list->list != CW_VIEW_TOOLS)
        return true;
    cw_str name = cw_portable_name(entry->tool_name, room);
    return name.p != room || cw_view_find_portable(p->view, name) == entry;
}

static bool is_listed(const page *p, const cw_entry *entry)
{
    if (p->only_callable && cw_view_verdict(p->view, entry) != CW_VERDICT_ALLOW)
        return false;
    return has_own_name(p, entry);
}

/* The instructions of skills are resources too, behind the others. Returns whether some are left. */
static bool write_skills(cw_buf *out, const page *p, size_t left, cw_str *last, char *separator)
{
    const cw_skill *skill;
    size_t n;
    bool has_more;
    cw_view_skills_after(p->view, *last, &skill, left ? 1 : 0, &n, &has_more);
    while (n && !out->code) {
        cw_buf_add_char(out, *separator);
        *separator = ',';
        cw_buf_add(out, skill->resource);
        *last = skill->root;
        cw_view_skills_after(p->view, *last, &skill, --left ? 1 : 0, &n, &has_more);
    }
    return has_more;
}

/* "tools":[…],"nextCursor":"…" */
static void write_page(cw_buf *out, void *ctx)
{
    const page *p = ctx;
    const cw_entry *entries[CHUNK];
    uint32_t size = cw_runtime_config(p->r->rl)->mcp.page_size;
    cw_str last = p->after;
    size_t n, left = size ? size : CW_MCP_PAGE_SIZE;
    bool has_more = !p->in_skills;
    char separator = '[';
    cw_view_list list = p->list->list;
    if (p->list->list == CW_VIEW_TOOLS && cw_mcp_is_search(p->view)) {
        cw_mcp_search_write_list(out, p->r);
        return;
    }
    cw_json_escape(out, p->list->member);
    cw_buf_add_char(out, ':');
    while (has_more && left && !out->code) {
        cw_view_after(p->view, p->list->list, last, entries, left < CHUNK ? left : CHUNK, &n,
                      &has_more);
        for (size_t i = 0; i < n && !out->code; i++) {
            last = cw_view_name(p->list->list, entries[i]);
            if (!is_listed(p, entries[i]))
                continue;
            cw_buf_add_char(out, separator);
            separator = ',';
            p->list->write(out, entries[i], &p->reader);
        }
        left -= n;
    }
    if (!has_more && list == CW_VIEW_RESOURCES) {
        last = p->in_skills ? last : CW_STR("");
        list = SKILLS;
        has_more = write_skills(out, p, left, &last, &separator);
    }
    cw_buf_add(out, separator == '[' ? CW_STR("[]") : CW_STR("]"));
    if (!has_more)
        return;
    cw_str cursor = make_cursor(p, list, last);
    if (!cursor.p && !out->code)
        out->code = CW_NOMEM;
    cw_buf_add(out, CW_STR(",\"nextCursor\":"));
    cw_json_escape(out, cursor);
}

/* Clients that read the same form and language share a page. */
static cw_code get_page(page *p, cw_page **ret)
{
    /* A page has a cursor, which must not outlive the key that sealed it: each key has pages of its own. */
    const cw_seal_key *key_of_cursor = cw_seal_get_current(p->r->door->seal);
    /* One character for each, all small numbers: this is made for every request. */
    char kind[PAGE_KIND + sizeof key_of_cursor] = {
        'm',
        'c',
        'p',
        (char)('0' + p->list->list),
        (char)('0' + p->reader.form),
        (char)(p->r->session->profile & CW_MCP_PORTABLE),
        (char)('0' + p->reader.omits_output_schemas + 2 * p->reader.has_short_descriptions +
               4 * p->reader.has_signatures + 8 * p->reader.has_task_support),
        (char)('0' + p->only_callable + 2 * p->in_skills)};
    memcpy(kind + PAGE_KIND, &key_of_cursor, sizeof key_of_cursor);
    cw_page_cache_key key = {.kind = cw_str_make(kind, sizeof kind),
                             .view = p->view,
                             .language = p->reader.language ? cw_language_tag(p->reader.language)
                                                            : CW_STR(""),
                             .name = p->after};
    return cw_page_cache_get(cw_runtime_cache(p->r->rl), &key, write_page, p, ret, NULL);
}

/* ---- the answer ---- */

/* The configuration alone decides. If the catalogue did, "private" would reveal hidden tools. */
cw_str cw_mcp_scope(const cw_mcp_request *r, bool reads_same)
{
    /* Without accounts all are one caller. */
    bool is_one_caller = !cw_runtime_accounts(r->rl);
    return reads_same && is_one_caller ? CW_STR("public") : CW_STR("private");
}

static cw_str scope_of_list(const cw_mcp_request *r)
{
    const cw_runtime_loop *rl = r->rl;
    /* A client with another language or another name reads something else. */
    return cw_mcp_scope(r, !cw_runtime_settings_of(rl)->translations &&
                               !cw_runtime_config(rl)->mcp.clients.n);
}

/* Have the answer send the page itself, where that pays. Without memory it sends a copy. */
static void share(cw_rpc_item *item, cw_page *d)
{
    if (CW_LIKELY(d->body.n < SHARE_FROM) || !cw_rpc_item_can_share(item))
        return;
    d->refs++;
    if (!cw_arena_hold(item->batch->responder->arena, d, cw_page_unref))
        item->shared = cw_buf_str(&d->body);
}

static void answer(const page *p, cw_str body)
{
    const cw_mcp_request *r = p->r;
    cw_buf b;
    bool is_shared = r->item->shared.n > 0;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_buf_reserve(&b, (is_shared ? 0 : body.n) + r->item->id.n + TRAILER);
    cw_rpc_open_result(&b);
    cw_buf_add_char(&b, '{');
    r->item->shared_at = b.n;
    if (!is_shared)
        cw_buf_add(&b, body);
    if (r->era->is_modern) {
        cw_buf_add(&b, CW_STR(",\"ttlMs\":"));
        cw_buf_add_i64(&b, cw_runtime_settings_of(r->rl)->list_ttl_ms);
        cw_buf_add(&b, CW_STR(",\"cacheScope\":\""));
        cw_buf_add(&b, scope_of_list(r));
        cw_buf_add(&b, CW_STR("\"," CW_MCP_RESULT_META));
    }
    cw_buf_add_char(&b, '}');
    cw_rpc_close(&b, r->item->id);
    cw_metrics_add(CW_METRIC_TOKENS, CW_TOKENS_LISTED, 0, 0, (int64_t)body.n);
    if (p->reader.language) {
        /* The rest of a batch may be answered when there are other translations. */
        cw_str tag = cw_arena_dup_str(r->responder->arena, cw_language_tag(p->reader.language));
        r->item->batch->opts.language = tag.p ? tag : CW_STR("");
    }
    cw_rpc_item_reply(r->item, 200, &b, CW_STR(""));
}

/* The language of the answer, or NULL. */
static const cw_language *language_of(const cw_mcp_request *r)
{
    return cw_negotiate_language(cw_responder_header(r->responder, CW_STR("Accept-Language")),
                                 cw_runtime_settings_of(r->rl)->translations,
                                 cw_view_caller(r->view));
}

/* A caller that may list nothing, and cannot log in, gets an empty list. Else it is challenged, or
 * refused. False: the message is answered. */
static bool may_list(const page *p)
{
    const cw_mcp_request *r = p->r;
    cw_call_found found;
    if (CW_LIKELY(!cw_mcp_find(r, (cw_call_lookup){.discovers = true}, &found)))
        return true;
    if (!cw_mcp_leads_nowhere(r->rl, r->responder, found.verdict)) {
        cw_mcp_refuse(r->item, found.verdict, NULL);
        return false;
    }
    cw_buf none;
    cw_buf_init(&none, CW_BUF_MAX);
    cw_json_escape(&none, p->list->member);
    cw_buf_add(&none, CW_STR(":[]"));
    if (none.code)
        cw_door_fail_nomem(r->item);
    else
        answer(p, cw_buf_str(&none));
    cw_buf_done(&none);
    return false;
}

/* The settings of the client, else those of its toolset. */
static bool is_lean(unsigned profile, unsigned own, unsigned bit, bool of_toolset)
{
    return profile & own ? (profile & bit) != 0 : of_toolset;
}

cw_mcp_reader cw_mcp_reader_of(const cw_mcp_request *r)
{
    const cw_config *config = cw_runtime_config(r->rl);
    const cw_toolset *toolset = cw_view_toolset(r->view);
    unsigned profile = r->session->profile;
    return (cw_mcp_reader){.form = r->era->form,
                           .has_portable_names = (profile & CW_MCP_PORTABLE_NAMES) != 0,
                           .has_portable_schemas = (profile & CW_MCP_PORTABLE_SCHEMAS) != 0,
                           .has_structured_text = config->mcp.structured_text,
                           .omits_output_schemas =
                               is_lean(profile, CW_MCP_OWN_OUTPUT_SCHEMAS, CW_MCP_NO_OUTPUT_SCHEMAS,
                                       toolset && toolset->omits_output_schemas),
                           .has_short_descriptions =
                               is_lean(profile, CW_MCP_OWN_DESCRIPTIONS, CW_MCP_SHORT_DESCRIPTIONS,
                                       toolset && toolset->has_short_descriptions),
                           .has_signatures = toolset && toolset->has_signatures,
                           .has_task_support = cw_mcp_has_legacy_tasks(r),
                           .draft = config->schema.default_draft};
}

void cw_mcp_reply_list(const cw_mcp_request *r, const cw_mcp_list *list)
{
    cw_page *d;
    page p = {.r = r,
              .list = list,
              .view = r->view,
              .reader = cw_mcp_reader_of(r),
              .after = CW_STR(""),
              .only_callable = cw_mcp_has_no_login(r->rl, r->responder)};
    p.reader.language = language_of(r);
    if (!may_list(&p))
        return;
    cw_call_error refusal = {0};
    if (cw_call_may_list(r->rl, r->view, cw_responder_peer(r->responder), &refusal)) {
        cw_door_fail_rate_limited(r->item, &refusal);
        return;
    }
    if (!read_cursor(&p))
        return;
    bool is_short =
        p.reader.has_portable_names && !cw_snapshot_portable_names(cw_view_snapshot(p.view));
    if (is_short || get_page(&p, &d)) {
        cw_door_fail_nomem(r->item);
        return;
    }
    share(r->item, d);
    answer(&p, cw_buf_str(&d->body));
    cw_page_unref(d);
}
