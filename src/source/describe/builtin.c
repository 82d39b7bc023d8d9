/* SPDX-License-Identifier: GPL-2.0-or-later */
/* builtin.c - services that do not describe themselves and whose methods are known: one row
 * each. A manifest can describe the other methods of a newer version. */
#include "source/describe/describe_ctx.h"

#include <stdio.h>

#define IDS                                                                                        \
    "\"type\":[\"array\",\"integer\",\"string\"],\"description\":\"ids, hashes, or "               \
    "\\\"recently-active\\\"; left out: all\""
#define TEXT "\"type\":\"string\""
#define FLAG "\"type\":\"boolean\""
#define NUMBER "\"type\":\"integer\""
#define DOCUMENT                                                                                   \
    "\"type\":\"object\",\"properties\":{\"uri\":{\"type\":\"string\"}},\"required\":[\"uri\"]"
#define POSITION                                                                                   \
    "\"type\":\"object\",\"properties\":{\"line\":{\"type\":\"integer\",\"minimum\":0},"           \
    "\"character\":{\"type\":\"integer\",\"minimum\":0}},\"required\":[\"line\",\"character\"]"

/* A param: "name" or "name!" where it is required, then its schema without braces. */
typedef struct param {
    const char *name, *schema;
} param;

#define PARAMS_MAX 6

typedef struct known {
    const char *name, *usage;
    param params[PARAMS_MAX];
    enum { CHANGES, READS, DESTROYS, NOTICE } kind;
} known;

static const known transmission[] = {
    {"torrent-get",
     "Fields of torrents",
     {{"fields!", "\"type\":\"array\",\"items\":{\"type\":\"string\"}"}, {"ids", IDS}},
     READS},
    {"torrent-add",
     "Add a torrent by URL, magnet link or file",
     {{"filename", TEXT}, {"metainfo", TEXT}, {"download-dir", TEXT}, {"paused", FLAG}},
     CHANGES},
    {"torrent-start", "Start torrents", {{"ids", IDS}}, CHANGES},
    {"torrent-stop", "Stop torrents", {{"ids", IDS}}, CHANGES},
    {"torrent-verify", "Verify the data of torrents", {{"ids", IDS}}, CHANGES},
    {"torrent-reannounce", "Ask trackers for more peers", {{"ids", IDS}}, CHANGES},
    {"torrent-remove",
     "Remove torrents, with their data where wanted",
     {{"ids!", IDS}, {"delete-local-data", FLAG}},
     DESTROYS},
    {"torrent-set-location",
     "Move torrents",
     {{"ids!", IDS}, {"location!", TEXT}, {"move", FLAG}},
     CHANGES},
    {"torrent-rename-path",
     "Rename a file of a torrent",
     {{"ids!", IDS}, {"path!", TEXT}, {"name!", TEXT}},
     CHANGES},
    {"session-get",
     "Settings of the session",
     {{"fields", "\"type\":\"array\",\"items\":{\"type\":\"string\"}"}},
     READS},
    {"session-stats", "Numbers of the session: torrents, speeds, totals", {{0}}, READS},
    {"free-space", "Free space of a folder", {{"path!", TEXT}}, READS},
    {"port-test", "Whether the port is open to the world", {{0}}, READS},
    {"blocklist-update", "Update the blocklist", {{0}}, CHANGES},
    {"queue-move-top", "Move torrents to the top of the queue", {{"ids", IDS}}, CHANGES},
    {"queue-move-bottom", "Move torrents to the bottom of the queue", {{"ids", IDS}}, CHANGES},
    {"session-close", "End the daemon", {{0}}, DESTROYS},
    {0},
};

static const known lsp[] = {
    {"textDocument/didOpen",
     "Show a document to the server; needed before asking about it",
     {{"textDocument!",
       "\"type\":\"object\",\"properties\":{\"uri\":{\"type\":\"string\"},\"languageId\":{\"type\":"
       "\"string\"},\"version\":{\"type\":\"integer\"},\"text\":{\"type\":\"string\"}},"
       "\"required\":[\"uri\",\"languageId\",\"version\",\"text\"]"}},
     NOTICE},
    {"textDocument/didClose", "Take a document back", {{"textDocument!", DOCUMENT}}, NOTICE},
    {"textDocument/hover",
     "What is known of the symbol at a position",
     {{"textDocument!", DOCUMENT}, {"position!", POSITION}},
     READS},
    {"textDocument/definition",
     "Where the symbol at a position is defined",
     {{"textDocument!", DOCUMENT}, {"position!", POSITION}},
     READS},
    {"textDocument/declaration",
     "Where the symbol at a position is declared",
     {{"textDocument!", DOCUMENT}, {"position!", POSITION}},
     READS},
    {"textDocument/references",
     "Where the symbol at a position is used",
     {{"textDocument!", DOCUMENT},
      {"position!", POSITION},
      {"context!", "\"type\":\"object\",\"properties\":{\"includeDeclaration\":{\"type\":"
                   "\"boolean\"}},\"required\":[\"includeDeclaration\"]"}},
     READS},
    {"textDocument/documentSymbol", "Symbols of a document", {{"textDocument!", DOCUMENT}}, READS},
    {"textDocument/completion",
     "What could stand at a position",
     {{"textDocument!", DOCUMENT}, {"position!", POSITION}},
     READS},
    {"textDocument/signatureHelp",
     "Signatures of the call at a position",
     {{"textDocument!", DOCUMENT}, {"position!", POSITION}},
     READS},
    {"textDocument/formatting",
     "Edits that format a document",
     {{"textDocument!", DOCUMENT},
      {"options!",
       "\"type\":\"object\",\"properties\":{\"tabSize\":{\"type\":\"integer\"},\"insertSpaces\":{"
       "\"type\":\"boolean\"}},\"required\":[\"tabSize\",\"insertSpaces\"]"}},
     READS},
    {"textDocument/rename",
     "Edits that rename the symbol at a position",
     {{"textDocument!", DOCUMENT}, {"position!", POSITION}, {"newName!", TEXT}},
     READS},
    {"workspace/symbol", "Symbols of the project by name", {{"query!", TEXT}}, READS},
    {0},
};

static void write_param(cw_openrpc_writer *doc, const param *p)
{
    char schema[512];
    cw_str name = cw_str_from(p->name);
    bool required = name.p[name.n - 1] == '!';
    name.n -= required;
    snprintf(schema, sizeof schema, "{%s}", p->schema);
    cw_openrpc_writer_param(doc, &(cw_openrpc_writer_param_opts){.name = name,
                                                                 .schema = cw_str_from(schema),
                                                                 .required = required});
}

static void write_all(cw_describe_ctx *d, const known *rows)
{
    cw_openrpc_writer doc;
    cw_openrpc_writer_open(&doc, d->service, CW_STR(""));
    for (const known *row = rows; row->name; row++) {
        cw_openrpc_writer_method(&doc, cw_str_from(row->name), cw_str_from(row->usage));
        for (size_t i = 0; i < PARAMS_MAX && row->params[i].name; i++)
            write_param(&doc, &row->params[i]);
        if (row->kind == NOTICE)
            cw_openrpc_writer_member(&doc, "x-notification", CW_STR("true"));
        if (row->kind == READS)
            cw_openrpc_writer_member(&doc, "x-mcp-tool",
                                     CW_STR("{\"annotations\":{\"readOnlyHint\":true}}"));
        /* Explicit, so that the name is not used to guess. */
        if (row->kind == CHANGES)
            cw_openrpc_writer_member(&doc, "x-mcp-tool",
                                     CW_STR("{\"annotations\":{\"readOnlyHint\":false}}"));
        if (row->kind == DESTROYS)
            cw_openrpc_writer_member(&doc, "x-mcp-tool",
                                     CW_STR("{\"annotations\":{\"destructiveHint\":true}}"));
        cw_openrpc_writer_close_method(&doc);
    }
    cw_openrpc_writer_finish(&doc, d);
}

/* ---- transmission: one call shows that it is there ---- */

static cw_code begin_transmission(cw_describe_ctx *d, cw_err *err)
{
    return d->ops->query(d, CW_STR("session-get"), CW_STR("{\"fields\":[\"version\"]}"), 0, err);
}

static void on_transmission_response(cw_describe_ctx *d, unsigned tag, const cw_outcome *outcome)
{
    (void)tag;
    if (outcome->kind == CW_OUTCOME_RESULT)
        write_all(d, transmission);
    else
        cw_describe_refused(d, "session-get", outcome);
}

const cw_describer cw_describe_transmission = {
    .name = "transmission", .begin = begin_transmission, .incoming = on_transmission_response};

/* ---- language servers: the initial calls have initialized it already ---- */

/* Every server responds to this request, an unknown method with an error. */
static cw_code begin_lsp(cw_describe_ctx *d, cw_err *err)
{
    return d->ops->query(d, CW_STR("workspace/symbol"), CW_STR("{\"query\":\"\"}"), 0, err);
}

static void on_lsp_response(cw_describe_ctx *d, unsigned tag, const cw_outcome *outcome)
{
    (void)tag;
    if (outcome->kind == CW_OUTCOME_FAILED)
        cw_describe_refused(d, "workspace/symbol", outcome);
    else
        write_all(d, lsp);
}

const cw_describer cw_describe_lsp = {
    .name = "lsp", .begin = begin_lsp, .incoming = on_lsp_response};
