/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reply.c - JSON answers of the authorization server. */
#include "door/oauth/reply.h"

#include "base/digits.h"
#include "json/write.h"

#define OUT_OF_MEMORY                                                                              \
    "{\"error\":\"temporarily_unavailable\",\"error_description\":\"Out of memory\"}"

static void send_json(cw_http_req *req, unsigned status, cw_str body, cw_http_header more)
{
    cw_http_header headers[] = {{CW_STR("Cache-Control"), CW_STR("no-store")},
                                {CW_STR("Pragma"), CW_STR("no-cache")},
                                {CW_STR("Access-Control-Allow-Origin"), CW_STR("*")},
                                more};
    cw_http_reply(req, &(cw_http_response){.status = status,
                                           .body = body,
                                           .headers = headers,
                                           .n_headers = more.name.n ? 4 : 3});
}

void cw_oauth_reply(cw_http_req *req, unsigned status, cw_str body)
{
    send_json(req, status, body, (cw_http_header){{0}, {0}});
}

static void send_error(cw_http_req *req, unsigned status, const char *error,
                       const char *description, cw_http_header more)
{
    char *body =
        cw_arena_printf(cw_http_req_arena(req), "{\"error\":\"%s\",\"error_description\":\"%s\"}",
                        error, description);
    send_json(req, body ? status : 503, body ? cw_str_from(body) : CW_STR(OUT_OF_MEMORY), more);
}

void cw_oauth_reply_error(cw_http_req *req, unsigned status, const char *error,
                          const char *description)
{
    send_error(req, status, error, description, (cw_http_header){{0}, {0}});
}

void cw_oauth_reply_later(cw_http_req *req, unsigned status, uint32_t seconds)
{
    char text[CW_DIGITS_SIZE];
    send_error(req, status, "temporarily_unavailable", "Try again later",
               (cw_http_header){CW_STR("Retry-After"), cw_digits_u64(seconds, text)});
}

void cw_oauth_reply_write_error(cw_buf *out, unsigned status, cw_str message)
{
    bool is_late = status == 429 || status >= 500;
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("error"),
                              is_late ? CW_STR("temporarily_unavailable")
                                      : CW_STR("invalid_request"));
    cw_json_add_string_member(&w, CW_STR("error_description"), message);
    cw_json_close(&w);
    (void)!cw_json_writer_end(&w, NULL);
}
