/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_proxy_header.c - whatever the bytes are, these hold:
 *
 *   - the parser decides within CW_PROXY_HEADER_MAX bytes
 *   - a header that is accepted is accepted with exactly its own bytes, and with more bytes after it
 *   - every shorter part of it is incomplete, and of a rejected one incomplete or rejected
 *   - a client has an address of IPv4 or IPv6
 */
#include "fuzz.h"

#include "net/addr/proxy_header.h"

#include <string.h>

static void check_client(const cw_proxy_header *h)
{
    char text[CW_ADDRESS_TEXT];
    if (!h->has_client)
        return;
    CHECK(h->client.sa.ss_family == AF_INET || h->client.sa.ss_family == AF_INET6);
    CHECK(h->client.len > 0);
    cw_address_format(&h->client, text, sizeof text);
    CHECK(strlen(text) > 0);
}

static cw_code parse(const char *p, size_t n, cw_proxy_header *ret)
{
    const char *why = NULL;
    char *copy = malloc(n ? n : 1); /* its own, so that a read past the end is noticed */
    if (!copy)
        abort();
    if (n)
        memcpy(copy, p, n);
    cw_code rc = cw_proxy_header_parse(copy, n, ret, &why);
    CHECK(rc == CW_OK || rc == CW_AGAIN || rc == CW_INVALID);
    CHECK((rc == CW_INVALID) == (why != NULL));
    free(copy);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_proxy_header whole, part;
    const char *p = (const char *)data;
    cw_code rc = parse(p, size, &whole);
    CHECK(rc != CW_AGAIN || size < CW_PROXY_HEADER_MAX);
    if (rc == CW_OK) {
        CHECK(whole.size <= size && whole.size <= CW_PROXY_HEADER_MAX);
        CHECK(parse(p, whole.size, &part) == CW_OK && part.size == whole.size);
        CHECK(part.has_client == whole.has_client);
        check_client(&whole);
    }
    size_t n = rc == CW_OK ? whole.size : size < CW_PROXY_HEADER_MAX ? size : CW_PROXY_HEADER_MAX;
    for (size_t i = 0; i < n; i++) {
        cw_code early = parse(p, i, &part);
        CHECK(early == CW_AGAIN || (early == CW_INVALID && rc == CW_INVALID));
    }
    return 0;
}
