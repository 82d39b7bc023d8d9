/* SPDX-License-Identifier: GPL-2.0-or-later */
/* certificates.c - doctor: validity of the certificates that this server presents. */
#include "base/clock.h"
#include "cli/doctor/doctor.h"

#define DAY_MS ((int64_t)86400000)
#define SOON_MS (14 * DAY_MS)

void cw_doctor_add_validity(cw_doctor *d, const char *subject, const cw_tls_validity *validity,
                            const char *remedy)
{
    char from[CW_CLOCK_ISO_LEN + 1], until[CW_CLOCK_ISO_LEN + 1];
    int64_t now = cw_clock_wall_ms();
    cw_clock_format_iso(validity->from, from);
    cw_clock_format_iso(validity->until, until);
    if (now > validity->until)
        cw_doctor_add(d, CW_DOCTOR_ERROR, subject, remedy, "the certificate expired on %s", until);
    else if (now < validity->from)
        cw_doctor_add(d, CW_DOCTOR_ERROR, subject,
                      "check the clock of this machine, or use a certificate that is valid now",
                      "the certificate is not valid before %s", from);
    else if (validity->until - now < SOON_MS)
        cw_doctor_add(d, CW_DOCTOR_WARNING, subject, remedy, "the certificate expires on %s",
                      until);
}

/* A file that cannot be read is a finding of the check of files. */
static void check(cw_doctor *d, cw_str path, const char *remedy)
{
    cw_tls_validity validity;
    if (path.n && cw_tls_file_validity(path.p, &validity, NULL) == CW_OK)
        cw_doctor_add_validity(d, path.p, &validity, remedy);
}

void cw_doctor_check_certificates(cw_doctor *d)
{
    check(d, d->config->tls.certificate,
          "renew the certificate, then run \"causeway reload\" so that the server reads it");
    for (size_t i = 0; i < d->config->sources.n; i++) {
        const cw_config_remote *s = &d->config->sources.items[i];
        check(d, s->tls.certificate,
              cw_doctor_text(d,
                             "obtain a new client certificate for the source \"%s\", then run "
                             "\"causeway reload\"",
                             s->name.p));
    }
}
