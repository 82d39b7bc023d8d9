/* SPDX-License-Identifier: GPL-2.0-or-later */
/* complete: prints completions of a command line for the scripts of bash, zsh and fish.
 *
 * The words come from the tables of --help, which the commands pass to a visitor. Each line of the
 * output is a completion of the last word, a tab, and a few words about it. A line without a
 * completion is a request to the shell, to complete files or directories:
 *
 *     --config<TAB>read the configuration from FILE
 *     <TAB>files .so
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/complete/line.h"
#include "cli/complete/names.h"
#include "cli/install/products.h"
#include "cli/lib/cli.h"
#include "cli/lib/table.h"

#define ABOUT_MAX 60u         /* bytes of a text about a completion */
#define NAMES_US (300 * 1000) /* a user waits for the answer */

extern char **environ;

typedef struct completion {
    cw_complete_line line;
    bool is_bash; /* the shell gets quoted words, without the bytes that it keeps */
    size_t at;    /* the next word that was not read */
    bool is_help; /* the words name a command: "causeway help source ..." */
    cw_str word;  /* the last one, or its part behind "--option=" */
    cw_str head;  /* "--option=" */
    const char *config;
    bool has_server; /* --server: its names are not asked for */
    cw_arena arena;  /* the words */
    cw_buf out;
} completion;

/* ---- output ---- */

/* The bytes of the character at `i`; 0 if a terminal must not get it: invalid UTF-8, and characters
 * that end a line, drive a terminal or change the order of others. */
static size_t safe_bytes(cw_str text, size_t i)
{
    uint32_t code = 0;
    size_t n = cw_utf8_decode(text.p + i, text.n - i, &code);
    return n && !cw_utf8_is_control(code) ? n : 0;
}

static bool is_printable(cw_str text)
{
    for (size_t i = 0, n; i < text.n; i += n) {
        n = safe_bytes(text, i);
        if (!n)
            return false;
    }
    return text.n > 0;
}

/* The first bytes of a text, on one line. */
static void add_about(cw_buf *out, cw_str about)
{
    cw_str text = cw_str_make(about.p, cw_utf8_cut(about, ABOUT_MAX));
    for (size_t i = 0; i < text.n;) {
        size_t n = safe_bytes(text, i);
        cw_buf_add(out, n ? cw_str_make(text.p + i, n) : CW_STR(" "));
        i += n ? n : 1;
    }
    if (text.n < about.n)
        cw_buf_add(out, CW_STR("..."));
}

/* For bash: without the part that it keeps, and quoted as the word is. */
static bool add_for_bash(completion *c, cw_str whole)
{
    cw_str kept = c->line.kept;
    if (!cw_str_starts(whole, kept))
        return false;
    return cw_complete_quote(&c->out, cw_str_make(whole.p + kept.n, whole.n - kept.n),
                             c->line.quote);
}

/* Offer a word, if what was typed is its beginning. */
static void offer(cw_str word, cw_str about, void *ctx)
{
    completion *c = ctx;
    CW_CLEANUP(cw_buf_done) cw_buf whole;
    cw_buf_init(&whole, CW_CLI_OUTPUT_MAX);
    if (!is_printable(word) || !cw_str_starts(word, c->word))
        return;
    cw_buf_add(&whole, c->head);
    cw_buf_add(&whole, word);
    if (!c->is_bash)
        cw_buf_add(&c->out, cw_buf_str(&whole));
    else if (!add_for_bash(c, cw_buf_str(&whole)))
        return;
    cw_buf_add_char(&c->out, '\t');
    add_about(&c->out, about);
    cw_buf_add_char(&c->out, '\n');
}

static void request_files(completion *c, const char *what, const char *suffix)
{
    cw_buf_printf(&c->out, "\t%s%s%s\n", what, suffix ? " " : "", suffix ? suffix : "");
}

/* ---- values ---- */

static void offer_words(completion *c, const char *words)
{
    cw_str rest = cw_str_from(words);
    while (rest.p)
        offer(cw_str_trim(cw_str_cut(rest, ',', &rest)), CW_STR(""), c);
}

static void offer_variables(completion *c)
{
    for (char **v = environ; v && *v; v++) {
        cw_str rest;
        offer(cw_str_cut(cw_str_from(*v), '=', &rest), CW_STR(""), c);
    }
}

static void offer_clients(completion *c)
{
    for (const cw_product *p = cw_products; p->name; p++)
        offer(cw_str_from(p->name), cw_str_from(p->title), c);
}

static void on_timeout(int signum)
{
    (void)signum;
    _exit(CW_EXIT_OK);
}

/* A server that is slow, or that waits for its disk, must not stop the user's typing. */
static void offer_names(completion *c, cw_complete_kind kind)
{
    const struct sigaction action = {.sa_handler = on_timeout};
    const struct itimerval timer = {.it_value = {.tv_usec = NAMES_US}};
    if (c->has_server)
        return;
    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &timer, NULL);
    cw_complete_each_name(kind, c->config, offer, c);
    (void)setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
}

static void visit(completion *c, int (*run)(int argc, char **argv), const char *name);

/* "help source approve": the words behind `first` name a command, or a topic. */
static void offer_commands(completion *c, size_t first)
{
    for (const cw_cli_topic *t = cw_cli_topics; t->name && first + 1 == c->line.n; t++)
        offer(cw_str_from(t->name), cw_str_from(t->heading), c);
    c->at = first;
    c->is_help = true;
    visit(c, cw_cli_program, "causeway");
}

/* NULL: the kind of value has no row. */
static void offer_value(const cw_complete_value *value, void *ctx)
{
    completion *c = ctx;
    switch (value ? value->kind : CW_COMPLETE_NOTHING) {
    case CW_COMPLETE_NOTHING:
    case CW_COMPLETE_COMMANDS: /* in on_command: it needs the words in front */
        break;
    case CW_COMPLETE_WORDS:
        offer_words(c, value->list ? value->list() : value->words);
        break;
    case CW_COMPLETE_FILES:
        request_files(c, "files", value->words);
        break;
    case CW_COMPLETE_DIRECTORIES:
        request_files(c, "directories", NULL);
        break;
    case CW_COMPLETE_VARIABLES:
        offer_variables(c);
        break;
    case CW_COMPLETE_CLIENTS:
        offer_clients(c);
        break;
    case CW_COMPLETE_ACCOUNTS:
    case CW_COMPLETE_ROLES:
    case CW_COMPLETE_PERMISSIONS:
    case CW_COMPLETE_SCOPES:
    case CW_COMPLETE_SOURCES:
    case CW_COMPLETE_TOOLSETS:
    case CW_COMPLETE_PLUGINS:
    case CW_COMPLETE_TOOLS:
    case CW_COMPLETE_METHODS:
    case CW_COMPLETE_TOKENS:
    case CW_COMPLETE_SESSIONS:
    case CW_COMPLETE_TASKS:
    case CW_COMPLETE_OAUTH_CLIENTS:
    case CW_COMPLETE_GRANTS:
        offer_names(c, value->kind);
        break;
    }
}

/* ---- options ---- */

static const cw_cli_option *find_in(const cw_cli_option *options, cw_str word)
{
    cw_str rest, name = cw_str_cut(word, '=', &rest);
    for (; options && options->name; options++) {
        if (word.n == 2 && word.p[1] == options->letter)
            return options;
        if (word.n > 2 && word.p[1] == '-' &&
            cw_str_is(cw_str_make(name.p + 2, name.n - 2), options->name))
            return options;
    }
    return NULL;
}

typedef struct tables {
    const cw_cli_option *own, *common;
} tables;

static const cw_cli_option *find(const tables *all, cw_str word)
{
    const cw_cli_option *found = find_in(all->own, word);
    return found ? found : find_in(all->common, word);
}

/* Options that may be given once are not offered twice. */
static bool is_given(const completion *c, const cw_cli_option *option)
{
    for (size_t i = 1; i + 1 < c->line.n && option->kind != CW_CLI_TEXTS; i++) {
        const cw_cli_option one[] = {*option, {0}};
        cw_str word = cw_str_from(c->line.words[i]);
        if (cw_str_starts(word, CW_STR("-")) && find_in(one, word))
            return true;
    }
    return false;
}

static void offer_options(completion *c, const cw_cli_option *options)
{
    for (; options && options->name; options++) {
        char name[64] = "--";
        size_t n = strlen(options->name);
        if (n > sizeof name - 3 || is_given(c, options))
            continue;
        memcpy(name + 2, options->name, n + 1);
        offer(cw_str_from(name), cw_str_from(options->help), c);
    }
}

/* A value in the word of its option, "--config=FILE". Returns false for other words. */
static bool offer_attached(completion *c, const tables *all)
{
    cw_str word = c->word, value;
    cw_str name = cw_str_cut(word, '=', &value);
    const cw_cli_option *option = cw_str_starts(word, CW_STR("--")) ? find(all, word) : NULL;
    if (!value.p)
        return false;
    c->head = cw_str_make(name.p, name.n + 1);
    c->word = value;
    if (option && option->value)
        offer_value(cw_complete_find_value(cw_str_from(option->value)), c);
    return true;
}

/* Complete a word that begins with '-'. */
static void offer_option(completion *c, const tables *all)
{
    if (offer_attached(c, all))
        return;
    offer_options(c, all->own);
    offer_options(c, all->common);
}

/* ---- words in front of the last one ---- */

typedef struct scan {
    size_t n_args;
    bool only_args;               /* behind "--" */
    const cw_cli_option *pending; /* the last word is its value */
} scan;

/* Shells pass a word as it was typed. */
static const char *expand_home(completion *c, const char *path)
{
    const char *home = getenv("HOME");
    if (!home || path[0] != '~' || path[1] != '/')
        return path;
    return cw_arena_printf(&c->arena, "%s%s", home, path + 1);
}

static void note_option(completion *c, const cw_cli_option *option, const char *value)
{
    if (cw_str_is(cw_str_from(option->name), "config"))
        c->config = expand_home(c, value);
    if (cw_str_is(cw_str_from(option->name), "server"))
        c->has_server = true;
}

/* Read an option and, if it is a word of its own, its value. */
static void read_option(completion *c, const tables *all, scan *s)
{
    cw_str word = cw_str_from(c->line.words[c->at++]), value;
    const cw_cli_option *option = find(all, word);
    if (!option || !option->value)
        return;
    (void)cw_str_cut(word, '=', &value);
    if (word.n > 2 && value.p)
        note_option(c, option, value.p);
    else if (c->at + 1 < c->line.n)
        note_option(c, option, c->line.words[c->at++]);
    else
        s->pending = option;
}

/* Read words up to the last one; in a group up to the name of a command. */
static void read_words(completion *c, const tables *all, bool is_group, scan *s)
{
    while (c->at + 1 < c->line.n && !s->pending) {
        const char *word = c->line.words[c->at];
        bool is_option = !s->only_args && word[0] == '-' && word[1];
        if (is_option && strcmp(word, "--") == 0) {
            s->only_args = true;
            c->at++;
        } else if (is_option) {
            read_option(c, all, s);
        } else if (is_group) {
            return;
        } else {
            s->n_args++;
            c->at++;
        }
    }
}

/* Complete the value of an option, or an option. Returns false if the last word is an argument. */
static bool offer_non_argument(completion *c, const tables *all, const scan *s)
{
    if (s->pending)
        offer_value(cw_complete_find_value(cw_str_from(s->pending->value)), c);
    else if (c->word.n && c->word.p[0] == '-' && !s->only_args && !c->is_help)
        offer_option(c, all);
    else
        return false;
    return true;
}

/* ---- commands ---- */

static void on_group(const cw_cli_group *group, const cw_cli_option *common, void *ctx)
{
    completion *c = ctx;
    const tables all = {NULL, common};
    scan s = {0};
    read_words(c, &all, /* is_group= */ true, &s);
    if (c->at + 1 < c->line.n) {
        cw_str name = cw_str_from(c->line.words[c->at]);
        for (const cw_cli_command *i = group->commands; i->name; i++) {
            if (i->summary && cw_str_is(name, i->name)) {
                c->at++;
                visit(c, i->run, i->name);
                return;
            }
        }
        return;
    }
    if (offer_non_argument(c, &all, &s))
        return;
    for (const cw_cli_command *i = group->commands; i->name; i++)
        if (i->summary)
            offer(cw_str_from(i->name), cw_str_from(i->summary), c);
}

static void find_commands(const cw_complete_value *value, void *ctx)
{
    bool *found = ctx;
    *found = *found || value->kind == CW_COMPLETE_COMMANDS;
}

static void on_command(const cw_cli_spec *spec, const cw_cli_option *common, void *ctx)
{
    completion *c = ctx;
    const tables all = {spec->options, common};
    scan s = {0};
    bool has_commands = false;
    size_t first = c->at;
    if (c->is_help)
        return;
    read_words(c, &all, /* is_group= */ false, &s);
    if (offer_non_argument(c, &all, &s) || s.n_args >= spec->max_args)
        return;
    cw_complete_each_argument(spec->args, s.n_args, find_commands, &has_commands);
    if (has_commands)
        offer_commands(c, first);
    else
        cw_complete_each_argument(spec->args, s.n_args, offer_value, c);
}

static void visit(completion *c, int (*run)(int argc, char **argv), const char *name)
{
    const cw_cli_visitor visitor = {on_group, on_command, c};
    cw_cli_visit(run, name, &visitor);
}

/* ---- the command ---- */

/* The scripts have no use for messages, and a message in the middle of a line would be in the way. */
static void silence_errors(void)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && fd != STDERR_FILENO) {
        (void)dup2(fd, STDERR_FILENO);
        close(fd);
    }
}

static cw_code read_line(completion *c, const char *line, const cw_cli_args *args, cw_err *err)
{
    cw_arena *arena = &c->arena;
    cw_str typed = cw_str_from(args->n ? args->items[0] : NULL);
    c->is_bash = line != NULL;
    if (line)
        return cw_complete_split(cw_str_from(line), typed, arena, &c->line, err);
    const char **words = cw_arena_calloc(arena, args->n + 1, sizeof *words);
    if (!words || !args->n)
        return words ? cw_fail(err, CW_PARAMS, "no words") : cw_arena_fail(arena, err);
    for (size_t i = 0; i < args->n; i++)
        words[i] = args->items[i];
    c->line = (cw_complete_line){.words = words, .n = args->n};
    return CW_OK;
}

int cw_cli_complete(int argc, char **argv)
{
    const char *line = NULL;
    const cw_cli_option options[] = {
        {"line", 0, CW_CLI_TEXT, &line, "TEXT", "the line up to the cursor, as bash has it"},
        {0},
    };
    const cw_cli_spec spec = {
        "complete", "[-- WORD...]",
        "Print completions of the last word of a command line. WORDs are those of the\n"
        "line, from the name of the program to the cursor. With --line, the only WORD is\n"
        "the end of the line that a completion replaces. The scripts of bash, zsh and\n"
        "fish call this command.",
        options, CW_COMPLETE_WORDS_MAX};
    completion c = {0};
    cw_cli_args args = {0};
    cw_err err = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    silence_errors();
    cw_arena_init(&c.arena, 16 * CW_COMPLETE_LINE_MAX);
    cw_buf_init(&c.out, CW_CLI_OUTPUT_MAX);
    if (!read_line(&c, line, &args, &err) && c.line.n > 1) {
        c.at = 1;
        c.word = cw_str_from(c.line.words[c.line.n - 1]);
        visit(&c, cw_cli_program, "causeway");
    }
    code = cw_cli_print_buf(&c.out);
    cw_arena_done(&c.arena);
    return code;
}
