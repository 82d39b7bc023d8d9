/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sources.c - doctor: services, loaded as a server does, and their credentials. They are loaded once:
 * the check of rights uses them too. */
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/doctor.h"
#include "cli/source/source_set.h"
#include "source/upstream/package.h"

/* Each line of a text is a finding. */
static void add_lines(cw_doctor *d, cw_doctor_severity severity, const cw_source_set_item *item,
                      const char *remedy, const char *lines)
{
    for (cw_str rest = cw_str_from(lines); rest.p;) {
        cw_str line = cw_str_cut(rest, '\n', &rest);
        cw_doctor_add(d, severity, item->config->name.p, remedy, "%.*s", CW_STR_ARG(line));
    }
}

static void add_unusable(cw_doctor *d, const cw_source_set_item *item)
{
    const char *remedy =
        cw_doctor_text(d,
                       "start the service, or correct its entry under sources; \"causeway source "
                       "check %s\" tries again",
                       item->config->name.p);
    add_lines(d, CW_DOCTOR_ERROR, item, remedy,
              item->problem ? item->problem : "it cannot be loaded");
}

static void add_faults(cw_doctor *d, const cw_source_set_item *item)
{
    for (cw_str rest = cw_str_from(item->problem); rest.p;) {
        cw_str line = cw_str_cut(rest, '\n', &rest);
        bool is_credential = memmem(line.p, line.n, "credentials", strlen("credentials")) != NULL;
        cw_doctor_add(d, CW_DOCTOR_ERROR, item->config->name.p,
                      is_credential ? "put the right secret into the file or variable that the "
                                      "entry names, and check how it is sent (secret.as)"
                                    : "set a prefix for one of the sources, or another name for "
                                      "the method",
                      "%.*s", CW_STR_ARG(line));
    }
}

static size_t count_lines(const char *text)
{
    size_t n = text && *text ? 1 : 0;
    for (; n && *text; text++)
        n += *text == '\n';
    return n;
}

static void check_item(cw_doctor *d, const cw_source_set_item *item)
{
    const char *name = item->config->name.p;
    size_t n = count_lines(item->warnings);
    cw_str package = cw_package_unpinned(&item->config->command);
    if (package.n)
        cw_doctor_add(d, CW_DOCTOR_WARNING, name,
                      "write the version that you have reviewed: PACKAGE@1.2.3",
                      "the package %.*s has no fixed version; another program may run at the next "
                      "start",
                      CW_STR_ARG(package));
    if (!item->source) {
        add_unusable(d, item);
        return;
    }
    if (item->is_faulty && item->problem)
        add_faults(d, item);
    d->has_withheld = d->has_withheld || item->n_withheld;
    /* A lock file that cannot be read is a finding of the check of files. */
    if (item->n_withheld && d->has_lock)
        cw_doctor_add(d, CW_DOCTOR_WARNING, name,
                      cw_doctor_text(d,
                                     "review them with \"causeway source diff %s\", then run "
                                     "\"causeway source approve %s\"",
                                     name, name),
                      item->n_withheld == 1
                          ? "%zu tool is withheld, because it differs from the lock file"
                          : "%zu tools are withheld, because they differ from the lock file",
                      item->n_withheld);
    else if (n)
        cw_doctor_add(
            d, item->is_lacking ? CW_DOCTOR_WARNING : CW_DOCTOR_NOTE, name,
            cw_doctor_text(d, "run \"causeway source check %s\" and correct the overlay", name),
            "%.*s%s", (int)strcspn(item->warnings, "\n"), item->warnings,
            n > 1 ? " (and other warnings)" : "");
}

/* Without their connections: nothing is called any more. */
static void keep_services(cw_doctor *d, const cw_source_set *all)
{
    d->services = calloc(all->n + 1, sizeof(cw_source *));
    d->is_failed = d->is_failed || !d->services;
    for (size_t i = 0; d->services && i < all->n; i++) {
        if (all->items[i].source)
            d->services[d->n_services++] = cw_source_ref(all->items[i].source);
    }
}

static int check_all(cw_source_set *all, void *ctx)
{
    cw_doctor *d = ctx;
    if (cw_source_set_test(all))
        d->is_failed = true;
    for (size_t i = 0; i < all->n; i++)
        check_item(d, &all->items[i]);
    keep_services(d, all);
    return 0;
}

void cw_doctor_check_sources(cw_doctor *d)
{
    cw_source_set all = {.config = d->config, .is_silent = true};
    if (!d->config->sources.n)
        return;
    d->is_failed = cw_source_set_fill(&all) != CW_OK ||
                   cw_source_set_run(&all, CW_SOURCE_SET_CHECK, check_all, d) != 0 || d->is_failed;
    free(all.items);
}
