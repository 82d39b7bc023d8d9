/* SPDX-License-Identifier: GPL-2.0-or-later */
/* consent.h - the page that asks a person whether an application may act for them.
 *
 * It shows the account, the application by the evidence for its identity, the place that the answer is sent
 * to, and the access. Its form carries everything that was shown, sealed together with the session of
 * the browser. The decision is made for these values and no others.
 *
 * Ownership: texts live in the arena of the request.
 * Threads:   the loop of the request.
 */
#ifndef CW_DOOR_PAGE_CONSENT_H
#define CW_DOOR_PAGE_CONSENT_H

#include "access/oauth/redirect.h"
#include "door/page/authorize_request.h"
#include "door/page/visit.h"

#define CW_CONSENT_MAX_SCOPES 64u
#define CW_CONSENT_FORGED                                                                          \
    "This form was not issued to this browser. Please start again in the application."

typedef struct cw_consent {
    cw_oauth_client client;
    cw_str issuer, redirect_uri, state, challenge, resource;
    cw_str scopes[CW_CONSENT_MAX_SCOPES]; /* that can be allowed */
    size_t n_scopes;
    bool is_offline; /* offline_access was asked for */
    cw_str device; /* the user code of a device, which gets the answer; empty: redirect_uri does */
    /* Not in the form: */
    cw_redirect to;             /* redirect_uri */
    size_t n_tools, n_changing; /* that the account sees, and that may change something */
    cw_str again;               /* the sealed request, for another account */
    cw_str device_address;      /* of a device: that it asked from */
    int64_t device_asked;       /* likewise: when, ms since 1970 */
} cw_consent;

/* Answer with the page. */
void cw_consent_show(cw_visit *v, const cw_consent *consent);
/* Read the form of the page with a decision; only scopes that are ticked stay. False: it is answered. */
bool cw_consent_receive(cw_visit *v, cw_consent *ret, bool *ret_allowed);
/* The tools that this caller sees, and those of them that may change something. */
void cw_consent_count_tools(cw_visit *v, cw_caller *caller, size_t *ret_n, size_t *ret_changing);
/* Record a decision; both texts are static. */
void cw_consent_audit(const cw_visit *v, const cw_consent *consent, const char *door,
                      const char *outcome);
/* The evidence for the identity of a client as a part of a page: "the application …". */
void cw_consent_add_client(cw_buf *out, const cw_oauth_client *client);

#endif
