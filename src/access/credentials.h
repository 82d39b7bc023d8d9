/* SPDX-License-Identifier: GPL-2.0-or-later */
/* credentials.h - passwords and tokens: made, hashed, checked, read from a header.
 *
 * Passwords are stored as Argon2id hashes in their text form, which includes the parameters. A token
 * is "cw_" and 32 random bytes in base64url. It cannot be guessed, so its SHA-256 is stored.
 *
 * Threads: any, after cw_secret_init.
 * Limits:  CW_PASSWORD_MAX bytes of a password, CW_DB_MAX_NAME of a name.
 */
#ifndef CW_ACCESS_CREDENTIALS_H
#define CW_ACCESS_CREDENTIALS_H

#include "store/db.h"

#define CW_PASSWORD_MAX 1024u
#define CW_PASSWORD_HASH 128u /* bytes of the text form with its NUL */
#define CW_TOKEN_PREFIX "cw_"
#define CW_TOKEN_LEN 46u /* prefix and 43 characters */
/* Likewise, of the built-in authorization server (access/oauth). */
#define CW_ACCESS_TOKEN_PREFIX "cwa_"
#define CW_CODE_PREFIX "cwc_"
#define CW_CLIENT_SECRET_PREFIX "cws_"
#define CW_ACCESS_TOKEN_LEN 47u /* of a code and a secret too */
#define CW_DIGEST 32u

/* Once per process, before anything else here; twice is fine. */
CW_MUST_USE cw_code cw_secret_init(cw_err *err);

/* The text form of a password's hash, with a NUL. Takes about a tenth of a second and 64 MB. */
CW_MUST_USE cw_code cw_password_hash(cw_str password, char out[CW_PASSWORD_HASH], cw_err *err);
/* Whether the password matches the hash. The time does not depend on the result. An empty hash
 * matches no password. CW_NOMEM: not checked. */
CW_MUST_USE cw_code cw_password_verify(const char *hash, cw_str password, bool *ret);

/* A new token, with a NUL. */
CW_MUST_USE cw_code cw_token_make(char out[CW_TOKEN_LEN + 1], cw_err *err);
/* The digest that is stored. False: the text does not have the form of a token. */
bool cw_token_digest(cw_str token, unsigned char out[CW_DIGEST]);
/* The same for a token or code with one of the longer prefixes. */
CW_MUST_USE cw_code cw_access_token_make(const char *prefix, char out[CW_ACCESS_TOKEN_LEN + 1],
                                         cw_err *err);
bool cw_access_token_digest(const char *prefix, cw_str token, unsigned char out[CW_DIGEST]);
/* The same for an access token of the built-in authorization server, which may be a JWT: then the digest of
 * its whole text. */
bool cw_access_token_digest_any(cw_str token, unsigned char out[CW_DIGEST]);

typedef enum cw_credentials_kind {
    CW_CREDENTIALS_PASSWORD,
    CW_CREDENTIALS_TOKEN,
    CW_CREDENTIALS_ACCESS_TOKEN,
} cw_credentials_kind;

typedef struct cw_credentials {
    cw_credentials_kind kind;
    size_t n_name, n_password;
    char name[CW_DB_MAX_NAME];
    char password[CW_PASSWORD_MAX];
    unsigned char token[CW_DIGEST];
} cw_credentials;

/* Parse the value of an Authorization header. False: another scheme, invalid base64, or too long. */
bool cw_credentials_parse(cw_str header, cw_credentials *ret);
/* The token of a header with the Bearer scheme; .p is NULL for another one. */
cw_str cw_credentials_bearer(cw_str header);
/* Whether the header begins with the scheme of passwords. */
bool cw_credentials_is_basic(cw_str header);
/* The two parts of a header with the Basic scheme, in the arena: of an OAuth client, whose parts may be
 * form-encoded. False: another scheme, invalid base64, no colon, or no memory. */
bool cw_credentials_basic_pair(cw_str header, cw_arena *arena, cw_str *ret_id, cw_str *ret_secret);
/* A keyed digest of the parsed credentials, for tables in memory: equal for all spellings of a
 * header. */
void cw_credentials_key(const cw_credentials *c, unsigned char out[CW_DIGEST]);
/* Overwrite the secrets. */
void cw_credentials_wipe(cw_credentials *c);

/* Whether an account may have this name: 1 to CW_DB_MAX_NAME bytes of UTF-8 without control
 * characters and colons, not "anonymous". */
bool cw_account_name_is_valid(cw_str name);

/* Identifies a password by its stored hash, in every process and in stored states. A new password has
 * another one, also if it is the same text: the hash has a random salt, which the digest does not
 * reveal. */
void cw_password_id(cw_str stored, unsigned char out[CW_DIGEST]);

/* A keyed digest for tables in memory, so that they hold no secrets. Each process has its own key.
 */
void cw_secret_digest(cw_str bytes, unsigned char out[CW_DIGEST]);
/* The same at half the cost, for each request: SipHash-2-4 with 128 bits, the rest is zero. Use it
 * only as the key of a table: without the key of the process no client can choose an entry. */
void cw_secret_tag(cw_str bytes, unsigned char out[CW_DIGEST]);
bool cw_secret_equal(const unsigned char a[CW_DIGEST], const unsigned char b[CW_DIGEST]);

#endif
