/* SPDX-License-Identifier: GPL-2.0-or-later */
/* examples.c - three read-only tools over a small collection of content.
 *
 * The same three that the system showed which Causeway grew out of: a list without
 * parameters whose call needs scopes, a list with pages, and one item in another
 * form. Start here when you write a plugin of your own.
 */
#include <causeway/plugin.h>

#include <stdlib.h>

#include "content.h"
#include "markdown.h"

CW_PLUGIN("examples", "1.0.0");

/* "Invalid params", with the reason as `data`. */
#define REFUSE(call, ...)                                                                          \
    do {                                                                                           \
        cw_error(call, CW_ERROR_PARAMS, "Invalid params");                                         \
        cw_put_format(call, NULL, __VA_ARGS__);                                                    \
    } while (0)

static void list_content_types(cw_call *call)
{
    sqlite3_stmt *rows = content_begin(call, CONTENT_TYPES);
    if (!rows)
        return;
    cw_open_array(call, NULL);
    while (content_next(call, rows)) {
        cw_open_object(call, NULL);
        cw_put_text(call, "id", content_text(rows, 0));
        cw_put_text(call, "label", content_text(rows, 1));
        cw_close(call);
    }
    if (!cw_call_has_failed(call))
        cw_close(call);
    content_end(rows);
}
CW_METHOD(list_content_types, "examples.contentTypes.list",
          .usage = "Lists all available content types", .permissions = {"access content"},
          .output = CW_JSON({
              "type" : "array",
              "items" : {
                  "type" : "object",
                  "properties" : {
                      "id" : {"type" : "string", "description" : "The content type machine name"},
                      "label" : {"type" : "string", "description" : "The content type label"}
                  },
                  "required" : [ "id", "label" ]
              }
          }));
CW_TOOL(list_content_types, .title = "List Content Types",
        .annotations = CW_JSON({"category" : "discovery", "readOnlyHint" : true}),
        .scopes = {"tutorial:read", "tutorial:search"}, .auth_level = "required",
        .auth_description = "Requires tutorial read and search access");

static void list_articles(cw_call *call)
{
    int64_t limit = cw_arg_int(call, "/page/limit", INT64_MAX);
    int64_t offset = cw_arg_int(call, "/page/offset", 0);
    if (cw_call_has_failed(call))
        return;
    if (limit < 0 || offset < 0) {
        REFUSE(call, "/page/%s: must be 0 or more", limit < 0 ? "limit" : "offset");
        return;
    }
    sqlite3_stmt *rows = content_begin(call, CONTENT_ARTICLES);
    if (!rows)
        return;
    sqlite3_bind_int64(rows, 1, limit);
    sqlite3_bind_int64(rows, 2, offset);
    cw_open_array(call, NULL);
    while (content_next(call, rows)) {
        cw_open_object(call, NULL);
        cw_put_int(call, "nid", sqlite3_column_int64(rows, 0));
        cw_put_text(call, "title", content_text(rows, 1));
        cw_put_int(call, "created", sqlite3_column_int64(rows, 2));
        cw_close(call);
    }
    if (!cw_call_has_failed(call))
        cw_close(call);
    content_end(rows);
}
CW_METHOD(
    list_articles, "examples.articles.list",
    .usage = "Lists article nodes with optional pagination", .permissions = {"access content"},
    .params = {{"page", .schema = CW_JSON({
                            "type" : "object",
                            "properties" : {
                                "limit" : {"type" : "integer", "minimum" : 0},
                                "offset" : {"type" : "integer", "minimum" : 0}
                            }
                        }),
                .description = "Pagination parameters (offset and limit)"}},
    .output = CW_JSON({
        "type" : "array",
        "items" : {
            "type" : "object",
            "properties" : {
                "nid" : {"type" : "integer", "description" : "The node ID"},
                "title" : {"type" : "string", "description" : "The article title"},
                "created" :
                    {"type" : "integer", "description" : "Creation time, in seconds since 1970"}
            },
            "required" : [ "nid", "title", "created" ]
        }
    }));
CW_TOOL(list_articles, .title = "List Articles",
        .annotations =
            CW_JSON({"category" : "content", "supports_pagination" : true, "readOnlyHint" : true}));

static void article_to_markdown(cw_call *call)
{
    int64_t nid = cw_arg_int(call, "nid", 0);
    sqlite3_stmt *rows = cw_call_has_failed(call) ? NULL : content_begin(call, CONTENT_ARTICLE);
    if (!rows)
        return;
    sqlite3_bind_int64(rows, 1, nid);
    if (content_next(call, rows)) {
        char *body = markdown_from_html(content_text(rows, 1));
        if (body)
            cw_result_format(call, "# %s\n\n%s", content_text(rows, 0), body);
        else
            cw_error(call, CW_ERROR_INTERNAL, "Internal error");
        free(body);
    } else if (!cw_call_has_failed(call)) {
        /* Missing, not published or of another type: nobody learns which. */
        REFUSE(call, "Node %lld not found or not an article", (long long)nid);
    }
    content_end(rows);
}
CW_METHOD(article_to_markdown, "examples.article.toMarkdown",
          .usage = "Retrieves an article node and formats it as markdown",
          .permissions = {"access content"},
          .params = {{"nid", .schema = CW_JSON({"type" : "integer", "minimum" : 1}),
                      .description = "The node ID of the article", .required = true}},
          .output = CW_JSON(
              {"type" : "string", "description" : "The article content formatted as markdown"}));
CW_TOOL(article_to_markdown, .title = "Get Article as Markdown",
        .annotations =
            CW_JSON({"category" : "content", "returns" : "markdown", "readOnlyHint" : true}));
