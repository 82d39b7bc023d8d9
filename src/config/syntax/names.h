/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names.h - the syntax of addresses, hosts and origins in a configuration.
 *
 * Only how they are written is checked: no name is resolved, no file opened.
 * Hosts and origins are what net/http/hostcheck.h takes; the rules are repeated here
 * because config stands below net, and a test holds the two together.
 *
 * Threads: no state.
 */
#ifndef CW_CONFIG_SYNTAX_NAMES_H
#define CW_CONFIG_SYNTAX_NAMES_H

#include "config/config.h"

#define CW_NAMES_ADDRESS_PATTERN                                                                   \
    "^(unix:.+|\\[[0-9A-Fa-f:.]+(%[0-9A-Za-z._-]+)?\\]:[0-9]{1,5}|[0-9A-Za-z._-]+:[0-9]{1,5})$"
#define CW_NAMES_HOST_PATTERN                                                                      \
    "^(\\*|(\\*\\.)?[0-9A-Za-z._-]+(:[0-9]{1,5})?|\\[[0-9A-Fa-f:.]+\\](:[0-9]{1,5})?)$"
#define CW_NAMES_ORIGIN_PATTERN                                                                    \
    "^(\\*|null|[A-Za-z][0-9A-Za-z+.-]*://"                                                        \
    "((\\*\\.)?[0-9A-Za-z._-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?)$"

/* Take "HOST:PORT", "[IPV6]:PORT" or "unix:PATH" apart; the parts borrow from `text` (without the
 * NUL that config.h promises). Returns NULL, or what is wrong in a few words, *ret untouched. */
const char *cw_names_parse_address(cw_str text, cw_config_address *ret);
/* Whether clients of other machines cannot reach it. */
bool cw_names_is_loopback(const cw_config_address *a);

/* "name", "name:port", "*.name", "[v6]", "[v6]:port" or "*". */
bool cw_names_is_host(cw_str entry);
/* "name" alone. */
bool cw_names_is_console_host(cw_str name);
#define CW_NAMES_CONSOLE_HOST_PATTERN "^[0-9A-Za-z._-]+$"
/* "scheme://host[:port]" with a host as above, "null" or "*". */
bool cw_names_is_origin(cw_str entry);
/* Check "http://HOST[:PORT][/PATH]" (https, ws, wss), "tcp://HOST:PORT" or "unix:SOCKET[:/PATH]".
 * Returns NULL, or what is wrong in a few words. *ret_socket gets SOCKET, perhaps relative, or "".
 */
const char *cw_names_check_url(cw_str text, cw_str *ret_socket);
#define CW_NAMES_URL_PATTERN                                                                       \
    "^((https?|wss?)://[^/?#@]+(/[!-~]*)?|tcp://[^/?#@]+:[0-9]{1,5}|"                              \
    "unix:[^:\\u0000-\\u001f\\u007f]+(:/[!-~]*)?)$"
/* "http://HOST:PORT" (https, socks5, socks5h). */
bool cw_names_is_proxy(cw_str text);
#define CW_NAMES_PROXY_PATTERN "^(https?|socks5h?)://[^/?#@]+:[0-9]{1,5}$"
/* "/…/{method}…", all of it fit for a request line. */
bool cw_names_is_call_path(cw_str path);
#define CW_NAMES_CALL_PATH_PATTERN "^/[!$-;=?-\\[\\]_a-z~]*\\{method\\}[!$-;=?-\\[\\]_a-z~]*$"
/* A word that names one of a few things: "2.0", "content-length" (for the schema, also none). */
bool cw_names_is_word(cw_str text);
#define CW_NAMES_WORD_PATTERN "^[0-9A-Za-z._-]{0,64}$"
/* A variable of the environment. */
bool cw_names_is_variable(cw_str name);
#define CW_NAMES_VARIABLE_PATTERN "^[A-Za-z_][0-9A-Za-z_]{0,254}$"
/* A header field (RFC 9110, 5.1). */
bool cw_names_is_header(cw_str name);
#define CW_NAMES_HEADER_PATTERN "^[0-9A-Za-z!#$%&'*+.^_`|~-]{1,128}$"
/* Text for people: perhaps several lines, perhaps empty. */
bool cw_names_is_prose(cw_str text);
#define CW_NAMES_PROSE_PATTERN "^[^\\u0000-\\u0008\\u000b-\\u001f\\u007f]*$"
#define CW_NAMES_PROSE_EXPECTED "a text without control characters but line breaks and tabs"
/* RFC 6749, 3.3. */
bool cw_names_is_scope(cw_str text);
#define CW_NAMES_SCOPE_PATTERN "^[!#-\\[\\]-~]+$"
#define CW_NAMES_SCOPE_EXPECTED "a scope such as \"content:read\""
/* "http://host[:port][/path]" or the same with https, without a final slash, query or user; at most
 * CW_PUBLIC_URL_MAX - 1 bytes. */
bool cw_names_is_public_url(cw_str text);
#define CW_NAMES_PUBLIC_URL_PATTERN                                                                \
    "^https?://([0-9A-Za-z._-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?(/[0-9A-Za-z._~-]+)*$"
/* "https://host[:port][/path]" as an issuer writes it: perhaps with a final slash, without query,
 * fragment and user; http too. */
bool cw_names_is_issuer(cw_str text);
#define CW_NAMES_ISSUER_PATTERN "^https?://[^/?#@\\s]+(/[!-\"$-;=@-~]*)?$"
/* An address, a network such as "10.0.0.0/8", or "unix". */
bool cw_names_is_network(cw_str text);
#define CW_NAMES_NETWORK_PATTERN "^(unix|[0-9.]+(/[0-9]{1,2})?|[0-9A-Fa-f:.]+(/[0-9]{1,3})?)$"
/* A JSON pointer that is not empty: "/realm_access/roles". */
bool cw_names_is_pointer(cw_str text);
#define CW_NAMES_POINTER_PATTERN "^(/([^~/\\u0000-\\u001f]|~[01])*)+$"
/* "/name[/name…]", without a final slash, "." and "..". */
bool cw_names_is_path(cw_str text);
#define CW_NAMES_PATH_PATTERN "^(/(?!\\.{1,2}(/|$))[0-9A-Za-z._~-]+)+$"
/* A name in registries: "namespace/name", 3 to 200 bytes. */
bool cw_names_is_server(cw_str text);
#define CW_NAMES_SERVER_PATTERN "^[0-9A-Za-z.-]{1,99}/[0-9A-Za-z._-]{1,99}$"
/* One line of 1 to 100 characters. */
bool cw_names_is_summary(cw_str text);
#define CW_NAMES_SUMMARY_PATTERN "^[^\\u0000-\\u001f\\u007f]{1,100}$"
/* The name of a source: 1 to 64 of [a-z0-9_-]. */
bool cw_names_is_source(cw_str name);
#define CW_NAMES_SOURCE_PATTERN "^[a-z0-9_-]{1,64}$"
/* A component of the log: a lower-case letter, then up to 31 of [a-z0-9_-]. */
bool cw_names_is_component(cw_str name);
#define CW_NAMES_COMPONENT_PATTERN "^[a-z][a-z0-9_-]{0,31}$"
/* The texts that cw_check_is_clean accepts; the second pattern accepts "" too. */
#define CW_NAMES_CLEAN_PATTERN "^[^\\u0000-\\u001f\\u007f]+$"
#define CW_NAMES_LINE_PATTERN "^[^\\u0000-\\u001f\\u007f]*$"
#define CW_NAMES_LINE_EXPECTED "a text without control characters"

#endif
