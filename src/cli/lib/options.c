/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options.c - command lines in GNU style, read through tables.
 *
 * Ours rather than getopt_long: the same table gives the reading, the help and
 * the nearest right spelling, and there are no abbreviations, which would work
 * today and break when an option is added.
 */
#include "cli/lib/options.h"

#include <stdio.h>
#include <unistd.h>

#include "config/syntax/quote.h"

#define NEAR_MAX 2u
#define HELP_MAX_BYTES (64u * 1024u)
#define HELP_COLUMN 26

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

static const char *find_nearest(const cw_cli_reader *r, cw_str name)
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

static int unknown_option(const cw_cli_reader *r, cw_str word, const char *nearest)
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
static int take_value(cw_cli_reader *r, const cw_cli_option *o, const char *value)
{
    if (!value && r->at + 1 < r->argc)
        value = r->argv[++r->at];
    if (!value || !value[0])
        return cw_cli_usage("option \"--%s\" needs a value: --%s %s", o->name, o->name, o->value);
    return store(o, value);
}

static int read_long(cw_cli_reader *r, const char *word)
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
static int read_letters(cw_cli_reader *r, const char *word)
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

int cw_cli_read_options(cw_cli_reader *r)
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

void cw_cli_add_heading(cw_buf *out, const char *text)
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

void cw_cli_describe_options(cw_buf *out, const cw_cli_option *own, const cw_cli_option *common)
{
    cw_cli_add_heading(out, "Options:");
    for (; own && own->name; own++)
        describe_option(out, own);
    for (; common->name; common++)
        describe_option(out, common);
}

int cw_cli_apply_color(const char *when)
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
    cw_buf_init(&out, HELP_MAX_BYTES);
    cw_buf_printf(&out, "Usage: causeway %s [OPTION...]%s%s\n\n%s\n", spec->name,
                  spec->args[0] ? " " : "", spec->args, spec->about);
    cw_cli_describe_options(&out, spec->options, common);
    return cw_cli_print_buf(&out);
}

int cw_cli_parse(const cw_cli_spec *spec, int argc, char **argv, cw_cli_args *ret_args)
{
    bool wants_help = false;
    const char *color = NULL;
    const cw_cli_option common[] = {
        CW_CLI_COLOR_OPTION(&color),
        CW_CLI_HELP_OPTION(&wants_help),
        {0},
    };
    char command[64];
    snprintf(command, sizeof command, "causeway %s", spec->name);
    cw_cli_reader r = {command, spec->options, common, false, argv, argc, 0, 0};
    int code = cw_cli_read_options(&r);
    if (code >= 0)
        return code;
    code = cw_cli_apply_color(color);
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
