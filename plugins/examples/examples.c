/* SPDX-License-Identifier: GPL-2.0-or-later */
/* examples.c - five tools over a small collection of content.
 *
 * The same that the system showed which Causeway grew out of: a list without
 * parameters whose call needs scopes, a list with pages, one item in another form,
 * and two that change something. Start here when you write a plugin of your own.
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

static void put_markdown(cw_call *call, const char *title, const char *body)
{
    char *markdown = markdown_from_article(title, body);
    if (markdown)
        cw_result_text(call, markdown);
    else
        cw_error(call, CW_ERROR_INTERNAL, "Internal error");
    free(markdown);
}

static void article_to_markdown(cw_call *call)
{
    int64_t nid = cw_arg_int(call, "nid", 0);
    sqlite3_stmt *rows = cw_call_has_failed(call) ? NULL : content_begin(call, CONTENT_ARTICLE);
    if (!rows)
        return;
    sqlite3_bind_int64(rows, 1, nid);
    if (content_next(call, rows)) {
        if (sqlite3_column_type(rows, 2) != SQLITE_NULL)
            cw_result_text(call, content_text(rows, 2));
        else
            put_markdown(call, content_text(rows, 0), content_text(rows, 1));
    } else if (!cw_call_has_failed(call)) {
        /* Missing, not published or of another type: the answer does not tell which. */
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

/* Characters, not bytes: a site's editors count those. */
#define TITLE_MAX 255

/* NULL: it can be a title; else why not. */
static const char *title_problem(const char *title)
{
    size_t characters = 0;
    bool is_blank = true;
    for (const char *p = title; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c < ' ' || c == 0x7F)
            return "a title is one line without control characters";
        is_blank = is_blank && c == ' ';
        characters += (c & 0xC0) != 0x80;
    }
    if (is_blank)
        return "a title cannot be blank";
    return characters > TITLE_MAX ? "a title has at most 255 characters" : NULL;
}

/* A client that gets the number can rely on it: the statement writes everything or nothing, and has
 * written it when it reports its end. */
static void add_node(cw_call *call, const char *type, const char *title)
{
    sqlite3_stmt *rows = content_begin(call, CONTENT_ADD_NODE);
    if (!rows)
        return;
    sqlite3_bind_text(rows, 1, type, -1, SQLITE_STATIC);
    sqlite3_bind_text(rows, 2, title, -1, SQLITE_STATIC);
    bool is_added = content_next(call, rows);
    int64_t nid = is_added ? sqlite3_column_int64(rows, 0) : 0;
    if (is_added)
        content_next(call, rows);
    content_end(rows);
    if (cw_call_has_failed(call))
        return;
    if (is_added)
        cw_put_int(call, NULL, nid);
    else
        REFUSE(call, "/type: there is no content type '%s'", type);
}

static void create_node(cw_call *call)
{
    const char *title = cw_arg_text(call, "title", "");
    const char *type = cw_arg_text(call, "type", "");
    if (cw_call_has_failed(call))
        return;
    const char *problem = title_problem(title);
    if (problem)
        REFUSE(call, "/title: %s", problem);
    else
        add_node(call, type, title);
}
CW_METHOD(create_node, "node.create", .usage = "Creates a new content node.",
          .permissions = {"create content"},
          .params = {{"title", .schema = CW_JSON({"type" : "string"}),
                      .description = "The node title", .required = true},
                     {"type", .schema = CW_JSON({"type" : "string"}),
                      .description = "The content type machine name", .required = true}});
CW_TOOL(create_node, .title = "Create Content Node");

static bool keep_markdown(cw_call *call, sqlite3_stmt *article)
{
    char *markdown = markdown_from_article(content_text(article, 1), content_text(article, 2));
    if (!markdown) {
        cw_error(call, CW_ERROR_INTERNAL, "Internal error");
        return false;
    }
    sqlite3_stmt *keep = content_begin(call, CONTENT_KEEP);
    if (keep) {
        sqlite3_bind_int64(keep, 1, sqlite3_column_int64(article, 0));
        sqlite3_bind_text(keep, 2, markdown, -1, SQLITE_STATIC);
        content_next(call, keep);
        content_end(keep);
    }
    free(markdown);
    return !cw_call_has_failed(call);
}

static void keep_all(cw_call *call)
{
    sqlite3_stmt *articles = content_begin(call, CONTENT_BODIES);
    if (!articles)
        return;
    while (content_next(call, articles) && keep_markdown(call, articles)) {
        if (cw_call_cancelled(call))
            cw_error(call, CW_ERROR_CANCELLED, "Cancelled");
    }
    content_end(articles);
}

/* In one transaction: others see the old cache or the new one, and a failure leaves the old one. */
static void rebuild_cache(cw_call *call)
{
    if (!content_run(call, CONTENT_BEGIN))
        return;
    if (content_run(call, CONTENT_FORGET))
        keep_all(call);
    if (!cw_call_has_failed(call) && content_run(call, CONTENT_COMMIT)) {
        cw_put_bool(call, NULL, true);
        return;
    }
    content_undo();
}
CW_METHOD(rebuild_cache, "cache.rebuild", .usage = "Rebuilds the Drupal system cache.",
          .permissions = {"administer site configuration"},
          .output = CW_JSON({"type" : "boolean"}));
CW_TOOL(rebuild_cache, .title = "Rebuild Drupal Cache",
        .annotations = CW_JSON({"category" : "system", "destructive" : false}));
