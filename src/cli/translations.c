/* SPDX-License-Identifier: GPL-2.0-or-later */
/* translations: prints the translatable texts as a template for the gettext tools.
 *
 * The catalogue is loaded as the server would load it: plugins in processes of
 * their own, services by asking them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "catalogue/translate.h"
#include "cli/lib/loop.h"
#include "cli/lib/progress.h"
#include "cli/plugin/plugin.h"
#include "net/process/child.h"
#include "server/files/own_files.h"
#include "server/files/plugin_host_path.h"
#include "source/registry/registry.h"

#define SETTLE_MS 10000u
#define OUTPUT_MAX_BYTES (1024u * 1024u * 1024u)

/* ---- the template ---- */

/* A text and the first place that it was found at; others follow. */
typedef struct place {
    struct place *next; /* the same text elsewhere */
    struct place *last; /* of the first one */
    const cw_method *method;
    cw_phrase phrase;
} place;

typedef struct template
{
    cw_arena arena;
    cw_map by_text; /* -> place, the first one */
    place **items;  /* in the order that they were found in */
    size_t n, cap;
}
template;

static cw_code add_text(template *t, const cw_method *method, const cw_phrase *phrase)
{
    place *p = cw_arena_calloc(&t->arena, 1, sizeof *p);
    if (!p)
        return CW_NOMEM;
    *p = (place){.method = method, .phrase = *phrase, .last = p};
    place *first = cw_map_find(&t->by_text, phrase->text);
    if (first) {
        first->last->next = p;
        first->last = p;
        return CW_OK;
    }
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 64;
        place **items =
            cw_arena_resize(&t->arena, t->items, t->cap * sizeof(place *), cap * sizeof(place *));
        if (!items)
            return CW_NOMEM;
        t->items = items;
        t->cap = cap;
    }
    t->items[t->n++] = p;
    return cw_map_put(&t->by_text, phrase->text, p, NULL);
}

/* .po files have no way to write a NUL, and a context ends with \4. */
static bool can_stand(cw_str text)
{
    return !memchr(text.p, '\0', text.n) && !memchr(text.p, '\4', text.n);
}

static cw_code collect(template *t, const cw_snapshot *snapshot)
{
    size_t n;
    const cw_entry *entries = cw_snapshot_entries(snapshot, &n);
    for (size_t i = 0; i < n; i++) {
        const cw_method *method = entries[i].method;
        cw_phrase phrase;
        size_t at = 0;
        while (cw_phrase_next(method, &at, &phrase)) {
            cw_code rc = can_stand(phrase.text) ? add_text(t, method, &phrase) : CW_OK;
            if (rc)
                return rc;
        }
    }
    return CW_OK;
}

static void add_escaped(cw_buf *out, cw_str text)
{
    static const char plain[] = "\n\t\r\"\\", escaped[] = "ntr\"\\";
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        const char *at = c ? strchr(plain, c) : NULL;
        if (at) {
            cw_buf_add_char(out, '\\');
            cw_buf_add_char(out, escaped[at - plain]);
        } else if (c < ' ' || c == 0x7F) {
            cw_buf_printf(out, "\\%03o", c);
        } else {
            cw_buf_add_char(out, (char)c);
        }
    }
}

/* A text of several lines has a line for each. */
static void add_string(cw_buf *out, const char *keyword, cw_str text)
{
    const char *end = memchr(text.p, '\n', text.n);
    cw_buf_printf(out, "%s ", keyword);
    if (end && end != text.p + text.n - 1)
        cw_buf_add(out, CW_STR("\"\"\n"));
    while (text.n) {
        end = memchr(text.p, '\n', text.n);
        size_t n = end ? (size_t)(end - text.p) + 1 : text.n;
        cw_buf_add_char(out, '"');
        add_escaped(out, cw_str_make(text.p, n));
        cw_buf_add(out, CW_STR("\"\n"));
        text = cw_str_make(text.p + n, text.n - n);
    }
}

/* "#. examples.articles.list: description of "page"". A line break would end the comment. */
static void add_place(cw_buf *out, const place *p)
{
    cw_buf line;
    cw_buf_init(&line, OUTPUT_MAX_BYTES);
    cw_buf_add(&line, p->method->id);
    if (p->phrase.param.n)
        cw_buf_printf(&line, ": parameter \"%.*s\"", CW_STR_ARG(p->phrase.param));
    else
        cw_buf_add(&line, p->phrase.is_title ? CW_STR(": title") : CW_STR(": usage"));
    cw_buf_add(out, CW_STR("#. "));
    for (size_t i = 0; i < line.n; i++)
        cw_buf_add_char(out, (unsigned char)line.p[i] < ' ' ? ' ' : line.p[i]);
    cw_buf_add_char(out, '\n');
    if (line.code && !out->code)
        out->code = line.code;
    cw_buf_done(&line);
}

static void write_template(cw_buf *out, const template *t, bool with_contexts)
{
    cw_buf_add(out, CW_STR("msgid \"\"\n"
                           "msgstr \"\"\n"
                           "\"MIME-Version: 1.0\\n\"\n"
                           "\"Content-Type: text/plain; charset=UTF-8\\n\"\n"
                           "\"Content-Transfer-Encoding: 8bit\\n\"\n"));
    for (size_t i = 0; i < t->n; i++) {
        for (const place *p = t->items[i]; p; p = p->next) {
            if (p == t->items[i] || with_contexts)
                cw_buf_add_char(out, '\n');
            add_place(out, p);
            if (!with_contexts && p->next)
                continue;
            if (with_contexts && can_stand(p->method->id))
                add_string(out, "msgctxt", p->method->id);
            add_string(out, "msgid", p->phrase.text);
            cw_buf_add(out, CW_STR("msgstr \"\"\n"));
        }
    }
}

static int print_template(const cw_snapshot *snapshot, bool with_contexts)
{
    template t = {0};
    cw_buf out;
    cw_arena_init(&t.arena, CW_ARENA_MAX);
    cw_map_init(&t.by_text, SIZE_MAX / 2);
    cw_buf_init(&out, OUTPUT_MAX_BYTES);
    cw_code rc = collect(&t, snapshot);
    if (!rc)
        write_template(&out, &t, with_contexts);
    if (rc && !out.code)
        out.code = rc;
    cw_map_done(&t.by_text);
    cw_arena_done(&t.arena);
    return cw_cli_print_buf(&out);
}

/* ---- the catalogue ---- */

typedef struct gatherer {
    cw_config *config;
    bool with_contexts;
    cw_loop *loop;
    cw_spawner *spawner;
    uv_timer_t timer;
    cw_cli_progress progress;
    cw_snapshot *snapshot;
    size_t pending;
    bool is_late;
    int code; /* of the command, if the sources were loaded */
} gatherer;

static void write_loading(cw_buf *out, void *ctx)
{
    (void)ctx;
    cw_buf_add(out, CW_STR("loading the sources"));
}

static void on_snapshot(cw_snapshot *snapshot, cw_source *const *retired, size_t n_retired,
                        void *ctx)
{
    gatherer *g = ctx;
    (void)retired;
    (void)n_retired;
    cw_snapshot_unref(g->snapshot);
    g->snapshot = snapshot;
}

static void on_settled(void *ctx)
{
    gatherer *g = ctx;
    if (g->pending)
        cw_cli_loop_finish(g->loop, &g->pending);
}

static void on_late(uv_timer_t *timer)
{
    gatherer *g = timer->data;
    g->is_late = g->pending > 0;
    if (g->is_late)
        cw_cli_loop_finish(g->loop, &g->pending);
}

/* Load every source and keep the last catalogue that comes of it. */
static cw_code run_sources(gatherer *g, cw_sources *sources, cw_err *err)
{
    g->pending = 1;
    cw_code rc = cw_sources_configure(sources, g->config, err);
    if (rc)
        return rc;
    uv_timer_init(&g->loop->uv, &g->timer);
    g->timer.data = g;
    uv_timer_start(&g->timer, on_late, SETTLE_MS, 0);
    cw_cli_progress_start(&g->progress, &g->loop->uv, write_loading, NULL);
    cw_cli_loop_wait(g->loop, &g->pending);
    cw_cli_progress_stop(&g->progress);
    uv_close((uv_handle_t *)&g->timer, NULL);
    return g->is_late ? cw_fail(err, CW_TIMEOUT, "timeout: not every source is loaded") : CW_OK;
}

static cw_code load_sources(gatherer *g, const char *host, cw_err *err)
{
    cw_sources *sources = NULL;
    cw_sources_opts opts = {.loop = g->loop,
                            .n_loops = 1,
                            .spawner = g->spawner,
                            .host = host,
                            .publish = on_snapshot,
                            .settled = on_settled,
                            .ctx = g,
                            .is_quiet = true};
    cw_code rc = cw_sources_new(&opts, &sources, err);
    if (rc)
        return rc;
    rc = run_sources(g, sources, err);
    if (!rc)
        g->code = print_template(g->snapshot, g->with_contexts);
    cw_loop_drop_messages(g->loop); /* the sources free the messages that wait */
    cw_sources_free(sources);
    return rc;
}

static cw_code run_on_loop(cw_loop *loop, void *ctx, cw_err *err)
{
    gatherer *g = ctx;
    char *host = NULL;
    g->loop = loop;
    cw_code rc = cw_plugin_host_find(g->config, g->config->plugins.directory.n > 0, &host, err);
    if (!rc)
        rc = cw_spawner_new(&g->spawner, err);
    if (!rc)
        rc = cw_own_files_hide(g->spawner, g->config, err);
    if (!rc)
        rc = load_sources(g, host, err);
    cw_snapshot_unref(g->snapshot);
    free(host);
    return rc;
}

static void free_spawner(void *ctx)
{
    cw_spawner_free(((gatherer *)ctx)->spawner);
}

/* ---- the command ---- */

static int extract(int argc, char **argv)
{
    const char *path = NULL;
    gatherer g = {0};
    cw_err err = {0};
    const cw_cli_option options[] = {
        CW_CLI_CONFIG_OPTION(&path),
        {"contexts", 0, CW_CLI_FLAG, &g.with_contexts, NULL,
         "write a text once per method, with the method's id as\n"
         "its context, so that each has its own translation"},
        {0},
    };
    const cw_cli_spec spec = {
        "translations extract", "",
        "Print a template (.pot) for msginit and msgmerge with the titles, usages and\n"
        "parameter descriptions of all configured sources. Sources that cannot be loaded\n"
        "are reported on standard error and omitted.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code >= 0)
        return code;
    code = cw_cli_load_config(path, &g.config);
    if (code >= 0)
        return code;
    /* The log shows problems only. */
    (void)!cw_log_configure(&(cw_log_opts){.level = CW_LOG_WARN}, NULL);
    cw_code rc = cw_cli_loop_run(run_on_loop, free_spawner, &g, &err);
    cw_config_unref(g.config);
    return rc ? cw_cli_failure("%s", err.msg) : g.code;
}

static const cw_cli_command commands[] = {
    {"extract", "print a template with all translatable texts", extract},
    {0},
};

int cw_cli_translations(int argc, char **argv)
{
    static const cw_cli_group group = {
        "causeway translations",
        "Translate titles and descriptions of tools.",
        "\"causeway help translations COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
