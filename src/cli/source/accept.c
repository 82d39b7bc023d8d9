/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source accept: keep the description of a service as the last good one, although it is poorer or
 * asks less of callers than the one before. */
#include "cli/lib/audit_record.h"
#include "cli/source/source_set.h"
#include "config/syntax/quote.h"

static void write_lines(cw_buf *out, const cw_source_set_item *item)
{
    for (cw_str rest = cw_str_from(item->widened); rest.n;) {
        cw_buf_printf(out, "%s: ", item->config->name.p);
        cw_quote_shown(out, cw_str_cut(rest, '\n', &rest));
        cw_buf_add_char(out, '\n');
    }
    cw_buf_printf(out, "%s: %s\n", item->config->name.p,
                  item->widened ? "accepted" : "nothing to accept: it asks no less than before");
}

static int accept_loaded(cw_source_set *all, void *ctx)
{
    (void)ctx;
    bool is_good = true;
    cw_err err = {0};
    cw_code rc = CW_OK;
    cw_buf out;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    for (size_t i = 0; i < all->n; i++) {
        cw_source_set_item *item = &all->items[i];
        if (!item->is_wanted)
            continue;
        cw_cli_record(all->config, "source accept", item->config->name, item->source != NULL);
        if (item->source)
            write_lines(&out, item);
        else
            cw_source_set_report(item);
        is_good = is_good && item->source;
        item->is_wanted = item->source != NULL;
    }
    if (all->config->store.path.n)
        rc = cw_source_set_order(all, &err);
    else
        cw_buf_add(&out, CW_STR("a running server follows when it asks again (HUP makes it)\n"));
    int code = cw_cli_print_buf(&out);
    if (rc)
        return cw_cli_failure("%s", err.msg);
    return code == CW_EXIT_OK && !is_good ? CW_EXIT_FAILURE : code;
}

static int accept_all(cw_source_set *all)
{
    if (all->n_named == 0)
        return cw_cli_usage("name the sources whose descriptions are accepted");
    if (all->config->state.directory.n == 0)
        return cw_cli_usage(
            "state.directory is not set: no descriptions are stored, and a restart of "
            "the server accepts the current ones");
    return cw_source_set_run(all, CW_SOURCE_SET_ACCEPT, accept_loaded, NULL);
}

int cw_cli_source_accept(int argc, char **argv)
{
    static const cw_source_command command = {
        .name = "source accept",
        .args = "NAME...",
        .about = "Read the descriptions of the named services and store them as the last good\n"
                 "ones, even if they require less of callers than before, are of a poorer kind,\n"
                 "or replace a damaged one. A running server uses them from then on. Run\n"
                 "\"causeway source list\" first.",
        .run = accept_all,
    };
    return cw_source_set_command(&command, argc, argv);
}
