/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session.h - the sessions of browsers: opened with a password, shown as a cookie, ended by logging
 * out.
 *
 * A session is a secret of 32 random bytes, of which the database keeps the SHA-256
 * with its account and two times. A new one is made by each login, so nobody can plant
 * one. It acts for its account like the password did, with what the account may do at
 * the moment.
 *
 *     open     store, pool, store (accounts.h); then the row, if the password is still that one
 *     resume   remembered by the loop for a minute, else looked up by the store's thread
 *     end      the row goes, and with it what the loops remember
 *
 * It ends, and with it what it opened (login_watch.h), when it was not used for idle_ms,
 * lifetime_ms after it was opened, and at once when the account is blocked or removed, or gets
 * another password or role (a trigger of the database). Use is written down eight times in idle_ms,
 * not more often: a session lasts up to an eighth less than idle_ms after its last request.
 *
 * A browser sends cookies unasked, so requests that change something have to prove that a
 * page of ours made them: with a proof, which is made from the secret and tells nothing of
 * it. Other pages cannot read either.
 *
 * Threads: open, resume and end on the loop; the rest on any, after cw_secret_init.
 * Limits:  rules.per_account sessions of an account, the oldest goes.
 */
#ifndef CW_ACCESS_LOGIN_SESSION_H
#define CW_ACCESS_LOGIN_SESSION_H

#include "access/login/accounts.h"

#define CW_SESSION_LEN 43u /* characters of a secret, and of a proof: base64url */

/* A password is shown for a session. `replaced` (may be empty) is the one that the browser had: it
 * ends. Equal to cw_accounts_login in all else, but nothing is remembered. */
cw_login cw_session_open(cw_accounts *a, cw_loop *loop, cw_str name, cw_str password,
                         cw_str replaced, cw_login_waiter *w);
/* Who shows this session. */
cw_login cw_session_resume(cw_accounts *a, cw_loop *loop, cw_str session, cw_login_waiter *w);
/* End it: OK without a caller, also when there is none; UNAVAILABLE; PENDING. */
cw_login cw_session_end(cw_accounts *a, cw_loop *loop, cw_str session, cw_login_waiter *w);
/* Whether there are sessions. */
bool cw_session_is_on(const cw_accounts *a);

/* A new secret, with a NUL: of a session, or of a form that is not one yet. */
CW_MUST_USE cw_code cw_session_secret(char out[CW_SESSION_LEN + 1], cw_err *err);
/* Whether it has the form of one. */
bool cw_session_is_secret(cw_str text);
/* The proof of a secret, with a NUL; and whether a text is that, in constant time. */
void cw_session_csrf_token(cw_str secret, char out[CW_SESSION_LEN + 1]);
bool cw_session_csrf_matches(cw_str secret, cw_str proof);

#endif
