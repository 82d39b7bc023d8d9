/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor.h - checks of `causeway doctor`, and the findings that they add.
 *
 * A check is a function in the table in doctor.c. It adds a finding for each fault: its severity,
 * the subject (a file, a tool, a source), the problem and a remedy. A check changes nothing. A
 * healthy set-up has no finding.
 *
 *     cw_doctor_add(d, CW_DOCTOR_ERROR, path, cw_doctor_text(d, "chmod go-r '%s'", path),
 *                   "other users can read this file (mode %04o)", mode);
 *
 * To add a check: write the function, list it in doctor.c, document its findings in docs/doctor.md,
 * and make each fault in tests/functional/doctor.test.mjs.
 *
 * Ownership: texts are copied into the arena of the doctor.
 * Threads:   main thread only.
 * Limits:    CW_DOCTOR_MAX_FINDINGS are kept, the others are only counted.
 */
#ifndef CW_CLI_DOCTOR_DOCTOR_H
#define CW_CLI_DOCTOR_DOCTOR_H

#include "base/arena.h"
#include "cli/lib/admin.h"
#include "cli/tool/tools.h"
#include "net/server/tls.h"

#define CW_DOCTOR_MAX_FINDINGS 1000u
#define CW_DOCTOR_TIMEOUT_MS 10000u /* of an exchange with a server or a service, as a whole */
#define CW_DOCTOR_CLOCK_MS 30000    /* difference between two clocks that is reported */

typedef enum cw_doctor_severity {
    CW_DOCTOR_NOTE,    /* may be intended */
    CW_DOCTOR_WARNING, /* works, but is risky or will fail soon */
    CW_DOCTOR_ERROR,   /* does not work, or is unsafe */
} cw_doctor_severity;

#define CW_DOCTOR_SEVERITIES 3u

typedef struct cw_doctor_finding {
    const char *group; /* name of the check */
    cw_doctor_severity severity;
    const char *subject, *problem, *remedy;
} cw_doctor_finding;

typedef struct cw_doctor {
    cw_cli_target target;    /* the options */
    const char *config_path; /* NULL: no configuration is checked */
    cw_config *config;       /* NULL: not loaded */
    cw_cli_admin *server;    /* of --server; NULL: not given */
    cw_source **services;    /* set by the check of sources: those that are loaded, references */
    size_t n_services;
    bool has_withheld; /* set by it: tools of them are withheld, so their rights are not known */
    bool has_lock;     /* set by the check of files: the lock file was read */
    bool has_database; /* set by its check: it can be opened without a change */
    cw_arena arena;
    const char *group; /* of the running check */
    cw_doctor_finding items[CW_DOCTOR_MAX_FINDINGS];
    size_t n;
    size_t counts[CW_DOCTOR_SEVERITIES];
    bool is_failed; /* no memory or no thread: the report is incomplete */
} cw_doctor;

/* Add a finding. `remedy` is an instruction, the format gives the problem. */
CW_PRINTF(5, 6)
void cw_doctor_add(cw_doctor *d, cw_doctor_severity severity, const char *subject,
                   const char *remedy, const char *problem, ...);
/* A text in the arena, for subjects and remedies; "" without memory. */
CW_PRINTF(2, 3) const char *cw_doctor_text(cw_doctor *d, const char *fmt, ...);

/* ---- checks ---- */

/* The text of the configuration. Loads d->config. */
void cw_doctor_check_configuration(cw_doctor *d);
/* Files that the configuration names: contents and modes; directories that other users can write. */
void cw_doctor_check_files(cw_doctor *d);
/* Validity of the certificates that the server presents to clients and services, and of those that
 * services present. */
void cw_doctor_check_certificates(cw_doctor *d);
/* The database: mode, owner, version, damage. */
void cw_doctor_check_database(cw_doctor *d);
/* The clock of this machine. */
void cw_doctor_check_clock(cw_doctor *d);
/* Limits of the system. */
void cw_doctor_check_system(cw_doctor *d);

/* Services: whether they answer, accept the credentials and offer what the lock file has. */
void cw_doctor_check_sources(cw_doctor *d);
/* Metadata, keys and clocks of issuers. */
void cw_doctor_check_issuers(cw_doctor *d);
/* Plugin files: whether the host can load them. */
void cw_doctor_check_plugins(cw_doctor *d);
/* Rights of the anonymous role, accounts and tools. */
void cw_doctor_check_rights(cw_doctor *d);
/* The server of --server, or else the one that runs with this configuration. */
void cw_doctor_check_server(cw_doctor *d);

/* ---- shared by checks ---- */

/* Add an error whose message ends with "; " and a remedy. `remedy` is for a message without one. */
void cw_doctor_add_message(cw_doctor *d, const char *subject, const char *message,
                           const char *remedy);
/* The part of the check of files that `causeway config check` has too. */
void cw_doctor_check_contents(cw_doctor *d);

/* Whether users other than the owner can write: all, or a group that is not the owner's own. */
bool cw_doctor_is_shared(cw_doctor *d, const char *path, const char **ret_chmod);
/* Add a finding if the clock of another machine differs from this one's by CW_DOCTOR_CLOCK_MS. */
void cw_doctor_add_clock(cw_doctor *d, const char *subject, int64_t difference_ms);
/* Add a finding for a certificate that is expired, not yet valid, or expires soon. */
void cw_doctor_add_validity(cw_doctor *d, const char *subject, const cw_tls_validity *validity,
                            const char *remedy);

#endif
