/* SPDX-License-Identifier: GPL-2.0-or-later */
/* answers.c - asks for the values of a first configuration, and checks them. */
#include "cli/init/answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "access/credentials.h"
#include "config/syntax/names.h"
#include "config/syntax/quote.h"

#define LINE_MAX_BYTES 4096u

typedef struct question {
    const char *option; /* for messages */
    const char *text;
    const char *fallback; /* the answer without an answer */
    const char **target;
    const char *(*check)(const char *answer); /* NULL: fine, else what is expected */
} question;

static const char *check_listen(const char *answer)
{
    cw_config_address address;
    bool is_good = !cw_names_parse_address(cw_str_from(answer), &address);
    return is_good ? NULL : "HOST:PORT, such as 127.0.0.1:8080";
}

static const char *check_url(const char *answer)
{
    return !*answer || cw_names_is_public_url(cw_str_from(answer))
               ? NULL
               : "a URL such as https://tools.example.org, or nothing";
}

static const char *check_file(const char *answer)
{
    return !*answer || access(answer, R_OK) == 0 ? NULL : "a file that can be read, or nothing";
}

static const char *check_account(const char *answer)
{
    return cw_account_name_is_valid(cw_str_from(answer))
               ? NULL
               : "a name of 1 to 128 bytes without control characters and colons, not "
                 "\"anonymous\"";
}

static const char *check_any(const char *answer)
{
    (void)answer;
    return NULL;
}

/* A line of standard input without its end; NULL at the end of the input. */
static const char *read_line(cw_arena *arena)
{
    char line[LINE_MAX_BYTES];
    if (!fgets(line, sizeof line, stdin))
        return NULL;
    cw_str kept = cw_arena_dup_str(arena, cw_str_trim(cw_str_make(line, strcspn(line, "\r\n"))));
    return kept.p;
}

static int ask_one(const question *q, cw_arena *arena)
{
    for (;;) {
        printf("%s%s%s%s: ", q->text, *q->fallback ? " [" : "", q->fallback,
               *q->fallback ? "]" : "");
        fflush(stdout);
        const char *answer = read_line(arena);
        if (!answer) {
            printf("\n");
            return cw_cli_failure("no answer: nothing was written");
        }
        *q->target = *answer ? answer : q->fallback;
        const char *expected = q->check(*q->target);
        if (!expected)
            return -1;
        printf("  Expected %s.\n", expected);
    }
}

static int take(const question *q, bool asks, cw_arena *arena)
{
    if (!*q->target && asks)
        return ask_one(q, arena);
    if (!*q->target)
        *q->target = q->fallback;
    const char *expected = q->check(*q->target);
    char shown[CW_EXCERPT_SIZE];
    return expected ? cw_cli_usage("%s: %s; expected %s", q->option,
                                   cw_excerpt(cw_str_from(*q->target), shown), expected)
                    : -1;
}

/* "yes" sets the flag of an option that was not given. */
static int ask_flag(cw_init_answers *a, const char *option, const char *text, const char *fallback,
                    bool *flag)
{
    const char *answer = NULL;
    const question q = {option, text, fallback, &answer, check_any};
    int code = *flag ? -1 : ask_one(&q, &a->arena);
    if (answer)
        *flag = answer[0] == 'y' || answer[0] == 'Y';
    return code;
}

static int ask_flags(cw_init_answers *a, bool may_have_console)
{
    int code = ask_flag(a, "--oauth",
                        "Let clients such as Claude log people in with accounts of this server "
                        "(yes or no)",
                        "no", &a->oauth);
    if (code < 0)
        code = ask_flag(a, "--examples", "Load the example plugin to try the server (yes or no)",
                        *a->service ? "no" : "yes", &a->examples);
    if (code >= 0 || !may_have_console)
        return code;
    return ask_flag(a, "--console", "Serve the console, pages for browsers (yes or no)", "no",
                    &a->console);
}

/* A listener for other machines needs a host name for the console, which an operator adds. */
static bool is_loopback(const char *listen)
{
    cw_config_address address;
    return !cw_names_parse_address(cw_str_from(listen), &address) && cw_names_is_loopback(&address);
}

static bool may_ask(const cw_init_answers *a)
{
    return !a->no_questions && !a->json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

static question account_question(cw_init_answers *a)
{
    const char *user = getenv("USER");
    return (question){"--account", "Name of the first account", user && *user ? user : "admin",
                      &a->account, check_account};
}

int cw_init_ask_account(cw_init_answers *a)
{
    const question q = account_question(a);
    return take(&q, may_ask(a), &a->arena);
}

int cw_init_ask(cw_init_answers *a)
{
    bool asks = may_ask(a);
    const question questions[] = {
        {"--listen", "Address to listen on", "127.0.0.1:8080", &a->listen, check_listen},
        {"--public-url", "Public URL, if clients reach the server by another name", "",
         &a->public_url, check_url},
        {"--certificate", "File with a TLS certificate; empty: no TLS", "", &a->certificate,
         check_file},
        {"--key", "File with its private key", "", &a->key, check_file},
        account_question(a),
        {"--service", "URL of a first JSON-RPC service; empty: none", "", &a->service, check_any},
    };
    for (size_t i = 0; i < CW_COUNT(questions); i++) {
        bool is_idle = questions[i].target == &a->key && !*a->certificate;
        int code = take(&questions[i], asks && !is_idle, &a->arena);
        if (code >= 0)
            return code;
    }
    if (!*a->certificate != !*a->key)
        return cw_cli_usage("--certificate and --key belong together");
    bool may_have_console = is_loopback(a->listen);
    if (a->console && !may_have_console)
        return cw_cli_usage("--console is for an address on loopback; for others add console.host "
                            "to the configuration");
    return asks ? ask_flags(a, may_have_console) : -1;
}
