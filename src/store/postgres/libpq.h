/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libpq.h - libpq, loaded when a database server is configured: it brings 17 further libraries, and
 * most servers use a file. For files of this folder. */
#ifndef CW_STORE_POSTGRES_LIBPQ_H
#define CW_STORE_POSTGRES_LIBPQ_H

#include <libpq-fe.h>

#include "base/err.h"

/* The functions in use: name here, name there. */
#define CW_LIBPQ_FUNCTIONS(X)                                                                      \
    X(conninfo_parse, PQconninfoParse)                                                             \
    X(conninfo_free, PQconninfoFree)                                                               \
    X(freemem, PQfreemem)                                                                          \
    X(connect, PQconnectdbParams)                                                                  \
    X(finish, PQfinish)                                                                            \
    X(status, PQstatus)                                                                            \
    X(socket, PQsocket)                                                                            \
    X(error_message, PQerrorMessage)                                                               \
    X(set_notice_processor, PQsetNoticeProcessor)                                                  \
    X(set_nonblocking, PQsetnonblocking)                                                           \
    X(transaction_status, PQtransactionStatus)                                                     \
    X(send_query, PQsendQuery)                                                                     \
    X(send_query_params, PQsendQueryParams)                                                        \
    X(flush, PQflush)                                                                              \
    X(consume_input, PQconsumeInput)                                                               \
    X(is_busy, PQisBusy)                                                                           \
    X(notifies, PQnotifies)                                                                        \
    X(get_result, PQgetResult)                                                                     \
    X(result_status, PQresultStatus)                                                               \
    X(result_error_field, PQresultErrorField)                                                      \
    X(cmd_tuples, PQcmdTuples)                                                                     \
    X(ntuples, PQntuples)                                                                          \
    X(getisnull, PQgetisnull)                                                                      \
    X(getvalue, PQgetvalue)                                                                        \
    X(getlength, PQgetlength)                                                                      \
    X(clear, PQclear)

typedef struct cw_libpq {
#define CW_X(name, symbol) __typeof__ (&(symbol))(name);
    CW_LIBPQ_FUNCTIONS(CW_X)
#undef CW_X
} cw_libpq;

/* Any thread; the library stays loaded. CW_IO when it is not there. */
CW_MUST_USE cw_code cw_libpq_load(const cw_libpq **ret, cw_err *err);

#endif
