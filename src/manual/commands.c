/* SPDX-License-Identifier: GPL-2.0-or-later */
/* commands.c - the pages of the program and of its commands, from the tables of --help. */
#include <stdio.h>

#include "cli/lib/cli.h"
#include "manual/manual.h"
#include "manual/roff.h"

/* ---- parts of a page ---- */

/* A text of a table, which has no full stop, as a sentence. */
static void add_sentence(cw_buf *out, const char *text)
{
    CW_CLEANUP(cw_buf_done) cw_buf sentence;
    cw_buf_init(&sentence, 64u * 1024u);
    cw_buf_printf(&sentence, "%s.", text);
    cw_roff_text(out, cw_buf_str(&sentence));
}

static void add_options(cw_buf *out, const cw_cli_option *options)
{
    for (; options && options->name; options++) {
        cw_buf_add(out, CW_STR(".It "));
        if (options->letter)
            cw_buf_printf(out, "Fl \\&%c , ", options->letter);
        cw_buf_add(out, CW_STR("Fl \\-"));
        cw_roff_escape(out, cw_str_from(options->name));
        if (options->value)
            cw_buf_add(out, CW_STR(" "));
        cw_roff_value(out, options->value);
        cw_buf_add_char(out, '\n');
        add_sentence(out, options->help);
    }
}

static const cw_cli_topic *find_topic(const char *name)
{
    const cw_cli_topic *t = cw_cli_topics;
    while (t->name && !cw_str_is(cw_str_from(t->name), name))
        t++;
    return t;
}

/* `command` NULL: of all commands. */
static void add_exit_status(cw_buf *out, const char *command)
{
    const cw_cli_topic *topic = find_topic("exit-codes");
    cw_roff_section(out, "EXIT STATUS");
    cw_roff_open_list(out);
    for (const cw_cli_term *t = topic->terms; t && t->word; t++) {
        cw_roff_item(out, "", cw_str_from(t->word));
        add_sentence(out, t->text);
    }
    cw_roff_close_list(out);
    if (topic->more &&
        (!command || cw_str_starts(cw_str_from(topic->more), cw_str_from(command)))) {
        cw_buf_add(out, CW_STR(".Pp\n"));
        cw_roff_text(out, cw_str_from(topic->more));
    }
}

/* Whether the page mentions $NAME. */
static bool has_variable(const cw_buf *page, const char *name)
{
    char text[64];
    int n = snprintf(text, sizeof text, "$%s", name);
    return page->n && memmem(page->p, page->n, text, (size_t)n);
}

/* The variables that the page mentions, or all. */
static void add_environment(cw_buf *out, bool all)
{
    bool is_open = false;
    for (const cw_cli_term *t = find_topic("environment")->terms; t && t->word; t++) {
        if (!all && !has_variable(out, t->word))
            continue;
        if (!is_open) {
            cw_roff_section(out, "ENVIRONMENT");
            cw_roff_open_list(out);
        }
        is_open = true;
        cw_roff_item(out, "Ev", cw_str_from(t->word));
        add_sentence(out, t->text);
    }
    if (is_open)
        cw_roff_close_list(out);
}

/* ---- the program ---- */

static void add_program(const cw_cli_group *group, const cw_cli_option *common, void *ctx)
{
    cw_buf *out = ctx;
    cw_roff_open(out, "causeway", 1, "gateway from JSON-RPC methods to MCP tools");
    cw_roff_section(out, "SYNOPSIS");
    cw_buf_add(out, CW_STR(".Nm\n.Ar COMMAND\n.Op Ar OPTION ...\n.Op Ar ARGUMENT ...\n"));
    cw_roff_section(out, "DESCRIPTION");
    cw_roff_text(out, cw_str_from(group->about));
    cw_roff_text(out, CW_STR("Options have GNU style: \"--config FILE\", \"--config=FILE\", \"-c "
                             "FILE\" and \"-cFILE\" are the same. Options and arguments may be "
                             "mixed, and \"--\" ends the options. Option names cannot be "
                             "abbreviated."));
    cw_buf_add(out, CW_STR(".Pp\nThe commands are:\n"));
    cw_roff_open_list(out);
    for (const cw_cli_command *c = group->commands; c->name; c++) {
        if (!c->summary)
            continue;
        cw_buf_add(out, CW_STR(".It Xr causeway-"));
        cw_roff_escape(out, cw_str_from(c->name));
        cw_buf_add(out, CW_STR(" 1\n"));
        add_sentence(out, c->summary);
    }
    cw_roff_close_list(out);
    cw_buf_add(out, CW_STR(".Pp\nThe options in front of a command are:\n"));
    cw_roff_open_list(out);
    add_options(out, common);
    cw_roff_close_list(out);
    add_environment(out, /* all= */ true);
    cw_roff_section(out, "FILES");
    cw_roff_open_list(out);
    cw_roff_item(out, "Pa", CW_STR("causeway.yaml"));
    cw_roff_text(out,
                 CW_STR("The configuration. It has no fixed place: --config or CAUSEWAY_CONFIG "
                        "names it."));
    cw_roff_item(out, "Pa", CW_STR("~/.local/state/causeway"));
    cw_roff_text(out,
                 CW_STR("Keys and sockets of servers whose configuration does not place them."));
    cw_roff_close_list(out);
    add_exit_status(out, NULL);
    cw_roff_see_also(out, (const char *const[]){"causeway-plugin-host 1", "causeway-plugin 3",
                                                "causeway.yaml 5", NULL});
}

/* ---- commands ---- */

typedef struct page {
    cw_buf *out;
    cw_str wanted;                 /* the command at the top */
    const char *command, *summary; /* of it; NULL: no such command */
    char name[64];                 /* "causeway-source" */
    bool is_synopsis;              /* the commands of a group are visited twice */
} page;

static void add_synopsis(cw_buf *out, const cw_cli_spec *spec)
{
    cw_buf_add(out, CW_STR(".Nm causeway "));
    cw_roff_escape(out, cw_str_from(spec->name));
    cw_buf_add(out, CW_STR("\n.Op Ar OPTION ...\n"));
    cw_roff_arguments(out, spec->args);
}

/* A command of a group: its line in the synopsis, then its subsection. */
static void add_member(const cw_cli_spec *spec, const cw_cli_option *common, void *ctx)
{
    page *p = ctx;
    (void)common;
    if (p->is_synopsis) {
        add_synopsis(p->out, spec);
        return;
    }
    cw_roff_subsection(p->out, spec->name);
    cw_roff_prose(p->out, spec->about);
    if (!spec->options || !spec->options->name)
        return;
    cw_roff_open_list(p->out);
    add_options(p->out, spec->options);
    cw_roff_close_list(p->out);
}

/* Groups have no groups. */
static void skip_group(const cw_cli_group *group, const cw_cli_option *common, void *ctx)
{
    (void)group;
    (void)common;
    (void)ctx;
}

static void visit_members(page *p, const cw_cli_group *group, bool is_synopsis)
{
    const cw_cli_visitor visitor = {skip_group, add_member, p};
    p->is_synopsis = is_synopsis;
    for (const cw_cli_command *c = group->commands; c->name; c++)
        if (c->summary)
            cw_cli_visit(c->run, c->name, &visitor);
}

static void end_page(const page *p, const cw_cli_option *own, const cw_cli_option *common)
{
    cw_roff_section(p->out, "OPTIONS");
    cw_roff_open_list(p->out);
    add_options(p->out, own);
    add_options(p->out, common);
    cw_roff_close_list(p->out);
    add_environment(p->out, /* all= */ false);
    add_exit_status(p->out, p->command);
    cw_roff_see_also(p->out, (const char *const[]){"causeway 1", "causeway.yaml 5", NULL});
}

static void add_group(const cw_cli_group *group, const cw_cli_option *common, void *ctx)
{
    page *p = ctx;
    cw_roff_open(p->out, p->name, 1, p->summary);
    cw_roff_section(p->out, "SYNOPSIS");
    visit_members(p, group, /* is_synopsis= */ true);
    cw_roff_section(p->out, "DESCRIPTION");
    cw_roff_prose(p->out, group->about);
    visit_members(p, group, /* is_synopsis= */ false);
    end_page(p, NULL, common);
}

static void add_command(const cw_cli_spec *spec, const cw_cli_option *common, void *ctx)
{
    page *p = ctx;
    cw_roff_open(p->out, p->name, 1, p->summary);
    cw_roff_section(p->out, "SYNOPSIS");
    add_synopsis(p->out, spec);
    cw_roff_section(p->out, "DESCRIPTION");
    cw_roff_prose(p->out, spec->about);
    end_page(p, spec->options, common);
}

static void find_command(const cw_cli_group *group, const cw_cli_option *common, void *ctx)
{
    page *p = ctx;
    const cw_cli_visitor visitor = {add_group, add_command, p};
    (void)common;
    for (const cw_cli_command *c = group->commands; c->name; c++) {
        if (!c->summary || !cw_str_is(p->wanted, c->name))
            continue;
        p->command = c->name;
        p->summary = c->summary;
        snprintf(p->name, sizeof p->name, "causeway-%s", c->name);
        cw_cli_visit(c->run, c->name, &visitor);
    }
}

/* ---- all ---- */

static void skip_command(const cw_cli_spec *spec, const cw_cli_option *common, void *ctx)
{
    (void)spec;
    (void)common;
    (void)ctx;
}

void cw_manual_program(cw_buf *out)
{
    const cw_cli_visitor visitor = {add_program, skip_command, out};
    cw_cli_visit(cw_cli_program, "causeway", &visitor);
}

bool cw_manual_command(cw_str name, cw_buf *out)
{
    page p = {.out = out, .wanted = name};
    const cw_cli_visitor visitor = {find_command, skip_command, &p};
    cw_cli_visit(cw_cli_program, "causeway", &visitor);
    return p.summary != NULL;
}

typedef struct each {
    void (*fn)(const char *name, void *ctx);
    void *ctx;
} each;

static void list_commands(const cw_cli_group *group, const cw_cli_option *common, void *ctx)
{
    const each *e = ctx;
    (void)common;
    for (const cw_cli_command *c = group->commands; c->name; c++)
        if (c->summary)
            e->fn(c->name, e->ctx);
}

void cw_manual_each_command(void (*fn)(const char *name, void *ctx), void *ctx)
{
    each e = {fn, ctx};
    const cw_cli_visitor visitor = {list_commands, skip_command, &e};
    cw_cli_visit(cw_cli_program, "causeway", &visitor);
}
