/* SPDX-License-Identifier: GPL-2.0-or-later */
/* help: prints the help of a command, and general topics. */
#include "cli/lib/cli.h"

static const char exit_codes[] =
    "Exit codes of every command:\n"
    "  0  success; for serve: stopped by a signal, with all work finished\n"
    "  1  a failure at run time: an address in use, a file that cannot be written,\n"
    "     no memory; trying again later may help\n"
    "  2  a wrong command line, or a configuration that cannot be read or is wrong;\n"
    "     nothing was started, and trying again will not help\n";

int cw_cli_help(int argc, char **argv)
{
    const cw_cli_spec spec = {
        .name = "help",
        .args = "[COMMAND...]",
        .about = "Explain a command, or the topic exit-codes.",
        .max_args = 2,
    };
    cw_cli_args args;
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n == 1 && cw_str_is(cw_str_from(args.items[0]), "exit-codes"))
        return cw_cli_print(cw_str_from(exit_codes));
    /* "help config check" is "config check --help". */
    char name[] = "causeway", option[] = "--help";
    char *words[5] = {name};
    int n = 1;
    for (size_t i = 0; i < args.n; i++)
        words[n++] = args.items[i];
    words[n++] = option;
    return cw_cli_main(n, words);
}
