/* SPDX-License-Identifier: GPL-2.0-or-later */
/* configuration.c - doctor: the text of the configuration, and what its files contain. */
#include <string.h>

#include "cli/doctor/doctor.h"
#include "cli/lib/config_files.h"

#define REMEDY "correct the value; docs/configuration.md describes every key"

#define WARNING ": warning: "

/* The problem, and behind its last "; " a remedy; `remedy` if there is none. */
static void add_message(cw_doctor *d, cw_doctor_severity severity, const char *subject,
                        const char *message, const char *remedy)
{
    const char *end = NULL;
    for (const char *s = strstr(message, "; "); s; s = strstr(s + 2, "; "))
        end = s;
    cw_doctor_add(d, severity, subject, end ? end + 2 : remedy, "%.*s",
                  end ? (int)(end - message) : (int)strlen(message), message);
}

void cw_doctor_add_message(cw_doctor *d, const char *subject, const char *message,
                           const char *remedy)
{
    add_message(d, CW_DOCTOR_ERROR, subject, message, remedy);
}

/* "FILE:LINE:COLUMN: KEY: message", of a warning "...: KEY: warning: message". The place ends at ": ". */
static void add_problem(cw_doctor *d, cw_doctor_severity severity, const char *text)
{
    const char *colon = strstr(text, ": ");
    const char *subject =
        colon ? cw_doctor_text(d, "%.*s", (int)(colon - text), text) : "configuration";
    const char *message = colon ? colon + 2 : text;
    const char *word = severity == CW_DOCTOR_WARNING ? strstr(message, WARNING) : NULL;
    if (word)
        message = cw_doctor_text(d, "%.*s: %s", (int)(word - message), message,
                                 word + sizeof WARNING - 1);
    add_message(d, severity, subject, message, REMEDY);
}

static void add_problems(cw_doctor *d, cw_doctor_severity severity,
                         const cw_config_problems *problems)
{
    for (size_t i = 0; i < problems->n; i++)
        add_problem(d, severity, problems->items[i].text);
    if (problems->total > problems->n)
        cw_doctor_add(d, severity, d->config_path, "correct the problems above first",
                      "%zu further problems are not listed", problems->total - problems->n);
}

void cw_doctor_check_configuration(cw_doctor *d)
{
    const cw_config_source source = {.path = d->config_path};
    cw_config_problems problems;
    cw_err err = {0};
    if (!d->config_path)
        return;
    cw_config_problems_init(&problems);
    cw_code rc = cw_config_load(&source, &d->config, &problems, &err);
    if (!rc)
        rc = cw_cli_check_sources(d->config_path, d->config, &problems, &err);
    if (rc && !problems.n)
        cw_doctor_add(d, CW_DOCTOR_ERROR, d->config_path,
                      "check the path, and that this user can read the file", "%s", err.msg);
    add_problems(d, CW_DOCTOR_ERROR, &problems);
    cw_config_problems_done(&problems);
    if (rc) {
        cw_config_unref(d->config);
        d->config = NULL;
    }
}

/* The checks of sources and rights report what cw_cli_check_risks does, and that of the server reports
 * a socket that cannot be used. */
void cw_doctor_check_contents(cw_doctor *d)
{
    cw_config_problems problems, unused, warnings;
    cw_config_problems_init(&problems);
    cw_config_problems_init(&unused);
    cw_config_problems_init(&warnings);
    cw_code rc = cw_cli_check_files(d->config_path, d->config, &problems, &warnings);
    if (!rc)
        rc = cw_cli_check_socket(d->config_path, d->config, &unused, &warnings);
    d->is_failed = rc != CW_OK || d->is_failed;
    add_problems(d, CW_DOCTOR_ERROR, &problems);
    add_problems(d, CW_DOCTOR_WARNING, &warnings);
    cw_config_problems_done(&problems);
    cw_config_problems_done(&unused);
    cw_config_problems_done(&warnings);
}
