/* SPDX-License-Identifier: GPL-2.0-or-later */
/* preset.c - the table of known services, and the words of a configuration. */
#include "source/upstream/preset.h"

#include <stdio.h>

#define TEXT(literal) CW_STR_INIT(literal)
#define NEAR 3u /* edits, for "did you mean" */

/* ---- the table ---- */

static const cw_config_init_call qmp_prelude[] = {
    {.method = TEXT("qmp_capabilities"), .params = TEXT("")},
};
static const cw_config_init_call lsp_prelude[] = {
    {.method = TEXT("initialize"),
     .params = TEXT("{\"processId\":null,\"rootUri\":null,\"capabilities\":{}}")},
    {.method = TEXT("initialized"), .params = TEXT("{}"), .notify = true},
};

static const cw_str mcp_changes[] = {
    TEXT("notifications/tools/list_changed"),
    TEXT("notifications/prompts/list_changed"),
    TEXT("notifications/resources/list_changed"),
};

#define TEXTS(list)                                                                                \
    {                                                                                              \
        (list), CW_COUNT(list)                                                                     \
    }

static const cw_str aria2_starters[] = {TEXT("aria2.addUri"), TEXT("aria2.addTorrent")};
static const cw_str aria2_done[] = {TEXT("complete")};
static const cw_str aria2_failed[] = {TEXT("error"), TEXT("removed")};
static const cw_str aria2_progress[] = {TEXT("/completedLength"), TEXT("/totalLength")};
static const cw_config_job_notice aria2_notices[] = {
    {.method = TEXT("aria2.onDownloadComplete"), .id = TEXT("/0/gid"), .error = TEXT("")},
    {.method = TEXT("aria2.onDownloadError"), .id = TEXT("/0/gid"), .error = TEXT("")},
    {.method = TEXT("aria2.onDownloadStop"), .id = TEXT("/0/gid"), .error = TEXT("")},
    {.method = TEXT("aria2.onDownloadPause"), .id = TEXT("/0/gid"), .error = TEXT("")},
    {.method = TEXT("aria2.onDownloadStart"), .id = TEXT("/0/gid"), .error = TEXT("")},
};
/* The list of files may be long: it is read at the end only. */
static const cw_config_job aria2_jobs[] = {
    {.methods = TEXTS(aria2_starters),
     .id = TEXT(""),
     .id_param = TEXT(""),
     .poll = {TEXT("aria2.tellStatus"),
              TEXT(
                  "[\"$job\",[\"gid\",\"status\",\"totalLength\",\"completedLength\",\"errorCode\","
                  "\"errorMessage\"]]")},
     .result = {TEXT("aria2.tellStatus"),
                TEXT("[\"$job\",[\"gid\",\"status\",\"totalLength\",\"completedLength\",\"dir\","
                     "\"files\",\"followedBy\"]]")},
     .cancel = {TEXT("aria2.forceRemove"), TEXT("[\"$job\"]")},
     .dismiss = {TEXT(""), TEXT("")},
     .item = TEXT(""),
     .status = TEXT("/status"),
     .done = TEXTS(aria2_done),
     .failed = TEXTS(aria2_failed),
     .error = TEXT("/errorMessage"),
     .progress = TEXTS(aria2_progress),
     .interval_ms = CW_JOB_INTERVAL_MS,
     .notifications = TEXTS(aria2_notices)},
};

static const cw_str qmp_starters[] = {
    TEXT("blockdev-backup"), TEXT("drive-backup"),    TEXT("block-commit"),
    TEXT("block-stream"),    TEXT("blockdev-create"), TEXT("snapshot-save"),
    TEXT("snapshot-load"),   TEXT("snapshot-delete"), TEXT("x-blockdev-amend"),
};
static const cw_str qmp_done[] = {TEXT("concluded")};
static const cw_str qmp_progress[] = {TEXT("/current-progress"), TEXT("/total-progress")};
/* A block job that ends is not listed any more: its last event has its end. */
static const cw_config_job_notice qmp_notices[] = {
    {.method = TEXT("JOB_STATUS_CHANGE"), .id = TEXT("/id"), .error = TEXT("")},
    {.method = TEXT("BLOCK_JOB_COMPLETED"),
     .id = TEXT("/device"),
     .ends = true,
     .error = TEXT("/error")},
    {.method = TEXT("BLOCK_JOB_CANCELLED"),
     .id = TEXT("/device"),
     .ends = true,
     .error = TEXT("/type")},
};
static const cw_config_job qmp_jobs[] = {
    {.methods = TEXTS(qmp_starters),
     .id = TEXT(""),
     .id_param = TEXT("/job-id"),
     .poll = {TEXT("query-jobs"), TEXT("")},
     .result = {TEXT(""), TEXT("")},
     .cancel = {TEXT("job-cancel"), TEXT("{\"id\":\"$job\"}")},
     .dismiss = {TEXT("job-dismiss"), TEXT("{\"id\":\"$job\"}")},
     .item = TEXT("/id"),
     .status = TEXT("/status"),
     .done = TEXTS(qmp_done),
     .error = TEXT("/error"),
     .progress = TEXTS(qmp_progress),
     .interval_ms = CW_JOB_INTERVAL_MS,
     .notifications = TEXTS(qmp_notices)},
};

/* Members that a row leaves out are those of `usual`. `name` is that of the preset. */
static const cw_config_remote presets[] = {
    {.name = TEXT("aria2"),
     .params = TEXT("positional"),
     .secret = {.as = TEXT("first_param"), .prefix = TEXT("token:")},
     .jobs = TEXTS(aria2_jobs),
     .describe = TEXT("system")},
    {.name = TEXT("bitcoin"), .secret = {.as = TEXT("basic")}, .describe = TEXT("auto")},
    {.name = TEXT("core-lightning"), .framing = TEXT("json"), .describe = TEXT("help")},
    {.name = TEXT("drupal"),
     .ids = TEXT("string"),
     .match_replies = TEXT("http_exchange"),
     .secret = {.as = TEXT("basic")},
     .describe = TEXT("drupal")},
    {.name = TEXT("ethereum"), .params = TEXT("positional"), .describe = TEXT("openrpc")},
    {.name = TEXT("kodi"), .secret = {.as = TEXT("basic")}, .describe = TEXT("kodi")},
    {.name = TEXT("lsp"),
     .framing = TEXT("content-length"),
     .init_calls = {lsp_prelude, CW_COUNT(lsp_prelude)},
     .describe = TEXT("lsp"),
     .replies = TEXT("{\"window/workDoneProgress/create\":null,\"client/registerCapability\":null,"
                     "\"client/unregisterCapability\":null,\"workspace/configuration\":[]}")},
    {.name = TEXT("mcp"),
     .dialect = TEXT("mcp"),
     .change_notifications = {mcp_changes, CW_COUNT(mcp_changes)},
     .describe = TEXT("mcp")},
    {.name = TEXT("mopidy"), .describe = TEXT("mopidy")},
    {.name = TEXT("ovsdb"),
     .dialect = TEXT("1.0"),
     .framing = TEXT("json"),
     .params = TEXT("positional"),
     .describe = TEXT("ovsdb"),
     .replies = TEXT("{\"echo\":\"$params\"}")},
    {.name = TEXT("qmp"),
     .dialect = TEXT("qmp"),
     .framing = TEXT("lines"),
     .greeting = TEXT("yes"),
     .init_calls = {qmp_prelude, CW_COUNT(qmp_prelude)},
     .jobs = TEXTS(qmp_jobs),
     .describe = TEXT("qmp")},
    {.name = TEXT("spdk"), .framing = TEXT("json"), .describe = TEXT("spdk")},
    {.name = TEXT("transmission"),
     .dialect = TEXT("transmission"),
     .secret = {.as = TEXT("basic")},
     .handshake_status = 409,
     .handshake_header = TEXT("X-Transmission-Session-Id"),
     .describe = TEXT("transmission")},
};

/* The defaults of every service. */
static const cw_config_remote usual = {
    .http_method = TEXT("POST"),
    .dialect = TEXT("2.0"),
    .params = TEXT("named"),
    .ids = TEXT("number"),
    .empty_params = TEXT("omit"),
    .match_replies = TEXT("id"),
    .greeting = TEXT("no"),
    .trace = TEXT("auto"),
    .secret = {.as = TEXT("bearer")},
    .describe = TEXT("auto"),
    .protocol = TEXT("auto"),
    .session = TEXT("auto"),
    .output = TEXT("relay"),
};

const cw_config_remote *cw_preset_find(cw_str name)
{
    for (size_t i = 0; i < CW_COUNT(presets); i++) {
        if (cw_str_eq(name, presets[i].name))
            return &presets[i];
    }
    return NULL;
}

const char *cw_preset_names(void)
{
    return "aria2, bitcoin, core-lightning, drupal, ethereum, kodi, lsp, mcp, mopidy, ovsdb, qmp, "
           "spdk, transmission";
}

/* ---- filling ---- */

static void fill_text(cw_str *to, cw_str from)
{
    if (to->n == 0)
        *to = from.p ? from : CW_STR("");
}

static void fill(cw_config_remote *to, const cw_config_remote *from)
{
    fill_text(&to->http_method, from->http_method);
    fill_text(&to->framing, from->framing);
    fill_text(&to->dialect, from->dialect);
    fill_text(&to->params, from->params);
    fill_text(&to->ids, from->ids);
    fill_text(&to->empty_params, from->empty_params);
    fill_text(&to->match_replies, from->match_replies);
    fill_text(&to->greeting, from->greeting);
    fill_text(&to->replies, from->replies);
    fill_text(&to->trace, from->trace);
    fill_text(&to->secret.as, from->secret.as);
    fill_text(&to->secret.name, from->secret.name);
    fill_text(&to->secret.prefix, from->secret.prefix);
    fill_text(&to->describe, from->describe);
    fill_text(&to->protocol, from->protocol);
    fill_text(&to->session, from->session);
    fill_text(&to->output, from->output);
    fill_text(&to->handshake_header, from->handshake_header);
    if (to->handshake_status == 0)
        to->handshake_status = from->handshake_status;
    if (to->init_calls.n == 0)
        to->init_calls = from->init_calls;
    if (to->change_notifications.n == 0)
        to->change_notifications = from->change_notifications;
    if (to->jobs.n == 0)
        to->jobs = from->jobs;
}

/* ---- words ---- */

/* Words and their values; NULL ends the list. */
typedef struct word {
    const char *name;
    int value;
} word;

/* The nearest of "a, b, c", or an empty text. */
static cw_str nearest(const char *names, cw_str text)
{
    cw_str best = CW_STR("");
    unsigned least = NEAR + 1;
    for (cw_str rest = cw_str_from(names); rest.p;) {
        cw_str name = cw_str_trim(cw_str_cut(rest, ',', &rest));
        unsigned d = cw_str_distance_within(name, text, NEAR);
        if (d < least) {
            least = d;
            best = name;
        }
    }
    return best;
}

static cw_code unknown(const char *key, const char *names, cw_str text, cw_err *err)
{
    cw_str near = nearest(names, text);
    if (near.n)
        return cw_fail(err, CW_CONFIG, "%s: there is no \"%.*s\"; did you mean \"%.*s\"?", key,
                       CW_STR_ARG(text), CW_STR_ARG(near));
    return cw_fail(err, CW_CONFIG, "%s: there is no \"%.*s\"; there are %s", key, CW_STR_ARG(text),
                   names);
}

static cw_code read_word(const char *key, const word *words, cw_str text, int *ret, cw_err *err)
{
    char names[256] = "";
    size_t n = 0;
    for (const word *w = words; w->name; w++) {
        if (cw_str_is(text, w->name)) {
            *ret = w->value;
            return CW_OK;
        }
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", w->name);
    }
    return unknown(key, names, text, err);
}

static cw_code read_protocol(const cw_config_remote *c, cw_protocol_opts *ret, cw_err *err)
{
    static const word styles[] = {{"named", CW_PARAMS_NAMED},
                                  {"positional", CW_PARAMS_POSITIONAL},
                                  {"mixed", CW_PARAMS_MIXED},
                                  {0}};
    static const word ids[] = {{"number", false}, {"string", true}, {0}};
    static const word empties[] = {{"omit", false}, {"send", true}, {0}};
    static const word correlates[] = {{"id", false}, {"http_exchange", true}, {0}};
    int style = 0, string_ids = 0, sends = 0, by_exchange = 0;
    *ret = (cw_protocol_opts){.dialect = cw_dialect_find(c->dialect)};
    if (!ret->dialect)
        return unknown("dialect", cw_dialect_names(), c->dialect, err);
    cw_code rc = read_word("params", styles, c->params, &style, err);
    if (!rc)
        rc = read_word("ids", ids, c->ids, &string_ids, err);
    if (!rc)
        rc = read_word("empty_params", empties, c->empty_params, &sends, err);
    if (!rc)
        rc = read_word("match_replies", correlates, c->match_replies, &by_exchange, err);
    ret->params = (cw_params_style)style;
    ret->string_ids = string_ids;
    ret->sends_empty = sends;
    ret->by_exchange = by_exchange;
    return rc;
}

static cw_code read_others(const cw_config_remote *c, cw_preset_values *ret, cw_err *err)
{
    static const word framings[] = {{"lines", CW_FRAMING_LINES},
                                    {"crlf", CW_FRAMING_CRLF},
                                    {"content-length", CW_FRAMING_CONTENT_LENGTH},
                                    {"length", CW_FRAMING_LENGTH},
                                    {"json", CW_FRAMING_JSON},
                                    {0}};
    static const word verbs[] = {{"POST", 0}, {"GET", 1}, {"AUTO", 2}, {0}};
    static const word greetings[] = {{"no", 0}, {"yes", 1}, {0}};
    static const word places[] = {{"auto", CW_TRACE_PLACE_AUTO},
                                  {"meta", CW_TRACE_PLACE_META},
                                  {"none", CW_TRACE_PLACE_NONE},
                                  {0}};
    int framing = CW_FRAMING_LINES, verb = 0, greets = 0, place = 0;
    cw_code rc = c->framing.n ? read_word("framing", framings, c->framing, &framing, err) : CW_OK;
    if (!rc)
        rc = read_word("http_method", verbs, c->http_method, &verb, err);
    if (!rc)
        rc = read_word("speaks_first", greetings, c->greeting, &greets, err);
    if (!rc)
        rc = read_word("trace", places, c->trace, &place, err);
    ret->trace = (cw_trace_place)place;
    ret->framing = (cw_framing)framing;
    ret->gets = verb == 1;
    ret->gets_reads = verb == 2;
    ret->is_php = cw_str_is(c->preset, "drupal");
    if (rc || cw_str_is(c->describe, "auto"))
        return rc;
    ret->describer = cw_describer_find(c->describe);
    return ret->describer ? CW_OK : unknown("discovery", cw_describer_names(), c->describe, err);
}

static cw_code read_questions(const cw_config_strings *words, unsigned *ret, cw_err *err)
{
    *ret = words->n ? 0 : CW_RELAY_FORM;
    for (size_t i = 0; i < words->n; i++) {
        unsigned bits = cw_relay_capability(words->items[i]);
        if (!bits && !cw_str_is(words->items[i], "none"))
            return unknown("questions", "form, url, sampling, roots, none", words->items[i], err);
        *ret |= bits;
    }
    return CW_OK;
}

static cw_code read_mcp(const cw_config_remote *c, cw_preset_values *ret, cw_err *err)
{
    static const word eras[] = {
        {"auto", CW_RELAY_UNKNOWN}, {"modern", CW_RELAY_MODERN}, {"legacy", CW_RELAY_LEGACY}, {0}};
    static const word modes[] = {{"auto", CW_RELAY_MODE_AUTO},
                                 {"shared", CW_RELAY_MODE_SHARED},
                                 {"caller", CW_RELAY_MODE_CALLER},
                                 {"call", CW_RELAY_MODE_CALL},
                                 {0}};
    static const word outputs[] = {{"relay", false}, {"strict", true}, {0}};
    int era = 0, mode = 0, is_strict = 0;
    cw_code rc = read_word("protocol", eras, c->protocol, &era, err);
    if (!rc)
        rc = read_word("session", modes, c->session, &mode, err);
    if (!rc)
        rc = read_word("output", outputs, c->output, &is_strict, err);
    if (!rc)
        rc = read_questions(&c->questions, &ret->questions, err);
    ret->pinned = (cw_relay_era)era;
    ret->sessions = (cw_relay_mode)mode;
    ret->is_strict = is_strict;
    return rc;
}

/* ---- invalid combinations ---- */

static bool has_scheme(const cw_config_remote *c, const char *scheme)
{
    cw_str s = cw_str_from(scheme);
    return c->url.n >= s.n && cw_str_ieq(cw_str_make(c->url.p, s.n), s);
}

static bool is_http(const cw_config_remote *c)
{
    const size_t n = sizeof "unix:" - 1;
    return has_scheme(c, "http://") || has_scheme(c, "https://") ||
           (has_scheme(c, "unix:") && memchr(c->url.p + n, ':', c->url.n - n));
}

static bool is_websocket(const cw_config_remote *c)
{
    return has_scheme(c, "ws://") || has_scheme(c, "wss://");
}

static cw_code check_secret(const cw_config_remote *c, bool has_head, cw_err *err)
{
    static const word kinds[] = {{"bearer", 1},      {"basic", 1}, {"header", 2},
                                 {"first_param", 3}, {"param", 4}, {0}};
    int kind;
    cw_code rc = read_word("secret.as", kinds, c->secret.as, &kind, err);
    bool has_secret = c->secret.file.n || c->secret.environment.n;
    if (rc || !has_secret)
        return rc;
    if (c->secret.file.n && c->secret.environment.n)
        return cw_fail(err, CW_CONFIG, "secret: there are both a file and an environment");
    if (kind <= 2 && !has_head)
        return cw_fail(err, CW_CONFIG,
                       "secret.as: \"%s\" is for HTTP and WebSocket; others take \"first\" or "
                       "\"member\"",
                       c->secret.as.p);
    if ((kind == 2 || kind == 4) && c->secret.name.n == 0)
        return cw_fail(err, CW_CONFIG, "secret.name: missing; \"%s\" needs one", c->secret.as.p);
    if (kind == 3 && !cw_str_is(c->params, "positional"))
        return cw_fail(err, CW_CONFIG, "secret.as: \"first\" is for positional params");
    return CW_OK;
}

/* The keys of MCP servers, and those that they do not have. */
static cw_code check_mcp(const cw_config_remote *c, bool http, cw_err *err)
{
    const struct {
        const char *name;
        bool is_set;
    } own[] = {
        {"protocol", !cw_str_is(c->protocol, "auto")},
        {"session", !cw_str_is(c->session, "auto")},
        {"output", !cw_str_is(c->output, "relay")},
        {"questions", c->questions.n > 0},
        {"resources", c->exposed[CW_CONFIG_RESOURCES].n > 0},
        {"templates", c->exposed[CW_CONFIG_TEMPLATES].n > 0},
        {"prompts", c->exposed[CW_CONFIG_PROMPTS].n > 0},
        {"relay_instructions", c->relays_instructions},
    };
    bool is_mcp = cw_str_is(c->dialect, "mcp");
    for (size_t i = 0; i < CW_COUNT(own) && !is_mcp; i++) {
        if (own[i].is_set)
            return cw_fail(err, CW_CONFIG, "%s: only for MCP servers, with dialect: mcp",
                           own[i].name);
    }
    if (cw_str_is(c->describe, "mcp") != is_mcp && (is_mcp ? c->openrpc.n == 0 : true))
        return cw_fail(err, CW_CONFIG, "discovery: \"mcp\" and dialect: \"mcp\" go together");
    if (is_mcp && c->init_calls.n)
        return cw_fail(err, CW_CONFIG, "init_calls: an MCP server has its own handshake");
    if (is_mcp && !http && !cw_str_is(c->session, "auto") && !cw_str_is(c->session, "shared"))
        return cw_fail(err, CW_CONFIG, "session: a stream has one session, which is shared");
    return CW_OK;
}

/* A context in the params of a call. */
static cw_code check_trace(const cw_config_remote *c, cw_err *err)
{
    if (!cw_str_is(c->trace, "meta") || cw_str_is(c->dialect, "mcp"))
        return CW_OK;
    if (cw_str_is(c->params, "positional"))
        return cw_fail(err, CW_CONFIG, "trace: \"meta\" is for named params");
    if (!cw_str_is(c->http_method, "POST"))
        return cw_fail(err, CW_CONFIG,
                       "trace: \"meta\" is for POST; equal calls by GET have equal URLs");
    return CW_OK;
}

/* Notifications arrive on a connection that stays open. */
static cw_code check_events(const cw_config_remote *c, bool http, cw_err *err)
{
    if (c->events.n == 0)
        return CW_OK;
    if (http)
        return cw_fail(
            err, CW_CONFIG,
            "events: only for ws, wss, tcp, unix and command; HTTP has no notifications");
    if (cw_str_is(c->dialect, "mcp"))
        return cw_fail(err, CW_CONFIG, "events: not for MCP servers");
    return CW_OK;
}

static cw_code check_jobs(const cw_config_jobs *jobs, bool is_mcp, cw_err *err)
{
    if (jobs->n && is_mcp)
        return cw_fail(err, CW_CONFIG, "jobs: an MCP server has tasks instead");
    for (size_t i = 0; i < jobs->n; i++) {
        const cw_config_job *job = &jobs->items[i];
        const char *missing = job->methods.n == 0       ? "methods"
                              : job->poll.method.n == 0 ? "poll.method"
                              : job->status.n == 0      ? "status"
                              : job->done.n == 0        ? "done"
                                                        : NULL;
        if (missing)
            return cw_fail(err, CW_CONFIG, "jobs[%zu].%s: missing", i, missing);
        if (job->progress.n == 1)
            return cw_fail(err, CW_CONFIG, "jobs[%zu].progress: two pointers are needed", i);
    }
    return CW_OK;
}

static cw_code check(const cw_config_remote *c, cw_err *err)
{
    bool http = is_http(c), has_head = http || is_websocket(c);
    cw_code rc = check_mcp(c, http, err);
    if (!rc)
        rc = check_events(c, http, err);
    if (!rc)
        rc = check_jobs(&c->jobs, cw_str_is(c->dialect, "mcp"), err);
    if (rc)
        return rc;
    if ((c->url.n != 0) == (c->command.n != 0))
        return cw_fail(err, CW_CONFIG, "set exactly one of url and command");
    if (!http && !cw_str_is(c->http_method, "POST"))
        return cw_fail(err, CW_CONFIG, "http_method: only for HTTP");
    if (!http && c->call_path.n)
        return cw_fail(err, CW_CONFIG, "call_path: only for HTTP");
    if (!http && c->proxy.n)
        return cw_fail(err, CW_CONFIG, "proxy: only for HTTP");
    if (!has_head && c->headers.n)
        return cw_fail(err, CW_CONFIG, "headers: only for HTTP and WebSocket");
    if (!has_head && c->oauth.token_url.n)
        return cw_fail(err, CW_CONFIG, "oauth: only for HTTP and WebSocket");
    if (!http && cw_str_is(c->match_replies, "http_exchange"))
        return cw_fail(err, CW_CONFIG,
                       "match_replies: a stream has no exchanges; answers need ids");
    if (c->oauth.token_url.n && (c->secret.file.n || c->secret.environment.n) &&
        cw_str_is(c->secret.as, "bearer"))
        return cw_fail(err, CW_CONFIG, "oauth: there is a secret that goes to the same header");
    rc = check_trace(c, err);
    return rc ? rc : check_secret(c, has_head, err);
}

cw_code cw_preset_apply(cw_config_remote *config, cw_preset_values *ret, cw_err *err)
{
    const cw_config_remote *preset = cw_preset_find(config->preset);
    bool has_framing = config->framing.n; /* of the operator: a preset's is for its streams */
    *ret = (cw_preset_values){0};
    if (config->preset.n && !preset)
        return unknown("preset", cw_preset_names(), config->preset, err);
    if (preset)
        fill(config, preset);
    if (cw_str_is(config->dialect, "mcp"))
        fill(config, cw_preset_find(CW_STR("mcp")));
    fill(config, &usual);
    cw_code rc = read_protocol(config, &ret->protocol, err);
    if (!rc)
        rc = read_others(config, ret, err);
    if (!rc)
        rc = read_mcp(config, ret, err);
    if (!rc)
        rc = check(config, err);
    if (!rc && has_framing && is_http(config))
        rc = cw_fail(err, CW_CONFIG, "framing: HTTP has its own; only for streams");
    return rc;
}
