/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session.h - browser sessions: opened with a password, sent as a cookie, ended by logging out.
 *
 * A session is a secret of 32 random bytes. The database stores its SHA-256, its account and two
 * times. Each login creates a new secret, so a session cannot be planted (session fixation). It has
 * the current rights of its account.
 *
 *     open     store, pool, store (accounts.h); then the row, if the password has not changed
 *     resume   from the cache of the loop for a minute, else from the store's thread
 *     end      deletes the row, and invalidates the caches
 *
 * A session ends idle_ms after its last use and lifetime_ms after it was opened. It ends at once when
 * its account is blocked, removed, or gets another password or role (triggers of the database). Its
 * streams end with it (login_watch.h). Its use is recorded eight times in idle_ms, so a session may
 * end up to an eighth of idle_ms early.
 *
 * Browsers add cookies to requests of other sites. Requests that change something must therefore
 * carry a CSRF token, which is derived from the secret and does not reveal it. Other sites can read
 * neither.
 *
 * Threads: open, resume, peek and end on the loop; the rest on any, after cw_secret_init.
 * Limits:  rules.per_account sessions of an account; the oldest is removed.
 */
#ifndef CW_ACCESS_LOGIN_SESSION_H
#define CW_ACCESS_LOGIN_SESSION_H

#include "access/login/accounts.h"

#define CW_SESSION_LEN 43u /* characters of a secret, and of a proof: base64url */

/* Open a session with a password. `replaced` (may be empty) is the previous session of the browser,
 * which ends. The rest is as in cw_accounts_login, but nothing is cached. */
cw_login cw_session_open(cw_accounts *a, cw_loop *loop, cw_str name, cw_str password,
                         cw_str replaced, cw_login_waiter *w);
/* Authenticate a session. */
cw_login cw_session_resume(cw_accounts *a, cw_loop *loop, cw_str session, cw_login_waiter *w);
/* The same without extending it: for requests that a page sends by itself. */
cw_login cw_session_peek(cw_accounts *a, cw_loop *loop, cw_str session, cw_login_waiter *w);
/* End a session: OK without a caller, also for an unknown one; UNAVAILABLE; PENDING. */
cw_login cw_session_end(cw_accounts *a, cw_loop *loop, cw_str session, cw_login_waiter *w);
/* Count a forged form of a client as a failed login of its network. WRONG; TOO_MANY: the network must
 * wait, and nothing is counted. */
cw_login cw_session_forged(cw_accounts *a, cw_login_waiter *w);
/* Whether sessions are enabled. */
bool cw_session_is_on(const cw_accounts *a);

/* A new secret, with a NUL: of a session, or of a login form. */
CW_MUST_USE cw_code cw_session_secret(char out[CW_SESSION_LEN + 1], cw_err *err);
/* Whether the text has the form of a secret. */
bool cw_session_is_secret(cw_str text);
/* The CSRF token of a secret, with a NUL; and whether a text is equal to it, in constant time. */
void cw_session_csrf_token(cw_str secret, char out[CW_SESSION_LEN + 1]);
bool cw_session_csrf_matches(cw_str secret, cw_str proof);

#endif
