/* SPDX-License-Identifier: GPL-2.0-or-later */
/* instructions.c - the text for the client's model about a server or toolset: the operator's, else one
 * that is made from the sources of the caller's tools, with their skills and the texts of MCP servers.
 */
#include <stdlib.h>

#include "base/utf8.h"
#include "catalogue/skills.h"
#include "catalogue/tool/portable_name.h"
#include "door/mcp/instructions.h"
#include "door/mcp/mcp_int.h"

#define CHUNK 64u
#define EXAMPLES 3u
#define SOURCES_MAX 256u       /* that are counted one by one */
#define SKILL_DESCRIPTION 200u /* bytes */
#define ROOM_FOR_END 64u       /* bytes, for the number of sources that are left out */

typedef struct source_tools {
    const cw_source *source;
    size_t n;
    const cw_entry *examples[EXAMPLES];
} source_tools;

typedef struct summary {
    const cw_mcp_request *r;
    bool only_callable;
    source_tools sources[SOURCES_MAX];
    size_t n_sources, n_tools;
} summary;

static source_tools *find_source(summary *s, const cw_source *source)
{
    for (size_t i = 0; i < s->n_sources; i++) {
        if (s->sources[i].source == source)
            return &s->sources[i];
    }
    if (s->n_sources == SOURCES_MAX)
        return NULL;
    s->sources[s->n_sources] = (source_tools){.source = source};
    return &s->sources[s->n_sources++];
}

static void count_tool(summary *s, const cw_entry *entry)
{
    if (s->only_callable && cw_view_verdict(s->r->view, entry) != CW_VERDICT_ALLOW)
        return;
    source_tools *of = find_source(s, entry->method->source);
    s->n_tools++;
    if (of && of->n < EXAMPLES)
        of->examples[of->n] = entry;
    if (of)
        of->n++;
}

static void count_tools(summary *s)
{
    const cw_entry *entries[CHUNK];
    size_t n, total, at = 0;
    do {
        if (cw_view_page(s->r->view, CW_VIEW_TOOLS, at, entries, CHUNK, &n, &total))
            return;
        for (size_t i = 0; i < n; i++)
            count_tool(s, entries[i]);
        at += n;
    } while (n && at < total);
}

/* The largest first; equal ones by name. */
static int compare_sources(const void *a, const void *b)
{
    const source_tools *x = a, *y = b;
    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return cw_str_cmp(x->source->name, y->source->name);
}

static void add_source(cw_buf *out, const summary *s, const source_tools *of)
{
    bool is_portable = s->r->session->profile & CW_MCP_PORTABLE_NAMES;
    char room[CW_PORTABLE_NAME_MAX];
    cw_buf_printf(out, "\n- %.*s: %zu %s", CW_STR_ARG(of->source->name), of->n,
                  of->n == 1 ? "tool" : "tools");
    for (size_t i = 0; i < of->n && i < EXAMPLES; i++) {
        cw_str name = of->examples[i]->tool_name;
        cw_buf_add(out, i ? CW_STR(", ") : CW_STR(", such as "));
        cw_buf_add(out, is_portable ? cw_portable_name(name, room) : name);
    }
}

/* As many sources as have room. */
static void write_summary(cw_buf *out, summary *s)
{
    cw_str title = cw_view_toolset(s->r->view) ? cw_view_toolset(s->r->view)->title : CW_STR("");
    qsort(s->sources, s->n_sources, sizeof *s->sources, compare_sources);
    if (title.n)
        cw_buf_printf(out, "%.*s. ", CW_STR_ARG(title));
    cw_buf_printf(out, "%zu %s, by source:", s->n_tools, s->n_tools == 1 ? "tool" : "tools");
    for (size_t i = 0; i < s->n_sources; i++) {
        size_t before = out->n;
        add_source(out, s, &s->sources[i]);
        if (out->code || out->n + ROOM_FOR_END <= CW_CONFIG_MAX_INSTRUCTIONS)
            continue;
        out->n = before;
        cw_buf_printf(out, "\n- and %zu more sources", s->n_sources - i);
        return;
    }
}

/* The texts of MCP servers whose tools the caller sees, as far as there is room. */
static void add_relayed(cw_buf *out, const summary *s)
{
    for (size_t i = 0; i < s->n_sources; i++) {
        cw_str name = s->sources[i].source->name, text = s->sources[i].source->instructions;
        size_t used = out->n + name.n + sizeof "\n\n: ";
        if (!text.n || used >= CW_CONFIG_MAX_INSTRUCTIONS)
            continue;
        text.n = cw_utf8_cut(text, CW_CONFIG_MAX_INSTRUCTIONS - used);
        cw_buf_printf(out, "\n\n%.*s: ", CW_STR_ARG(name));
        cw_buf_add(out, text);
    }
}

/* The skills that the caller sees, as far as there is room: models read them by their URIs. */
static void add_skills(cw_buf *out, const cw_view *view)
{
    const cw_skill *skill = NULL;
    size_t n, before = out->n;
    bool has_more;
    cw_view_skills_after(view, CW_STR(""), &skill, 1, &n, &has_more);
    if (n)
        cw_buf_add(out, CW_STR("\n\nSkills, read by resources/read:"));
    while (n && !out->code) {
        cw_buf_printf(out, "\n- %.*s: ", CW_STR_ARG(skill->uri));
        cw_buf_add(out, cw_str_make(skill->description.p,
                                    cw_utf8_cut(skill->description, SKILL_DESCRIPTION)));
        if (out->n > CW_CONFIG_MAX_INSTRUCTIONS) {
            out->n = before;
            return;
        }
        before = out->n;
        cw_view_skills_after(view, skill->root, &skill, 1, &n, &has_more);
    }
}

static void summarize(cw_buf *out, const cw_mcp_request *r, bool with_texts)
{
    summary s = {.r = r, .only_callable = cw_mcp_has_no_login(r->rl, r->responder)};
    count_tools(&s);
    if (s.n_tools)
        write_summary(out, &s);
    if (s.n_tools && with_texts) {
        add_skills(out, r->view);
        add_relayed(out, &s);
    }
}

void cw_mcp_add_summary(cw_buf *out, const cw_mcp_request *r)
{
    summarize(out, r, /* with_texts= */ false);
}

/* The member `instructions` with a comma in front, or nothing. */
static void write_made(cw_buf *out, void *ctx)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, 4 * CW_CONFIG_MAX_INSTRUCTIONS);
    summarize(&text, ctx, /* with_texts= */ true);
    if (!text.n)
        return;
    cw_buf_add(out, CW_STR(",\"instructions\":"));
    cw_json_escape(out, cw_buf_str(&text));
    if (text.code && !out->code)
        out->code = text.code;
}

static void add_made(cw_buf *out, const cw_mcp_request *r)
{
    cw_mcp_request own = *r;
    bool only_callable = cw_mcp_has_no_login(r->rl, r->responder);
    if (cw_view_discover_verdict(r->view) != CW_VERDICT_ALLOW)
        return;
    const char kind[] = {'i', (char)('0' + only_callable),
                         (char)(r->session->profile & CW_MCP_PORTABLE)};
    cw_page_cache_key key = {.kind = cw_str_make(kind, sizeof kind), .view = r->view};
    cw_page *page;
    if (cw_page_cache_get(cw_runtime_cache(r->rl), &key, write_made, &own, &page, NULL)) {
        out->code = out->code ? out->code : CW_NOMEM;
        return;
    }
    cw_buf_add(out, cw_buf_str(&page->body));
    cw_page_unref(page);
}

void cw_mcp_add_instructions(cw_buf *out, const cw_mcp_request *r)
{
    const cw_toolset *toolset = cw_view_toolset(r->view);
    cw_str own = toolset ? toolset->instructions : cw_runtime_config(r->rl)->mcp.instructions;
    if (!own.n) {
        add_made(out, r);
        return;
    }
    cw_buf_add(out, CW_STR(",\"instructions\":"));
    cw_json_escape(out, own);
}
