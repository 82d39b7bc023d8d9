/* SPDX-License-Identifier: GPL-2.0-or-later */
/* answers.h - the values that `causeway init` needs: from options, or from questions on a terminal.
 *
 * Ownership: texts live in the arena, or in argv.
 * Threads:   main thread only.
 */
#ifndef CW_CLI_INIT_ANSWERS_H
#define CW_CLI_INIT_ANSWERS_H

#include "cli/lib/cli.h"

typedef struct cw_init_answers {
    cw_arena arena;
    const char *folder;
    /* NULL: not given. After cw_init_ask each is set; "" is none. */
    const char *listen, *public_url, *certificate, *key, *account, *service, *secret_file;
    bool examples;     /* load the example plugin */
    bool console;      /* serve the console */
    bool oauth;        /* OAuth clients log people in with their accounts here */
    bool no_questions; /* --yes */
    bool json;         /* print JSON, and ask nothing */
} cw_init_answers;

/* Ask on the terminal for what is missing, unless input or output is none; then the defaults count.
 * Each answer is checked. Returns -1, or reports and returns the exit code. */
int cw_init_ask(cw_init_answers *a);
/* The same for the name of the account alone. */
int cw_init_ask_account(cw_init_answers *a);

#endif
