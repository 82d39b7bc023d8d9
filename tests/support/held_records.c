/* SPDX-License-Identifier: GPL-2.0-or-later */
/* held_records.c - replaces the function of libcurl that receives. */
#include "support/held_records.h"

#include "net/curl/libcurl.h"
#include "support/test.h"

struct held_records held_records;

static cw_curl *curl; /* NULL: not begun */
static CURLcode (*recv_now)(CURL *easy, void *p, size_t n, size_t *ret_n);

static CURLcode recv_held(CURL *easy, void *p, size_t n, size_t *ret_n)
{
    struct held_records *held = &held_records;
    CURLcode code = CURLE_OK;
    size_t got = 1;
    while (!code && got && held->n < sizeof held->bytes) {
        code = recv_now(easy, held->bytes + held->n, sizeof held->bytes - held->n, &got);
        held->n += code ? 0 : got;
    }
    *ret_n = n && held->at < held->n;
    if (!*ret_n)
        return code;
    *(char *)p = held->bytes[held->at++];
    return CURLE_OK;
}

void held_records_begin(void)
{
    const cw_curl *loaded;
    assert_null(curl);
    assert_int_equal(cw_curl_load(&loaded, NULL), CW_OK);
    curl = (cw_curl *)(uintptr_t)loaded;
    recv_now = curl->easy_recv;
    held_records = (struct held_records){.n = 0};
    curl->easy_recv = recv_held;
}

void held_records_end(void)
{
    if (curl)
        curl->easy_recv = recv_now;
    curl = NULL;
}
