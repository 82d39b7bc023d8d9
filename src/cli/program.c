/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program.c - the table of sub-commands. To add one, copy cli/lib/version.c and add a row here. */
#include "cli/lib/cli.h"

#define HELP_MAX_BYTES (64u * 1024u)

static const cw_cli_group program; /* the commands, below */

static const cw_cli_term exit_codes[] = {
    {"0", "success; for serve: stopped by a signal, with all work finished"},
    {"1", "a failure at run time: an address in use, a file that cannot be written,\n"
          "no memory; trying again later may help"},
    {"2", "an invalid command line, or a configuration that is unreadable or invalid;\n"
          "nothing was started, and trying again will not help"},
    {0},
};

static const cw_cli_term environment[] = {
    {"CAUSEWAY_CONFIG", "the configuration file of commands without --config"},
    {"CAUSEWAY_TOKEN", "the token for --server and stdio, instead of --token-file"},
    {"NO_COLOR", "if it is set and not empty, --color=auto uses no colours"},
    {"TERM", "if it is \"dumb\", --color=auto uses no colours"},
    {"STATE_DIRECTORY", "files that no key of the configuration places are in its\n"
                        "directory \"causeway\"; systemd sets it"},
    {"XDG_STATE_HOME", "the same, if STATE_DIRECTORY is not set; default:\n"
                       "~/.local/state"},
    {"LISTEN_FDS", "listening sockets inherited from a supervisor, for serve"},
    {"LISTEN_PID", "the process for which LISTEN_FDS is meant"},
    {"LISTEN_FDNAMES", "the names of these sockets, with \":\" between them"},
    {"NOTIFY_SOCKET", "socket of the supervisor that serve notifies of its state"},
    {"WATCHDOG_USEC", "time within which the supervisor expects a next message"},
    {"WATCHDOG_PID", "the process for which WATCHDOG_USEC is meant"},
    {"JOURNAL_STREAM", "if it names standard error, the log goes to journald with its\n"
                       "fields; systemd sets it"},
    {"FDSTORE", "if it is 0, the supervisor keeps no sockets for serve"},
    {0},
};

const cw_cli_topic cw_cli_topics[] = {
    {"exit-codes", "Exit codes of every command:", exit_codes, 1,
     "doctor reports by its exit code too: 1 with warnings, 2 with errors."},
    {"environment", "Environment variables:", environment, 15, NULL},
    {0},
};

static int print_topic(const cw_cli_topic *t)
{
    cw_buf out;
    cw_buf_init(&out, HELP_MAX_BYTES);
    cw_buf_printf(&out, "%s\n", t->heading);
    for (const cw_cli_term *i = t->terms; i->word; i++) {
        const char *word = i->word;
        cw_str rest = cw_str_from(i->text);
        do {
            cw_str line = cw_str_cut(rest, '\n', &rest);
            cw_buf_printf(&out, "  %-*s  %.*s\n", t->width, word, CW_STR_ARG(line));
            word = "";
        } while (rest.p);
    }
    if (t->more)
        cw_buf_printf(&out, "%s\n", t->more);
    return cw_cli_print_buf(&out);
}

static int help(int argc, char **argv)
{
    const cw_cli_spec spec = {
        .name = "help",
        .args = "[COMMAND...]",
        .about = "Explain a command, or one of the topics exit-codes and environment.",
        .max_args = 2,
    };
    cw_cli_args args;
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    for (const cw_cli_topic *t = cw_cli_topics; t->name && args.n == 1; t++)
        if (cw_str_is(cw_str_from(args.items[0]), t->name))
            return print_topic(t);
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
    {"client", "register, list, remove and deny OAuth clients", cw_cli_client},
    {"grant", "list and end what people allowed OAuth clients", cw_cli_grant},
    {"key", "list and rotate the keys of access tokens and seals", cw_cli_key},
    {"scope", "list scopes", cw_cli_scope},
    {"task", "list, show and cancel tasks of MCP clients", cw_cli_task},
    {"store", "check, update, copy and back up the database", cw_cli_store},
    {"access", "print who can call which tools", cw_cli_access},
    {"why", "explain an access decision", cw_cli_why},
    {"audit", "print the audit log", cw_cli_audit},
    {"status", "print the state of the running server", cw_cli_status},
    {"top", "watch the running server: sources, tools, calls", cw_cli_top},
    {"reload", "make the running server read its configuration again", cw_cli_reload},
    {"upgrade", "replace the running server by a new process", cw_cli_upgrade},
    {"cache", "clear a running server's caches", cw_cli_cache},
    {"log", "set the level of a running server's log", cw_cli_log},
    {"server-json", "print this server's entry for the MCP registry", cw_cli_server_json},
    {"version", "print the version", cw_cli_version},
    {"help", "explain a command or a topic", help},
    {"complete", NULL, cw_cli_complete},
    {0},
};

static const cw_cli_group program = {
    "causeway",
    "A gateway: JSON-RPC methods in, MCP tools out.",
    "\"causeway help COMMAND\" explains a command.",
    commands,
};

int cw_cli_program(int argc, char **argv)
{
    return cw_cli_dispatch(&program, argc, argv);
}
