/* SPDX-License-Identifier: GPL-2.0-or-later */
/* many.c - a plugin with thousands of tools, no two of them alike.
 *
 * Built several times, each with another FIRST: the tools of one are numbered from
 * there on. A tool is about 600 bytes as clients read it: a text, three parameters
 * with a schema and a description each, and a result.
 */
#include <causeway/plugin.h>
#include <stdio.h>
#include <stdlib.h>

CW_PLUGIN("many", "1.0");

#define TEXT 256

typedef struct many {
    cw_plugin_method method;
    cw_plugin_tool tool;
    char id[32];
    char usage[TEXT];
    char title[64];
    char account[TEXT];
    char limit[TEXT];
    char fields[TEXT];
    char output[TEXT];
} many;

static void run(cw_call *call)
{
    cw_open_object(call, NULL);
    cw_put_int(call, "found", cw_arg_int(call, "limit", 10));
    cw_close(call);
}

static void fill(many *m, unsigned i)
{
    snprintf(m->id, sizeof m->id, "ledger.entries%06u", i);
    snprintf(m->title, sizeof m->title, "Entries of ledger %u", i);
    snprintf(m->usage, sizeof m->usage,
             "Finds entries of ledger %u by account and returns how many there are.", i);
    snprintf(m->account, sizeof m->account,
             "{\"type\":\"string\",\"minLength\":1,\"maxLength\":%u}", 16 + i);
    snprintf(m->limit, sizeof m->limit, "{\"type\":\"integer\",\"minimum\":1,\"maximum\":%u}",
             100 + i);
    snprintf(m->fields, sizeof m->fields,
             "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":%u}", 8 + i);
    snprintf(m->output, sizeof m->output,
             "{\"type\":\"object\",\"properties\":{\"found\":{\"type\":\"integer\","
             "\"maximum\":%u}},\"required\":[\"found\"]}",
             100 + i);
    m->method = (cw_plugin_method){
        .run = run,
        .function = m->id,
        .id = m->id,
        .usage = m->usage,
        .output = m->output,
        .permissions = {"access content"},
        .params = {{.name = "account",
                    .schema = m->account,
                    .description = "Which account the entries belong to.",
                    .required = true},
                   {.name = "limit", .schema = m->limit, .description = "Most entries to count."},
                   {.name = "fields", .schema = m->fields, .description = "Which fields to read."}},
    };
    m->tool = (cw_plugin_tool){
        .function = m->id,
        .run = run,
        .title = m->title,
        .annotations = "{\"readOnlyHint\":true}",
    };
}

/* What CW_METHOD and CW_TOOL do for one. */
__attribute__((constructor)) static void add_all(void)
{
    many *all = calloc(COUNT, sizeof *all);
    for (unsigned i = 0; all && i < COUNT; i++) {
        fill(&all[i], FIRST + i);
        *causeway_plugin.methods_end = &all[i].method;
        causeway_plugin.methods_end = &all[i].method.next;
        *causeway_plugin.tools_end = &all[i].tool;
        causeway_plugin.tools_end = &all[i].tool.next;
    }
}
