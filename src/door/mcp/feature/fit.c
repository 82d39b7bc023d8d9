/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fit.c - results of tools that are too large for a client: the part that is sent, and reading the rest.
 *
 * A result over cw_method.result_size was validated as a whole. The client gets the value with its
 * largest list, object or string cut (json/shorten.h), a sentence about that, and a link to the whole
 * (kept_results.h). A list becomes {"items":[…],"total":N}, unless the output schema forbids that. What is
 * sent matches the output schema. If no cut does, the client gets an error with the beginning of the
 * result, because clients reject structured content that does not match.
 *
 * Sizes that the operator has set are applied by the source (source/remote/mapping.h); here such a
 * result gets its link.
 */
#include "door/mcp/feature/fit.h"

#include <inttypes.h>

#include "base/utf8.h"
#include "json/shorten.h"
#include "metrics/metrics.h"

#define BEGINNING 2048u /* bytes of a result that no cut makes valid */
#define ROOM 256u       /* for members beside the items */

/* A result that is being cut. */
typedef struct fitting {
    cw_mcp_call *call;
    const cw_json *whole;
    cw_arena *arena;
    cw_mcp_kept_id kept; /* n_parts 0: the whole is not kept */
    cw_json_shortened cut;
    cw_str place;
} fitting;

static const cw_method *method_of(const cw_mcp_call *call)
{
    return call->target.entry->method;
}

bool cw_mcp_is_large(const cw_mcp_call *call, const cw_outcome *outcome)
{
    const cw_method *m = method_of(call);
    if (outcome->kind != CW_OUTCOME_RESULT || outcome->relay || outcome->content ||
        call->target.ops->same != CW_FIND_SAME_TOOL)
        return false;
    if (m->has_result_size || !m->result_size)
        return outcome->whole != NULL;
    return cw_json_span(outcome->result).n > m->result_size;
}

void cw_mcp_kept_on_over(cw_deadline *d)
{
    cw_mcp_registry *registry = CW_CONTAINER(d, cw_mcp_registry, kept_over);
    if (cw_mcp_kept_sweep(&registry->door->kept, cw_clock_wall_ms()))
        cw_loop_set_deadline(registry->loop, d, &registry->kept);
}

static void drop_later(cw_mcp_registry *registry, uint32_t ttl_ms)
{
    cw_loop_set_duration(registry->loop, &registry->kept, (uint64_t)ttl_ms + 1);
    if (!registry->kept_over.list)
        cw_loop_set_deadline(registry->loop, &registry->kept_over, &registry->kept);
}

static void keep(fitting *f)
{
    cw_mcp_call *call = f->call;
    const cw_config_kept_results *limits = &cw_runtime_config(call->rl)->mcp.kept_results;
    cw_mcp_session_owner by;
    cw_mcp_session_owner_init(&by, call->view, call->responder);
    /* Without it the client gets the part alone, and a sentence that says so. */
    if (cw_mcp_kept_add(&call->door->kept, limits, &by, call->target.entry->tool_name, f->whole,
                        method_of(call)->result_size, &f->kept))
        f->kept.n_parts = 0;
    else
        drop_later(cw_mcp_registry_of(call->door, call->responder->loop), limits->ttl_ms);
}

/* ---- the part that is sent ---- */

/* The text as a value in the arena; NULL without memory. */
static const cw_json *to_value(const fitting *f, const cw_buf *text)
{
    const cw_json *ret;
    cw_str copy = text->code ? (cw_str){NULL, 0} : cw_arena_dup_str(f->arena, cw_buf_str(text));
    const cw_json_opts opts = {.max_bytes = copy.n + 1, .max_depth = CW_JSON_DEPTH_CEILING};
    return copy.p && !cw_json_read(copy, &opts, f->arena, &ret, NULL, NULL) ? ret : NULL;
}

static void add_uri(cw_buf *out, const fitting *f, uint32_t part)
{
    cw_buf_printf(out, CW_MCP_KEPT_SCHEME "%s", f->kept.text);
    if (part)
        cw_buf_printf(out, "/%u", part);
}

/* {"items":[…],"total":N,"truncated":true,"rest":"causeway://results/…/1"} */
static void wrap_items(cw_buf *out, const fitting *f, cw_str items)
{
    cw_buf_add(out, CW_STR("{\"items\":"));
    cw_buf_add(out, items);
    cw_buf_printf(out, ",\"total\":%u,\"truncated\":true", cw_json_count(f->whole));
    if (f->kept.n_parts) {
        cw_buf_add(out, CW_STR(",\"rest\":\""));
        add_uri(out, f, 1);
        cw_buf_add_char(out, '"');
    }
    cw_buf_add_char(out, '}');
}

/* The text as a value that matches the output schema; NULL: it does not, or there is no memory. */
static const cw_json *to_result(const fitting *f, const cw_buf *text)
{
    const cw_entry *entry = f->call->target.entry;
    const cw_json *ret = to_value(f, text);
    bool is_valid = ret && (!entry->method->output.n || cw_call_is_result(f->call->rl, entry, ret));
    return is_valid ? ret : NULL;
}

/* The whole with one part of it cut. NULL: no cut makes it fit and match the output schema. */
static const cw_json *shorten(fitting *f)
{
    size_t max = method_of(f->call)->result_size;
    const cw_json *ret = NULL;
    CW_CLEANUP(cw_buf_done) cw_buf cut;
    CW_CLEANUP(cw_buf_done) cw_buf place;
    CW_CLEANUP(cw_buf_done) cw_buf wrapped;
    cw_buf_init(&cut, CW_BUF_MAX);
    cw_buf_init(&place, CW_BUF_MAX);
    cw_buf_init(&wrapped, CW_BUF_MAX);
    if (!cw_json_shorten(f->whole, max > 2 * ROOM ? max - ROOM : max, &cut, &place, &f->cut))
        return NULL;
    f->place = cw_arena_dup_str(f->arena, cw_buf_str(&place));
    if (!f->place.p)
        return NULL;
    if (cw_json_is(f->whole, CW_JSON_ARRAY)) {
        wrap_items(&wrapped, f, cw_buf_str(&cut));
        ret = to_result(f, &wrapped);
    }
    return ret ? ret : to_result(f, &cut);
}

/* ---- the sentences about it ---- */

static void add_reading(cw_buf *out, const fitting *f)
{
    if (!f->kept.n_parts) {
        cw_buf_add(out, CW_STR(" The rest is not available."));
        return;
    }
    cw_buf_add(out, CW_STR(" Read the resource "));
    add_uri(out, f, 1);
    if (f->kept.n_parts > 1) {
        cw_buf_add(out, CW_STR(" and so on to "));
        add_uri(out, f, f->kept.n_parts);
    }
    cw_buf_printf(out, " for all of it, within %u s.",
                  cw_runtime_config(f->call->rl)->mcp.kept_results.ttl_ms / 1000);
}

static void add_note(cw_buf *out, const fitting *f, bool is_shortened)
{
    static const char *const units[] = {[CW_JSON_STRING] = "bytes of the text",
                                        [CW_JSON_ARRAY] = "elements of the list",
                                        [CW_JSON_OBJECT] = "members of the object"};
    size_t size = cw_json_span(f->whole).n;
    cw_buf_printf(out, "This is a part of a result of %zu bytes", size);
    if (is_shortened) {
        cw_buf_printf(out, ": %" PRIu64 " of %" PRIu64 " %s", f->cut.shown, f->cut.total,
                      units[f->cut.type]);
        if (f->place.n)
            cw_buf_printf(out, " at %.*s", CW_STR_ARG(f->place));
    }
    cw_buf_add_char(out, '.');
    add_reading(out, f);
}

static void add_text_block(cw_buf *out, const cw_buf *text)
{
    cw_buf_add(out, CW_STR(",{\"type\":\"text\",\"text\":"));
    cw_json_escape(out, cw_buf_str(text));
    cw_buf_add_char(out, '}');
}

static void add_link(cw_buf *out, const fitting *f)
{
    bool is_list = cw_json_is(f->whole, CW_JSON_ARRAY);
    cw_buf_add(out, CW_STR(",{\"type\":\"resource_link\",\"uri\":\""));
    add_uri(out, f, 0);
    cw_buf_add(out, CW_STR("\",\"name\":"));
    cw_json_escape(out, f->call->target.entry->tool_name);
    cw_buf_printf(out,
                  ",\"title\":\"Whole result\",\"description\":\"In %u parts: add /1 to /%u to the "
                  "address\",\"mimeType\":\"%s\",\"size\":%zu}",
                  f->kept.n_parts, f->kept.n_parts, is_list ? "application/json" : "text/plain",
                  cw_json_span(f->whole).n);
}

/* The part, the sentence and the link as blocks; NULL without memory. */
static const cw_json *make_content(const fitting *f, const cw_json *part, bool is_shortened)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    CW_CLEANUP(cw_buf_done) cw_buf note;
    cw_buf_init(&out, CW_BUF_MAX);
    cw_buf_init(&note, CW_BUF_MAX);
    add_note(&note, f, is_shortened);
    cw_buf_add(&out, CW_STR("[{\"type\":\"text\",\"text\":"));
    cw_mcp_add_text(&out, part);
    cw_buf_add_char(&out, '}');
    add_text_block(&out, &note);
    if (f->kept.n_parts)
        add_link(&out, f);
    cw_buf_add_char(&out, ']');
    return note.code ? NULL : to_value(f, &out);
}

/* No cut makes a valid result: an error, in which the client can read how it begins. */
static void fail(const fitting *f, cw_outcome *ret)
{
    cw_str text = cw_json_text(f->whole);
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, CW_BUF_MAX);
    cw_buf_printf(&out,
                  "The call succeeded, but its result of %zu bytes is too large, and a part of it "
                  "would not match the output schema.",
                  cw_json_span(f->whole).n);
    add_reading(&out, f);
    cw_buf_add(&out, CW_STR(" It begins with: "));
    cw_buf_add(&out, cw_str_make(text.p, cw_utf8_cut(text, BEGINNING)));
    cw_str copy = out.code ? (cw_str){NULL, 0} : cw_arena_dup_str(f->arena, cw_buf_str(&out));
    *ret = (cw_outcome){.kind = CW_OUTCOME_FAILED,
                        .message = copy.p ? copy : CW_STR("The result is too large.")};
}

void cw_mcp_fit(cw_mcp_call *call, const cw_outcome *outcome, cw_outcome *ret)
{
    bool is_cut = outcome->whole != NULL; /* by the source */
    fitting f = {.call = call,
                 .whole = is_cut ? outcome->whole : outcome->result,
                 .arena = call->responder->arena};
    keep(&f);
    *ret = *outcome;
    if (!is_cut)
        ret->result = shorten(&f);
    if (ret->result)
        ret->content = make_content(&f, ret->result, !is_cut);
    if (!ret->result || !ret->content)
        fail(&f, ret);
}

/* ---- resources/read ---- */

/* The caller must still be allowed to call the tool. */
static bool may_read(const cw_mcp_request *r, cw_str tool)
{
    const cw_entry *entry = cw_view_find_tool(r->view, tool);
    return entry && cw_view_verdict(r->view, entry) == CW_VERDICT_ALLOW;
}

static void add_part_uri(cw_buf *out, const cw_mcp_kept_part *part, uint32_t number)
{
    cw_buf_printf(out, "\"" CW_MCP_KEPT_SCHEME "%s/%u\"", part->id, number);
}

static void reply_part(const cw_mcp_request *r, const cw_mcp_kept_part *part)
{
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_open_result(&b);
    cw_buf_add(&b, CW_STR("{\"contents\":[{\"uri\":"));
    add_part_uri(&b, part, part->part);
    cw_buf_printf(
        &b, ",\"mimeType\":\"%s\",\"text\":", part->is_json ? "application/json" : "text/plain");
    cw_json_escape(&b, cw_buf_str(&part->text));
    cw_buf_printf(&b, ",\"_meta\":{\"causeway/part\":%u,\"causeway/parts\":%u", part->part,
                  part->n_parts);
    if (part->part < part->n_parts) {
        cw_buf_add(&b, CW_STR(",\"causeway/next\":"));
        add_part_uri(&b, part, part->part + 1);
    }
    cw_buf_add(&b, CW_STR("}}]"));
    if (r->era->is_modern)
        cw_buf_add(&b, CW_STR(",\"ttlMs\":0,\"cacheScope\":\"private\"," CW_MCP_RESULT_META));
    cw_buf_add_char(&b, '}');
    cw_rpc_close(&b, r->item->id);
    cw_metrics_add(CW_METRIC_TOKENS, CW_TOKENS_RETURNED, 0, 0, (int64_t)b.n);
    cw_rpc_item_reply(r->item, 200, &b, CW_STR(""));
}

bool cw_mcp_read_kept(const cw_mcp_request *r, cw_str uri)
{
    if (!cw_str_starts(uri, CW_STR(CW_MCP_KEPT_SCHEME)))
        return false;
    cw_mcp_session_owner by;
    cw_mcp_session_owner_init(&by, r->view, r->responder);
    cw_mcp_kept_part part = {0};
    cw_buf_init(&part.text, CW_BUF_MAX);
    cw_buf_init(&part.tool, CW_BUF_MAX);
    cw_code rc = cw_mcp_kept_read(&r->door->kept, &by, uri, &part);
    bool is_there = !rc && may_read(r, cw_buf_str(&part.tool));
    cw_call_error refusal;
    if (rc == CW_NOMEM)
        cw_door_fail_nomem(r->item);
    else if (is_there &&
             cw_call_may_list(r->rl, r->view, cw_responder_peer(r->responder), &refusal))
        cw_door_fail_rate_limited(r->item, &refusal);
    else if (is_there) {
        cw_call_audit_read(r->rl, r->view, cw_mcp_door_name(r->responder),
                           cw_responder_peer(r->responder), cw_buf_str(&part.tool), uri);
        reply_part(r, &part);
    }
    cw_buf_done(&part.text);
    cw_buf_done(&part.tool);
    return is_there || rc == CW_NOMEM;
}
