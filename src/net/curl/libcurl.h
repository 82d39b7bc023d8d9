/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libcurl.h - libcurl, loaded when it is first needed: it costs 9 ms and 6 MB, and most servers
 * have no use for it. For files of this folder. */
#ifndef CW_NET_CURL_LIBCURL_H
#define CW_NET_CURL_LIBCURL_H

#define CURL_DISABLE_TYPECHECK /* its macros want the functions by name */
#include <curl/curl.h>
#include <openssl/ssl.h>

#include "base/err.h"

/* The functions in use: name here, name there. */
#define CW_CURL_FUNCTIONS(X)                                                                       \
    X(global_init, curl_global_init)                                                               \
    X(easy_init, curl_easy_init)                                                                   \
    X(easy_setopt, curl_easy_setopt)                                                               \
    X(easy_getinfo, curl_easy_getinfo)                                                             \
    X(easy_cleanup, curl_easy_cleanup)                                                             \
    X(easy_strerror, curl_easy_strerror)                                                           \
    X(easy_send, curl_easy_send)                                                                   \
    X(easy_recv, curl_easy_recv)                                                                   \
    X(share_init, curl_share_init)                                                                 \
    X(share_setopt, curl_share_setopt)                                                             \
    X(share_cleanup, curl_share_cleanup)                                                           \
    X(slist_append, curl_slist_append)                                                             \
    X(slist_free_all, curl_slist_free_all)                                                         \
    X(multi_init, curl_multi_init)                                                                 \
    X(multi_setopt, curl_multi_setopt)                                                             \
    X(multi_add_handle, curl_multi_add_handle)                                                     \
    X(multi_remove_handle, curl_multi_remove_handle)                                               \
    X(multi_socket_action, curl_multi_socket_action)                                               \
    X(multi_assign, curl_multi_assign)                                                             \
    X(multi_info_read, curl_multi_info_read)                                                       \
    X(multi_cleanup, curl_multi_cleanup)

typedef struct cw_curl {
#define CW_X(name, symbol) __typeof__ (&(symbol))(name);
    CW_CURL_FUNCTIONS(CW_X)
#undef CW_X
    /* From the OpenSSL that libcurl uses; NULL: it uses another library. */
    int (*ssl_get_shutdown)(const SSL *tls);
} cw_curl;

/* Any thread; the library stays loaded. CW_IO when it is not there. */
CW_MUST_USE cw_code cw_curl_load(const cw_curl **ret, cw_err *err);

#endif
