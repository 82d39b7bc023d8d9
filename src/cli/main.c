/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c - the table of sub-commands. To add one, copy cli/lib/version.c and add a row here. */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cli/lib/cli.h"

static const cw_cli_group program; /* the commands, below */

static const char exit_codes[] =
    "Exit codes of every command:\n"
    "  0  success; for serve: stopped by a signal, with all work finished\n"
    "  1  a failure at run time: an address in use, a file that cannot be written,\n"
    "     no memory; trying again later may help\n"
    "  2  an invalid command line, or a configuration that is unreadable or invalid;\n"
    "     nothing was started, and trying again will not help\n"
    "doctor reports by its exit code too: 1 with warnings, 2 with errors.\n";

static int help(int argc, char **argv)
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
    return cw_cli_dispatch(&program, n, words);
}

static const cw_cli_command commands[] = {
    {"init", "write a first configuration", cw_cli_init},
    {"serve", "start the server", cw_cli_serve},
    {"stdio", "serve one MCP client on standard input and output", cw_cli_stdio},
    {"install", "register this server with a local MCP client", cw_cli_install},
    {"config", "check or print configurations", cw_cli_config},
    {"doctor", "check a set-up and print remedies", cw_cli_doctor},
    {"import", "detect a service and write its overlay", cw_cli_import},
    {"source", "list, check, refresh and approve services", cw_cli_source},
    {"list", "list tools", cw_cli_list},
    {"describe", "print a tool with its parameters", cw_cli_describe},
    {"call", "call a tool", cw_cli_call},
    {"plugin", "create, check, list, enable and disable plugins", cw_cli_plugin},
    {"translations", "print a template for translations", cw_cli_translations},
    {"schema", "check JSON Schemas, and validate instances", cw_cli_schema},
    {"account", "add, change and remove accounts", cw_cli_account},
    {"role", "manage roles and their permissions", cw_cli_role},
    {"permission", "list permissions", cw_cli_permission},
    {"token", "create, list, revoke and inspect tokens", cw_cli_token},
    {"session", "list and end browser sessions", cw_cli_session},
    {"scope", "list scopes", cw_cli_scope},
    {"access", "print who can call which tools", cw_cli_access},
    {"why", "explain an access decision", cw_cli_why},
    {"audit", "print the audit log", cw_cli_audit},
    {"status", "print the state of the running server", cw_cli_status},
    {"reload", "make the running server read its configuration again", cw_cli_reload},
    {"cache", "clear a running server's caches", cw_cli_cache},
    {"server-json", "print this server's entry for the MCP registry", cw_cli_server_json},
    {"version", "print the version", cw_cli_version},
    {"help", "explain a command, or the topic exit-codes", help},
    {0},
};

static const cw_cli_group program = {
    "causeway",
    "A gateway: JSON-RPC methods in, MCP tools out.",
    "\"causeway help COMMAND\" explains a command.",
    commands,
};

/* A standard stream that the caller closed must not become the number of a socket or a log file.
 * Each is opened the wrong way round, so that using it still fails as if it were closed. */
static void keep_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        /* The lowest free number is taken, which is this one. */
        if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(CW_EXIT_FAILURE);
    }
}

int main(int argc, char **argv)
{
    keep_standard_streams();
    /* A reader that goes away is an error of the write, not a reason to die. */
    signal(SIGPIPE, SIG_IGN);
    return cw_cli_dispatch(&program, argc, argv);
}
