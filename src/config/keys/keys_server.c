/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys_server.c - the tables of the built-in authorization server. */
#include "config/keys/rows.h"

#define MAX_CLIENTS 100u
#define MAX_ADDRESSES 10u
#define MAX_ROLES 100u
#define MAX_HOSTS 100u
#define MINUTE_MS 60000u

#define FIELD(field) CW_KEY_AT(cw_config, field)
#define CLIENT(field) CW_KEY_AT(cw_config_oauth_client, field)
#define ROLES                                                                                      \
    .max = MAX_ROLES, .is_valid = cw_check_is_clean, .expected = "the name of a role",             \
    .pattern = CW_NAMES_CLEAN_PATTERN
#define ADDRESS                                                                                    \
    .is_valid = cw_check_is_clean, .expected = "a URL such as \"https://example.org/callback\"",   \
    .pattern = CW_NAMES_CLEAN_PATTERN

static const cw_config_oauth_client default_oauth_client = {
    .id = CW_STR_INIT(""),
    .name = CW_STR_INIT(""),
    .secret_file = CW_STR_INIT(""),
    .jwks = CW_STR_INIT(""),
    .jwks_file = CW_STR_INIT(""),
    .account = CW_STR_INIT(""),
};

static const cw_choice assertion_audiences[] = {
    {"issuer", CW_ASSERTION_FOR_ISSUER},
    {"token_endpoint", CW_ASSERTION_FOR_TOKEN_ENDPOINT},
    {0},
};

static const cw_choice token_formats[] = {
    {"opaque", CW_TOKEN_OPAQUE},
    {"jwt", CW_TOKEN_JWT},
    {0},
};

static const cw_choice signing_algorithms[] = {
    {"ES256", CW_SIGNING_ES256},
    {"RS256", CW_SIGNING_RS256},
    {0},
};

static const cw_key client_keys[] = {
    {"id", &cw_type_text,
     "Its client_id: letters, digits, - and _; or the URL of its document, which is then not "
     "fetched",
     CLIENT(id), .is_required = true, CW_KEY_LINE},
    {"name", &cw_type_text, "Its name for people; null is its id", CLIENT(name), CW_KEY_LINE},
    {"redirect_uris", &cw_type_strings, "Addresses to which codes may be sent",
     CLIENT(redirect_uris), .max = MAX_ADDRESSES, ADDRESS},
    {"secret_file", &cw_type_path, "File whose first line is its secret; null: it has none",
     CLIENT(secret_file)},
    {"jwks", &cw_type_object,
     "Public keys (JWK set) of a client that authenticates with private_key_jwt; null: none",
     CLIENT(jwks)},
    {"jwks_file", &cw_type_path, "The same in a file", CLIENT(jwks_file)},
    {"assertion_audience", &cw_type_enum,
     "Audience of its assertions: the issuer, or the token endpoint", CLIENT(assertion_audience),
     .choices = assertion_audiences},
    {"ceiling", &cw_type_strings, "Roles that bound its grants; [] is access.server.ceiling",
     CLIENT(ceiling), ROLES},
    {"account", &cw_type_text,
     "Account for which it acts with the grant client_credentials; null: not offered",
     CLIENT(account), CW_KEY_LINE},
    {"scopes", &cw_type_strings, "Scopes of its tokens for that account", CLIENT(scopes),
     .max = MAX_ROLES, CW_KEY_SCOPE},
    {"device", &cw_type_bool,
     "It may log people in with a code that they enter in a browser of their own (RFC 8628)",
     CLIENT(device)},
    {0},
};

const cw_key cw_server_keys[] = {
    {"enabled", &cw_type_bool,
     "This server issues tokens itself: OAuth clients log people in with their accounts here",
     FIELD(access.server.enabled)},
    {"clients", &cw_type_items, "OAuth clients that you register; causeway client add does so too",
     FIELD(access.server.clients), .min = 0, .max = MAX_CLIENTS, .children = client_keys,
     .item_size = sizeof(cw_config_oauth_client), .item_defaults = &default_oauth_client},
    {"ceiling", &cw_type_strings,
     "Roles whose permissions bound every grant; []: all but the permissions of administration",
     FIELD(access.server.ceiling), ROLES},
    {"dynamic_registration", &cw_type_bool, "Clients may register themselves at /register",
     FIELD(access.server.dynamic_registration)},
    {"client_documents", &cw_type_bool,
     "Clients may be described by a document, whose https URL is their client_id",
     FIELD(access.server.client_documents)},
    {"client_document_hosts", &cw_type_strings, "Hosts of such documents; []: any public host",
     FIELD(access.server.client_document_hosts), .max = MAX_HOSTS, .is_valid = cw_check_is_clean,
     .expected = "a host such as \"claude.ai\"", .pattern = CW_NAMES_CLEAN_PATTERN},
    {"client_document_ca_file", &cw_type_path,
     "PEM file with the CA certificates trusted for these hosts; null: those of the system",
     FIELD(access.server.client_document_ca_file)},
    {"client_document_allow_private", &cw_type_bool,
     "Such a host may be on this machine or in a private network",
     FIELD(access.server.client_document_allow_private)},
    {"redirect_uris", &cw_type_strings,
     "Addresses with other schemes than http and https to which codes may be sent",
     FIELD(access.server.redirect_uris), .max = MAX_HOSTS, ADDRESS},
    {"token_format", &cw_type_enum,
     "Access tokens: opaque texts, or JWTs that other services can read (RFC 9068)",
     FIELD(access.server.token_format), .choices = token_formats},
    {"signing_algorithm", &cw_type_enum, "Algorithm of new keys for such JWTs",
     FIELD(access.server.signing_algorithm), .choices = signing_algorithms},
    {"access_token_lifetime", &cw_type_duration, "Life of an access token",
     FIELD(access.server.access_token_ms), .min = MINUTE_MS, .max = CW_KEY_DAY_MS},
    {"grant_idle", &cw_type_duration, "Time without use after which a grant ends",
     FIELD(access.server.grant_idle_ms), .min = MINUTE_MS, .max = 366 * (uint64_t)CW_KEY_DAY_MS},
    {"grant_lifetime", &cw_type_duration, "Time after which a grant ends in any case",
     FIELD(access.server.grant_lifetime_ms), .min = MINUTE_MS,
     .max = 366 * (uint64_t)CW_KEY_DAY_MS},
    {"refresh_grace", &cw_type_duration,
     "For so long a refresh token that was just used gets the same successor again; 0: never",
     FIELD(access.server.refresh_grace_ms), .min = 0, .max = 10 * MINUTE_MS},
    {"grants", &cw_type_integer, "Grants of one account; a further one ends the least used",
     FIELD(access.server.grants), .min = 1, .max = 10000},
    {"access_tokens", &cw_type_integer, "Access tokens of one grant; a further one ends the oldest",
     FIELD(access.server.access_tokens), .min = 1, .max = 100000},
    {0},
};
