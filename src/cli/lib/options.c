/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options.c - command lines in GNU style, read through tables, and groups of commands.
 *
 * Ours rather than getopt_long: the same table gives the reading, the help and
 * the nearest right spelling, and there are no abbreviations, which would work
 * today and break when an option is added.
 */
#include <stdio.h>
#include <unistd.h>

#include "cli/lib/cli.h"
#include "config/syntax/quote.h"

#define NEAR_MAX 2u
#define HELP_MAX_BYTES (64u * 1024u)
#define HELP_COLUMN 26

/* Set while cw_cli_visit runs: it receives the tables instead of a reader of the help. */
static const cw_cli_visitor *visiting;

typedef struct reader {
    const char *command; /* "causeway serve", for messages */
    /* Tables of options; the second may be NULL. */
    const cw_cli_option *own, *common;
    bool stop_at_argument; /* stop at the first argument */
    char **argv;
    int argc;
    int at;     /* the word being read; at the end: the first word that was not read */
    int n_args; /* arguments found, moved to argv[1] and up */
} reader;

/* The options that every command takes. */
#define COLOR_OPTION(target)                                                                       \
    {                                                                                              \
        "color", 0, CW_CLI_TEXT, target, "WHEN", "use colours: auto, always or never"              \
    }
#define HELP_OPTION(target)                                                                        \
    {                                                                                              \
        "help", 'h', CW_CLI_FLAG, target, NULL, "print this help"                                  \
    }

static const cw_cli_option *find_long(const cw_cli_option *options, cw_str name)
{
    for (; options && options->name; options++)
        if (cw_str_is(name, options->name))
            return options;
    return NULL;
}

static const cw_cli_option *find_letter(const cw_cli_option *options, char letter)
{
    for (; options && options->name; options++)
        if (options->letter == letter)
            return options;
    return NULL;
}

static const char *find_nearest(const reader *r, cw_str name)
{
    const char *nearest = NULL;
    unsigned best = NEAR_MAX + 1;
    const cw_cli_option *tables[] = {r->own, r->common};
    for (size_t i = 0; i < CW_COUNT(tables); i++) {
        for (const cw_cli_option *o = tables[i]; o && o->name; o++) {
            unsigned distance = cw_str_distance_within(name, cw_str_from(o->name), NEAR_MAX);
            if (distance < best) {
                best = distance;
                nearest = o->name;
            }
        }
    }
    return nearest;
}

static int unknown_option(const reader *r, cw_str word, const char *nearest)
{
    char exposed[CW_EXCERPT_SIZE];
    cw_excerpt(word, exposed);
    if (nearest)
        return cw_cli_usage("unknown option %s; did you mean \"--%s\"?", exposed, nearest);
    return cw_cli_usage("unknown option %s; see \"%s --help\"", exposed, r->command);
}

static int store(const cw_cli_option *o, const char *value)
{
    if (o->kind == CW_CLI_TEXTS) {
        cw_cli_texts *texts = o->target;
        size_t max = texts->max ? texts->max : CW_CLI_MAX_TEXTS;
        if (texts->n == max)
            return cw_cli_usage("option \"--%s\" may be given %zu times%s%s", o->name, max,
                                texts->instead ? "; " : "", texts->instead ? texts->instead : "");
        texts->items[texts->n++] = value;
        return -1;
    }
    const char **text = o->target;
    if (*text)
        return cw_cli_usage("option \"--%s\" may be given only once", o->name);
    *text = value;
    return -1;
}

/* `value` NULL: the next word of the command line is the value. */
static int take_value(reader *r, const cw_cli_option *o, const char *value)
{
    if (!value && r->at + 1 < r->argc)
        value = r->argv[++r->at];
    if (!value || !value[0])
        return cw_cli_usage("option \"--%s\" needs a value: --%s %s", o->name, o->name, o->value);
    return store(o, value);
}

static int read_long(reader *r, const char *word)
{
    cw_str value;
    cw_str name = cw_str_cut(cw_str_from(word + 2), '=', &value);
    const cw_cli_option *o = find_long(r->own, name);
    if (!o)
        o = find_long(r->common, name);
    if (!o)
        return unknown_option(r, cw_str_make(word, name.n + 2), find_nearest(r, name));
    if (o->kind != CW_CLI_FLAG)
        return take_value(r, o, value.p);
    if (value.p)
        return cw_cli_usage("option \"--%s\" takes no value", o->name);
    *(bool *)o->target = true;
    return -1;
}

/* "-v", "-cFILE", "-c FILE", and flags in one word. */
static int read_letters(reader *r, const char *word)
{
    for (const char *letter = word + 1; *letter; letter++) {
        const cw_cli_option *o = find_letter(r->own, *letter);
        if (!o)
            o = find_letter(r->common, *letter);
        if (!o)
            return unknown_option(r, cw_str_from(word), find_nearest(r, cw_str_from(word + 1)));
        if (o->kind != CW_CLI_FLAG)
            return take_value(r, o, letter[1] ? letter + 1 : NULL);
        *(bool *)o->target = true;
    }
    return -1;
}

/* Read the words of argv from 1 on. Returns -1, or reports a mistake and returns CW_EXIT_USAGE. */
static int read_options(reader *r)
{
    bool only_arguments = false;
    r->n_args = 0;
    for (r->at = 1; r->at < r->argc; r->at++) {
        char *word = r->argv[r->at];
        bool is_option = !only_arguments && word[0] == '-' && word[1];
        if (is_option && strcmp(word, "--") == 0) {
            only_arguments = true;
            continue;
        }
        if (!is_option && r->stop_at_argument)
            return -1;
        if (!is_option) {
            r->argv[1 + r->n_args++] = word;
            continue;
        }
        int code = word[1] == '-' ? read_long(r, word) : read_letters(r, word);
        if (code >= 0)
            return code;
    }
    return -1;
}

/* A heading of the help: bold on a terminal. */
static void add_heading(cw_buf *out, const char *text)
{
    cw_buf_printf(out, "\n%s%s%s\n", cw_cli_escape(STDOUT_FILENO, CW_CLI_BOLD), text,
                  cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN));
}

static void describe_option(cw_buf *out, const cw_cli_option *o)
{
    size_t start = out->n;
    if (o->letter)
        cw_buf_printf(out, "  -%c, ", o->letter);
    else
        cw_buf_add(out, CW_STR("      "));
    cw_buf_printf(out, "--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
    int pad = HELP_COLUMN - (int)(out->n - start);
    cw_str rest = cw_str_from(o->help);
    do {
        cw_str line = cw_str_cut(rest, '\n', &rest);
        cw_buf_printf(out, "%*s%.*s\n", pad > 1 ? pad : 1, "", CW_STR_ARG(line));
        pad = HELP_COLUMN;
    } while (rest.p);
}

/* Append "Options:" and a line or more for each option of both tables. */
static void describe_options(cw_buf *out, const cw_cli_option *own, const cw_cli_option *common)
{
    add_heading(out, "Options:");
    for (; own && own->name; own++)
        describe_option(out, own);
    for (; common->name; common++)
        describe_option(out, common);
}

/* Apply --color; NULL: not given. Returns -1, or reports a wrong word and returns CW_EXIT_USAGE. */
static int apply_color(const char *when)
{
    char exposed[CW_EXCERPT_SIZE];
    if (!when || cw_cli_set_color(cw_str_from(when)))
        return -1;
    return cw_cli_usage("option \"--color\" takes auto, always or never, not %s",
                        cw_excerpt(cw_str_from(when), exposed));
}

static int print_help(const cw_cli_spec *spec, const cw_cli_option *common)
{
    cw_buf out;
    if (visiting) {
        visiting->on_command(spec, common, visiting->ctx);
        return CW_EXIT_OK;
    }
    cw_buf_init(&out, HELP_MAX_BYTES);
    cw_buf_printf(&out, "Usage: causeway %s [OPTION...]%s%s\n\n%s\n", spec->name,
                  spec->args[0] ? " " : "", spec->args, spec->about);
    describe_options(&out, spec->options, common);
    return cw_cli_print_buf(&out);
}

int cw_cli_parse(const cw_cli_spec *spec, int argc, char **argv, cw_cli_args *ret_args)
{
    bool wants_help = false;
    const char *color = NULL;
    const cw_cli_option common[] = {
        COLOR_OPTION(&color),
        HELP_OPTION(&wants_help),
        {0},
    };
    char command[64];
    snprintf(command, sizeof command, "causeway %s", spec->name);
    reader r = {command, spec->options, common, false, argv, argc, 0, 0};
    int code = read_options(&r);
    if (code >= 0)
        return code;
    code = apply_color(color);
    if (code >= 0)
        return code;
    if (wants_help)
        return print_help(spec, common);
    char exposed[CW_EXCERPT_SIZE];
    if ((size_t)r.n_args > spec->max_args)
        return cw_cli_usage("unexpected argument %s; see \"%s --help\"",
                            cw_excerpt(cw_str_from(argv[1 + spec->max_args]), exposed), command);
    if (ret_args)
        *ret_args = (cw_cli_args){argv + 1, (size_t)r.n_args};
    return -1;
}

/* ---- groups of commands ---- */

static int print_group(const cw_cli_group *group, const cw_cli_option *options)
{
    cw_buf out;
    if (visiting) {
        visiting->on_group(group, options, visiting->ctx);
        return CW_EXIT_OK;
    }
    cw_buf_init(&out, HELP_MAX_BYTES);
    cw_buf_printf(&out, "Usage: %s COMMAND [OPTION...] [ARGUMENT...]\n\n%s\n", group->name,
                  group->about);
    add_heading(&out, "Commands:");
    for (const cw_cli_command *c = group->commands; c->name; c++)
        if (c->summary)
            cw_buf_printf(&out, "  %-14s%s\n", c->name, c->summary);
    describe_options(&out, NULL, options);
    if (group->more)
        cw_buf_printf(&out, "\n%s\n", group->more);
    return cw_cli_print_buf(&out);
}

static int unknown_command(const cw_cli_group *group, cw_str name)
{
    char exposed[CW_EXCERPT_SIZE];
    const char *nearest = NULL;
    unsigned best = NEAR_MAX + 1;
    for (const cw_cli_command *c = group->commands; c->name; c++) {
        unsigned distance = cw_str_distance_within(name, cw_str_from(c->name), NEAR_MAX);
        if (c->summary && distance < best) {
            best = distance;
            nearest = c->name;
        }
    }
    cw_excerpt(name, exposed);
    if (nearest)
        return cw_cli_usage("unknown command %s; did you mean \"%s %s\"?", exposed, group->name,
                            nearest);
    return cw_cli_usage("unknown command %s; see \"%s --help\"", exposed, group->name);
}

int cw_cli_dispatch(const cw_cli_group *group, int argc, char **argv)
{
    bool wants_help = false, wants_version = false;
    const char *color = NULL;
    const cw_cli_option options[] = {
        COLOR_OPTION(&color),
        HELP_OPTION(&wants_help),
        {"version", 'V', CW_CLI_FLAG, &wants_version, NULL, "print the version"},
        {0},
    };
    reader r = {group->name, NULL, options, true, argv, argc, 0, 0};
    int code = read_options(&r);
    if (code < 0)
        code = apply_color(color);
    if (code >= 0)
        return code;
    if (wants_help)
        return print_group(group, options);
    char version[] = "version";
    char *version_argv[] = {version, NULL};
    if (wants_version)
        return cw_cli_version(1, version_argv);
    if (r.at >= argc)
        return cw_cli_usage("a command is missing; see \"%s --help\"", group->name);
    cw_str name = cw_str_from(argv[r.at]);
    for (const cw_cli_command *c = group->commands; c->name; c++)
        if (cw_str_is(name, c->name))
            return c->run(argc - r.at, argv + r.at);
    return unknown_command(group, name);
}

/* ---- visits ---- */

void cw_cli_visit(int (*run)(int argc, char **argv), const char *name,
                  const cw_cli_visitor *visitor)
{
    const cw_cli_visitor *outer = visiting;
    char word[64], option[] = "--help";
    char *argv[] = {word, option, NULL};
    snprintf(word, sizeof word, "%s", name);
    visiting = visitor;
    (void)run(2, argv);
    visiting = outer;
}
