/* SPDX-License-Identifier: GPL-2.0-or-later */
/* write.c - writes the result of an import: a table, an overlay, lines for the configuration. */
#include <unistd.h>

#include "access/caller.h"
#include "cli/import/import.h"
#include "cli/lib/cli.h"
#include "cli/lib/table.h"
#include "cli/tool/tools.h"
#include "config/syntax/check.h"
#include "config/syntax/quote.h"

#define WIDTH_MAX 60u

static const char *const guess_names[] = {"reads", "changes", "DESTROYS"};

/* ---- the overlay ---- */

/* A plain text where that cannot be read as anything else. */
static void add_scalar(cw_buf *out, cw_str text)
{
    static const char *const words[] = {"null", "true", "false", "yes", "no",
                                        "on",   "off",  "y",     "n"};
    bool is_plain = text.n > 0;
    for (size_t i = 0; i < text.n && is_plain; i++) {
        char c = text.p[i];
        bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        bool is_inner = (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '/' || c == '-';
        is_plain = is_letter || (i > 0 && is_inner);
    }
    for (size_t i = 0; i < CW_COUNT(words) && is_plain; i++)
        is_plain = !cw_str_ieq(text, cw_str_from(words[i]));
    if (is_plain)
        cw_buf_add(out, text);
    else
        cw_quote(out, text);
}

/* A name with wildcards would mean others too, and one with control characters cannot be written:
 * both cannot be named in an overlay. */
static bool can_name(cw_str id)
{
    return id.n && cw_check_is_clean(id) && !memchr(id.p, '*', id.n) && !memchr(id.p, '?', id.n);
}

static void add_method(cw_buf *out, const cw_method *m, cw_risk guess, bool with_texts)
{
    if (with_texts && m->usage.n) {
        cw_buf_add(out, CW_STR("  # "));
        cw_tools_add_line(out, m->usage);
        cw_buf_add_char(out, '\n');
    }
    if (guess == CW_RISK_DESTROYS)
        cw_buf_add(out, CW_STR("  # looks destructive\n"));
    if (!can_name(m->id)) {
        cw_buf_add(out, CW_STR("  # cannot be named here: "));
        cw_quote(out, m->id);
        cw_buf_add_char(out, '\n');
        return;
    }
    cw_buf_add(out, CW_STR("  - method: "));
    add_scalar(out, m->id);
    cw_buf_add(out, CW_STR("\n    tool: false\n"));
    if (guess == CW_RISK_READS)
        cw_buf_add(out, CW_STR("    read_only: true\n"));
}

static void write_overlay(const cw_import *im, cw_buf *out, bool with_texts)
{
    size_t n_named = 0;
    for (size_t i = 0; i < im->n; i++)
        n_named += can_name(im->methods[i].id);
    cw_buf_printf(out, "# Methods of %s. None of them can be used before it says `tool: true`.\n",
                  im->config.name.p);
    cw_buf_add(out,
               CW_STR("# `read_only` is a guess by the service's hints, or by the names of methods "
                      "without parameters.\n"
                      "# Such calls may be repeated, merged and sent by GET. Check it.\n"));
    if (im->is_partial)
        cw_buf_add(out, CW_STR("# warning: the site does not show its list of tools to these "
                               "credentials. Scopes are not known:\n"
                               "# say `scopes` or `permissions` where a method needs them.\n"));
    cw_buf_printf(out, "methods:%s\n", n_named ? "" : " []");
    for (size_t i = 0; i < im->n; i++)
        add_method(out, &im->methods[i], im->guesses[i], with_texts);
}

void cw_import_write_overlay(const cw_import *im, cw_buf *out)
{
    write_overlay(im, out, /* with_texts= */ true);
    if (out->code || out->n <= CW_CONFIG_MAX_BYTES)
        return;
    /* Files have a ceiling; comments can go. */
    cw_buf_clear(out);
    write_overlay(im, out, /* with_texts= */ false);
}

/* ---- the entry ---- */

static void add_member(cw_buf *out, const char *key, cw_str value)
{
    if (value.n == 0)
        return;
    cw_buf_printf(out, "    %s: ", key);
    add_scalar(out, value);
    cw_buf_add_char(out, '\n');
}

static void add_command(cw_buf *out, const cw_config_strings *command)
{
    if (command->n == 0)
        return;
    cw_buf_add(out, CW_STR("    command: ["));
    for (size_t i = 0; i < command->n; i++) {
        if (i)
            cw_buf_add(out, CW_STR(", "));
        cw_quote(out, command->items[i]);
    }
    cw_buf_add(out, CW_STR("]\n"));
}

static void add_inner(cw_buf *out, const char *key, cw_str value)
{
    if (value.n)
        cw_buf_add(out, CW_STR("  "));
    add_member(out, key, value);
}

static void add_secret(cw_buf *out, const cw_import *im)
{
    const cw_config_remote *c = &im->config;
    if (c->secret.file.n == 0 && c->secret.environment.n == 0)
        return;
    cw_buf_add(out, CW_STR("    secret:\n"));
    add_inner(out, "as", cw_import_secret_word(im));
    add_inner(out, "name", c->secret.name);
    add_inner(out, "file", c->secret.file);
    add_inner(out, "environment", c->secret.environment);
}

void cw_import_write_roles(cw_buf *out)
{
    cw_buf_printf(out,
                  "roles: # accounts have the permissions of anonymous, too\n"
                  "  anonymous: [%s, %s]\n",
                  CW_PERMISSION_DISCOVER.p, CW_PERMISSION_CALL.p);
}

void cw_import_write_entry(const cw_import *im, cw_buf *out)
{
    const cw_config_remote *c = &im->config;
    cw_buf_add(out, CW_STR("sources:\n  - name: "));
    add_scalar(out, c->name);
    cw_buf_add_char(out, '\n');
    add_member(out, "preset", c->preset);
    if (im->lacks_url)
        cw_buf_add(out, CW_STR("    # the description does not say where the service is\n"));
    add_member(out, "url", c->url);
    add_command(out, &c->command);
    add_member(out, "framing", c->preset.n ? CW_STR("") : c->framing);
    add_member(out, "params", c->params);
    add_member(out, "discovery", c->describe);
    add_member(out, "openrpc", c->openrpc);
    add_secret(out, im);
    add_member(out, "overlay", im->overlay);
}

/* ---- the table ---- */

static void add_params(cw_buf *out, const cw_method *m)
{
    for (size_t i = 0; i < m->n_params; i++) {
        cw_buf_printf(out, "%s", i ? ", " : "");
        cw_quote_shown(out, m->params[i].name);
        if (!m->params[i].is_required)
            cw_buf_add_char(out, '?');
    }
}

static void add_padding(cw_buf *out, size_t from, size_t width)
{
    while (!out->code && out->n - from < width)
        cw_buf_add_char(out, ' ');
    cw_buf_add(out, CW_STR("  "));
}

static void measure(const cw_import *im, cw_buf *out, size_t *ret_name, size_t *ret_params)
{
    *ret_name = sizeof "METHOD" - 1;
    *ret_params = sizeof "PARAMS" - 1;
    for (size_t i = 0; i < im->n; i++) {
        CW_CLEANUP(cw_buf_done) cw_buf text;
        cw_buf_init(&text, CW_CLI_OUTPUT_MAX);
        add_params(&text, &im->methods[i]);
        if (text.code && !out->code)
            out->code = text.code;
        if (text.n > *ret_params)
            *ret_params = text.n;
        if (im->methods[i].id.n > *ret_name)
            *ret_name = im->methods[i].id.n;
    }
    if (*ret_name > WIDTH_MAX)
        *ret_name = WIDTH_MAX;
    if (*ret_params > WIDTH_MAX / 2)
        *ret_params = WIDTH_MAX / 2;
}

void cw_import_write_table(const cw_import *im, cw_buf *out)
{
    size_t name_width, params_width;
    measure(im, out, &name_width, &params_width);
    cw_buf_add(out, cw_str_from(cw_cli_escape(STDOUT_FILENO, CW_CLI_BOLD)));
    cw_buf_printf(out, "%-*s  %-*s  GUESS     DESCRIPTION", (int)name_width, "METHOD",
                  (int)params_width, "PARAMS");
    cw_buf_printf(out, "%s\n", cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN));
    for (size_t i = 0; i < im->n; i++) {
        const cw_method *m = &im->methods[i];
        bool destroys = im->guesses[i] == CW_RISK_DESTROYS;
        cw_cli_add_column(out, m->id, name_width);
        size_t from = out->n;
        add_params(out, m);
        add_padding(out, from, params_width);
        cw_buf_printf(out, "%s%-8s%s  ", destroys ? cw_cli_escape(STDOUT_FILENO, CW_CLI_RED) : "",
                      guess_names[im->guesses[i]],
                      destroys ? cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN) : "");
        cw_tools_add_line(out, m->usage);
        while (out->n && out->p[out->n - 1] == ' ')
            out->n--;
        cw_buf_add_char(out, '\n');
    }
}

static void add_json_method(cw_json_writer *w, const cw_method *m, cw_risk guess)
{
    static const char *const names[] = {"reads", "changes", "destroys"};
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), m->id);
    cw_json_add_string_member(w, CW_STR("guess"), cw_str_from(names[guess]));
    cw_json_add_string_member(w, CW_STR("description"), m->usage);
    cw_json_add_key(w, CW_STR("params"));
    cw_json_open_array(w);
    for (size_t i = 0; i < m->n_params; i++) {
        cw_json_open_object(w);
        cw_json_add_string_member(w, CW_STR("name"), m->params[i].name);
        cw_json_add_bool_member(w, CW_STR("required"), m->params[i].is_required);
        cw_json_close(w);
    }
    cw_json_close(w);
    cw_json_close(w);
}

void cw_import_write_json(const cw_import *im, cw_buf *out)
{
    CW_CLEANUP(cw_buf_done) cw_buf entry;
    cw_json_writer w;
    cw_buf_init(&entry, CW_CLI_OUTPUT_MAX);
    cw_import_write_entry(im, &entry);
    cw_json_writer_init(&w, out, CW_JSON_INDENT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("name"), im->config.name);
    cw_json_add_string_member(&w, CW_STR("preset"), im->config.preset);
    cw_json_add_string_member(&w, CW_STR("describe"), cw_str_from(im->describer));
    cw_json_add_string_member(&w, CW_STR("overlay"), im->overlay);
    cw_json_add_string_member(&w, CW_STR("configuration"), cw_buf_str(&entry));
    cw_json_add_key(&w, CW_STR("methods"));
    cw_json_open_array(&w);
    for (size_t i = 0; i < im->n; i++)
        add_json_method(&w, &im->methods[i], im->guesses[i]);
    cw_json_close(&w);
    cw_json_close(&w);
    (void)!cw_json_writer_end(&w, NULL); /* sticky in the buffer */
    if (entry.code && !out->code)
        out->code = entry.code;
    cw_buf_add_char(out, '\n');
}
