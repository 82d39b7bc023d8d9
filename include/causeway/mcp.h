/* SPDX-License-Identifier: MIT */
/* mcp.h - what MCP has beyond tools: resources, prompts, completion, rich content, questions to
 * the client, announcements. Included by causeway/plugin.h.
 *
 *     static void readme(cw_call *call)
 *     {
 *         cw_content_text(call, "Read me first.");
 *     }
 *     CW_METHOD(readme, "docs.readme", .usage = "The first thing to read.");
 *     CW_RESOURCE(readme, .uri = "docs://readme", .mime_type = "text/plain");
 *
 * Everything is a method: it has an id, parameters and permissions, and CW_RESOURCE,
 * CW_RESOURCE_TEMPLATE or CW_PROMPT is one more mark on it. A method may be a tool and one of
 * these at once.
 */
#ifndef CAUSEWAY_MCP_H
#define CAUSEWAY_MCP_H

#include <causeway/plugin.h>

#define CW_PLUGIN_MAX_VALUES 100   /* of one completion; more are counted only */
#define CW_PLUGIN_MAX_QUESTIONS 32 /* that one run of a method may leave open */
#define CW_PLUGIN_MAX_STATE 16384  /* bytes of cw_state_set */
#define CW_RESOURCE_MAX_URI 8192   /* bytes of cw_resource_updated */
#define CW_EVENT_MAX_DATA 65536    /* bytes of cw_emit_event */

/* ---- marks ---- */

/* CW_RESOURCE(function, .uri = "docs://readme", …): what is read at one address. The method has no
 * parameter that must be given. */
#define CW_RESOURCE(fn, ...) CW_RESOURCE_OF(fn, CW_MARK_RESOURCE, __VA_ARGS__)
/* CW_RESOURCE_TEMPLATE(function, .uri_template = "docs://page/{name}", …): what is read at every
 * address of this form. Each {name} is a parameter of the method and a string; RFC 6570, level 1.
 */
#define CW_RESOURCE_TEMPLATE(fn, ...) CW_RESOURCE_OF(fn, CW_MARK_TEMPLATE, __VA_ARGS__)
/* CW_PROMPT(function, .member = …, …): the method's parameters, strings all of them, are the
 * prompt's arguments; its usage is the prompt's description. */
#define CW_PROMPT(...) CW_PROMPT_MARK(CW_TOOL_FIRST(__VA_ARGS__, ), __VA_ARGS__)
/* CW_COMPLETE(function, "argument", complete_function): proposals for one argument of a prompt or
 * one variable of a template. */
#define CW_COMPLETE(fn, arg, complete_fn) CW_COMPLETE_AT(fn, arg, complete_fn, __LINE__)

typedef enum cw_mark_kind {
    CW_MARK_RESOURCE = 1,
    CW_MARK_TEMPLATE,
    CW_MARK_PROMPT,
    CW_MARK_COMPLETE,
} cw_mark_kind;

/* The beginning of every mark. Set by the macros. */
struct cw_plugin_mark {
    uint32_t kind;
    uint32_t size; /* of the whole mark */
    cw_plugin_mark *next;
    const char *function;
    cw_plugin_function run;
};

typedef struct cw_plugin_resource {
    cw_plugin_mark mark;
    /* One of them, with a scheme; characters as RFC 3986 has them. */
    const char *uri;
    const char *uri_template;
    /* Set by the author, all optional. */
    const char *name; /* without it: the method's id */
    const char *title;
    const char *description; /* without it: the method's usage */
    const char *mime_type;
    const char *annotations; /* a JSON object: CW_JSON({"audience": ["user"], "priority": 0.5}) */
    const char *icons;       /* a JSON array: CW_JSON([{"src": "https://example.org/icon.png"}]) */
    uint64_t size;           /* of a CW_RESOURCE in bytes; 0: not told */
    const char *scopes[CW_PLUGIN_MAX_NAMES + 1];
    const char *auth_level; /* these four as for CW_TOOL, and in one of the marks only */
    const char *auth_description;
    const char *visibility;
} cw_plugin_resource;

typedef struct cw_plugin_prompt {
    cw_plugin_mark mark;
    /* Set by the author, all optional. */
    const char *name; /* without it: the method's id */
    const char *title;
    const char *icons;
    const char *scopes[CW_PLUGIN_MAX_NAMES + 1];
    const char *auth_level;
    const char *auth_description;
    const char *visibility;
} cw_plugin_prompt;

typedef struct cw_plugin_complete {
    cw_plugin_mark mark;
    const char *argument;
    cw_plugin_function complete;
} cw_plugin_complete;

#define CW_RESOURCE_OF(fn, mark_kind, ...)                                                         \
    static cw_plugin_resource cw_resource_of_##fn = {.mark = {.kind = (mark_kind),                 \
                                                              .size = sizeof(cw_plugin_resource),  \
                                                              .function = #fn,                     \
                                                              .run = (fn)},                        \
                                                     __VA_ARGS__};                                 \
    CW_MARK_ADD(cw_resource_of_##fn)
#define CW_PROMPT_MARK(fn, ...) CW_PROMPT_OF(fn, __VA_ARGS__)
#define CW_PROMPT_OF(fn, ...)                                                                      \
    static cw_plugin_prompt cw_prompt_of_##fn = {.mark.kind = CW_MARK_PROMPT,                      \
                                                 .mark.size = sizeof(cw_plugin_prompt),            \
                                                 .mark.function = #fn,                             \
                                                 .mark.run = __VA_ARGS__};                         \
    CW_MARK_ADD(cw_prompt_of_##fn)
#define CW_COMPLETE_AT(fn, arg, complete_fn, line) CW_COMPLETE_OF(fn, arg, complete_fn, line)
#define CW_COMPLETE_OF(fn, arg, complete_fn, line)                                                 \
    static cw_plugin_complete cw_complete_of_##fn##_##line = {                                     \
        .mark = {.kind = CW_MARK_COMPLETE,                                                         \
                 .size = sizeof(cw_plugin_complete),                                               \
                 .function = #fn,                                                                  \
                 .run = (fn)},                                                                     \
        .argument = (arg),                                                                         \
        .complete = (complete_fn)};                                                                \
    CW_MARK_ADD(cw_complete_of_##fn##_##line)
#define CW_MARK_ADD(var)                                                                           \
    __attribute__((constructor)) static void cw_add_##var(void)                                    \
    {                                                                                              \
        (var).mark.next = causeway_plugin.marks;                                                   \
        causeway_plugin.marks = &(var).mark;                                                       \
    }                                                                                              \
    extern cw_plugin_entry causeway_plugin

/* ---- rich content ----
 *
 * Blocks of text, pictures, sound and resources, in the order in which they are added: what a tool
 * shows, a prompt says, a resource contains. They travel beside the result, which a method may put
 * as well. `bytes` need not be text; they are sent as Base64. An error drops the blocks.
 */

CW_PLUGIN_EXPORT void cw_content_text(cw_call *call, const char *text);
CW_PLUGIN_EXPORT CW_PLUGIN_PRINTF(2, 3) void cw_content_format(cw_call *call, const char *fmt, ...);
CW_PLUGIN_EXPORT void cw_content_image(cw_call *call, const void *bytes, size_t n,
                                       const char *mime_type);
CW_PLUGIN_EXPORT void cw_content_audio(cw_call *call, const void *bytes, size_t n,
                                       const char *mime_type);
/* A resource inside the answer, as text or as bytes. `mime_type` may be NULL. */
CW_PLUGIN_EXPORT void cw_content_resource(cw_call *call, const char *uri, const char *mime_type,
                                          const char *text);
CW_PLUGIN_EXPORT void cw_content_blob(cw_call *call, const char *uri, const char *mime_type,
                                      const void *bytes, size_t n);
/* The bytes of the resource that is read: cw_content_blob with its own address. Without
 * `mime_type`: the declared one. */
CW_PLUGIN_EXPORT void cw_content_bytes(cw_call *call, const void *bytes, size_t n,
                                       const char *mime_type);
/* Add a link to a resource. `mime_type` and `description` may be NULL. */
CW_PLUGIN_EXPORT void cw_content_link(cw_call *call, const char *uri, const char *name,
                                      const char *mime_type, const char *description);
/* Annotations of the block that was added last: CW_JSON({"audience": ["user"]}). */
CW_PLUGIN_EXPORT void cw_content_annotate(cw_call *call, const char *json);
/* Set the role of the blocks that follow in a prompt: "user" (the default) or "assistant". */
CW_PLUGIN_EXPORT void cw_content_role(cw_call *call, const char *role);

/* The address that is read; of a call that is no read, the one that the declaration and the
 * arguments give. NULL when the method is no resource. */
CW_PLUGIN_EXPORT const char *cw_resource_uri(cw_call *call);

/* ---- completion ----
 *
 * In a function of CW_COMPLETE, cw_arg gives the arguments that have been chosen already.
 */

/* The text that the user has typed so far. */
CW_PLUGIN_EXPORT const char *cw_complete_value(cw_call *call);
/* One proposal. After CW_PLUGIN_MAX_VALUES they are only counted. */
CW_PLUGIN_EXPORT void cw_complete_add(cw_call *call, const char *text);
/* The same, if it begins with what has been typed. */
CW_PLUGIN_EXPORT void cw_complete_match(cw_call *call, const char *text);

/* ---- questions to the client ----
 *
 * A method never waits for an answer. It asks, and returns if the answer has not arrived.
 * Causeway runs it again from its beginning when the answer arrives. So: ask before you act. Work
 * before an open question is done again.
 *
 *     const cw_value *answer = cw_ask_form(call, "sure", "Delete it?", SCHEMA);
 *     if (!answer)
 *         return;
 *     if (!cw_answer_content(answer)) …the user said no
 *
 * Several questions may be asked before returning: the client gets them together. Results
 * and content of a run that leaves a question open are dropped; an error ends the call all the
 * same. `key` names the question within the call. A client that cannot be asked ends the call with
 * the protocol's own error: where there is another way, look at cw_client_can first.
 */

/* The client's answer, an object, or NULL: asked now. `method` is "elicitation/create",
 * "sampling/createMessage" or "roots/list"; `params` is a JSON object, NULL: an empty one. */
CW_PLUGIN_EXPORT const cw_value *cw_ask(cw_call *call, const char *key, const char *method,
                                        const char *params);
/* Let the user fill in a form; `schema` is a JSON Schema of a flat object. */
CW_PLUGIN_EXPORT const cw_value *cw_ask_form(cw_call *call, const char *key, const char *message,
                                             const char *schema);
/* Send the user to a web page. */
CW_PLUGIN_EXPORT const cw_value *cw_ask_url(cw_call *call, const char *key, const char *message,
                                            const char *url);
/* Let the client's model write something: the params of sampling/createMessage. */
CW_PLUGIN_EXPORT const cw_value *cw_ask_sample(cw_call *call, const char *key, const char *params);
/* The folders that the client works in: {"roots": [{"uri", "name"}]}. */
CW_PLUGIN_EXPORT const cw_value *cw_ask_roots(cw_call *call, const char *key);
/* The content of an accepted form; NULL if the user declined or closed it. */
CW_PLUGIN_EXPORT const cw_value *cw_answer_content(const cw_value *answer);

/* For making params: a text as printf makes it, and a text as a JSON string with its quotes. */
CW_PLUGIN_EXPORT CW_PLUGIN_PRINTF(2, 3) const char *cw_format(cw_call *call, const char *fmt, ...);
CW_PLUGIN_EXPORT const char *cw_quoted(cw_call *call, const char *text);

/* A text for the next run of the same call. The client can neither read nor change it. It stays
 * until it is set again. NULL: none yet. */
CW_PLUGIN_EXPORT const char *cw_state(cw_call *call);
CW_PLUGIN_EXPORT void cw_state_set(cw_call *call, const char *text);

/* Whether the client can do this: "elicitation", "sampling", "roots", "tasks". */
CW_PLUGIN_EXPORT bool cw_client_can(cw_call *call, const char *capability);
/* Whether the client would be shown log lines of this level. */
CW_PLUGIN_EXPORT bool cw_client_wants_log(cw_call *call, cw_level level);

/* ---- tasks ----
 *
 * A call that takes long is a task for a client that supports tasks (docs/tasks.md). Questions are asked
 * as above: they wait in the task.
 */

/* Make the call a task now. Without tasks (cw_client_can(call, "tasks")), or without room for one more,
 * the call goes on as it is. The method goes on in both cases. */
CW_PLUGIN_EXPORT void cw_task_begin(cw_call *call);
/* The text that the client reads as the status of the task. Cut at 512 bytes. No effect if the call is
 * no task. */
CW_PLUGIN_EXPORT CW_PLUGIN_PRINTF(2, 3) void cw_task_status(cw_call *call, const char *fmt, ...);

/* ---- announcements ---- `call` may be NULL. */

/* Announce that the resource at this address has changed. */
CW_PLUGIN_EXPORT void cw_resource_updated(cw_call *call, const char *uri);
/* A list has changed: "tools", "prompts" or "resources". */
CW_PLUGIN_EXPORT void cw_lists_changed(cw_call *call, const char *list);
/* Emit an event: a name of 1 to 48 letters, digits, '_', '-' and '.', and its data, JSON of at most
 * CW_EVENT_MAX_DATA bytes. `id` is equal in repetitions, which are dropped; NULL: it is none. The
 * operator publishes the event as PLUGIN.NAME (plugins.events); otherwise it is dropped. */
CW_PLUGIN_EXPORT void cw_emit_event(cw_call *call, const char *name, const char *data,
                                    const char *id);

#endif
