/* SPDX-License-Identifier: MIT */
/* plugin.h - write a C function, declare it, and it is a JSON-RPC method and an MCP tool.
 * causeway/mcp.h, which this file includes, has the rest: resources, prompts, content, questions.
 *
 *     #include <causeway/plugin.h>
 *
 *     CW_PLUGIN("hello", "1.0");
 *
 *     static void greet(cw_call *call)
 *     {
 *         cw_result_format(call, "Hello, %s!", cw_arg_text(call, "name", "world"));
 *     }
 *     CW_METHOD(greet, "hello.greet", .usage = "Greets a person.",
 *               .params = {{"name", .schema = CW_JSON({"type": "string"})}},
 *               .permissions = {"access content"});
 *     CW_TOOL(greet, .title = "Greet");
 *
 *     cc -shared -fPIC $(pkg-config --cflags causeway-plugin) -o hello.so hello.c
 *
 * docs/plugins.md is the tutorial and the reference; this file is the contract.
 *
 * A plugin runs in a process of its own, one call after another, never two at a
 * time. Whatever it does wrong ends that process and the call that ran, nothing
 * else. Its functions below are provided by the program that loads it.
 *
 * Text is UTF-8. Text that a function returns ends with a NUL byte and lives until
 * the method returns; text that is passed in is copied. No function here fails by
 * crashing: a mistake ends the call with an error, and a log line says what it was.
 *
 * C11 or later, gcc or clang.
 */
#ifndef CAUSEWAY_PLUGIN_H
#define CAUSEWAY_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Raised whenever a plugin that was built before could not run any more. */
#define CW_PLUGIN_ABI 1

#define CW_PLUGIN_MAX_PARAMS 32
#define CW_PLUGIN_MAX_NAMES 16 /* permissions or scopes of one method */

#define CW_PLUGIN_EXPORT __attribute__((visibility("default")))
#define CW_PLUGIN_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* One running call. */
typedef struct cw_call cw_call;
/* One JSON value of its arguments. */
typedef struct cw_value cw_value;

/* ---- declarations ---- */

/* JSON as it is, instead of a string full of backslashes: CW_JSON({"type": "string"}). */
#define CW_JSON(...) #__VA_ARGS__

/* Once per plugin: its name and version. */
#define CW_PLUGIN(plugin_name, plugin_version)                                                     \
    CW_PLUGIN_EXPORT cw_plugin_entry causeway_plugin = {                                           \
        .abi = CW_PLUGIN_ABI,                                                                      \
        .size = sizeof(cw_plugin_entry),                                                           \
        .method_size = sizeof(cw_plugin_method),                                                   \
        .tool_size = sizeof(cw_plugin_tool),                                                       \
        .name = (plugin_name),                                                                     \
        .version = (plugin_version),                                                               \
        .methods_end = &causeway_plugin.methods,                                                   \
        .tools_end = &causeway_plugin.tools,                                                       \
    }

/* CW_METHOD(function, "method.id", .member = …, …): the members of cw_plugin_method. */
#define CW_METHOD(fn, ...)                                                                         \
    CW_PLUGIN_QUIET                                                                                \
    static cw_plugin_method cw_method_of_##fn = {.run = fn, .function = #fn, .id = __VA_ARGS__};   \
    CW_PLUGIN_LOUD                                                                                 \
    __attribute__((constructor)) static void cw_add_method_of_##fn(void)                           \
    {                                                                                              \
        *causeway_plugin.methods_end = &cw_method_of_##fn;                                         \
        causeway_plugin.methods_end = &cw_method_of_##fn.next;                                     \
    }                                                                                              \
    extern cw_plugin_entry causeway_plugin
/* A parameter may be its name alone: {"nid"}. clang would miss the other members. */
#define CW_PLUGIN_QUIET                                                                            \
    _Pragma("GCC diagnostic push")                                                                 \
        _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")
#define CW_PLUGIN_LOUD _Pragma("GCC diagnostic pop")

/* CW_TOOL(function, .member = …, …): marks a method as a tool; the members of cw_plugin_tool. */
#define CW_TOOL(...) CW_TOOL_MARK(CW_TOOL_FIRST(__VA_ARGS__, ), __VA_ARGS__)
#define CW_TOOL_FIRST(first, ...) first
#define CW_TOOL_MARK(fn, ...) CW_TOOL_OF(fn, __VA_ARGS__)
#define CW_TOOL_OF(fn, ...)                                                                        \
    static cw_plugin_tool cw_tool_of_##fn = {.function = #fn, .run = __VA_ARGS__};                 \
    __attribute__((constructor)) static void cw_add_tool_of_##fn(void)                             \
    {                                                                                              \
        *causeway_plugin.tools_end = &cw_tool_of_##fn;                                             \
        causeway_plugin.tools_end = &cw_tool_of_##fn.next;                                         \
    }                                                                                              \
    extern cw_plugin_entry causeway_plugin

typedef void (*cw_plugin_function)(cw_call *call);

typedef struct cw_plugin_param {
    const char *name;
    const char *schema;        /* JSON Schema, an object; NULL: anything */
    const char *description;   /* NULL: none */
    const char *default_value; /* JSON; what the arguments hold when the caller leaves it out */
    bool required;
    const void *reserved;
} cw_plugin_param;

typedef struct cw_plugin_method cw_plugin_method;
struct cw_plugin_method {
    /* Set by CW_METHOD. */
    cw_plugin_function run;
    const char *function;
    const char *id;
    cw_plugin_method *next;
    /* Set by the author, all optional. */
    const char *usage;  /* what it does, for people and models */
    const char *output; /* JSON Schema of the result, an object */
    /* The caller needs all of them. The last place of each list stays empty. */
    const char *permissions[CW_PLUGIN_MAX_NAMES + 1];
    cw_plugin_param params[CW_PLUGIN_MAX_PARAMS + 1];
    /* Keywords of the JSON Schema of all arguments together, an object: "allOf", "if", "$defs", …;
     * "type", "properties" and "required" follow from the params. */
    const char *input;
    const void *reserved[3];
};

typedef struct cw_plugin_tool cw_plugin_tool;
struct cw_plugin_tool {
    /* Set by CW_TOOL. */
    const char *function;
    cw_plugin_function run;
    cw_plugin_tool *next;
    /* Set by the author, all optional. */
    const char *title;
    const char *annotations; /* a JSON object: CW_JSON({"readOnlyHint": true}) */
    const char *scopes[CW_PLUGIN_MAX_NAMES + 1];
    const char *auth_level; /* "none", "optional" or "required" */
    const char *auth_description;
    const char *visibility; /* "hide": callers without the scopes never see it; or "challenge" */
    /* Whether its calls are tasks, of clients that support them: "never"; "auto" (the default), if
     * a call takes long; "always"; "required", and other MCP clients cannot call it. */
    const char *task;
    /* Its view, which hosts show with its results: the URI of a resource ui://… of this plugin, or
     * "ui://causeway/data.html"; or a JSON object, CW_JSON({"resourceUri": "ui://…", "visibility":
     * ["app"], "csp": {…}, "permissions": {…}, "prefersBorder": true}). */
    const char *ui;
    const void *reserved[1];
};

/* A resource, prompt or completion; causeway/mcp.h has them. */
typedef struct cw_plugin_mark cw_plugin_mark;

/* The one symbol that a plugin exports. `abi` is first and stays there for ever. */
typedef struct cw_plugin_entry {
    uint32_t abi;
    uint32_t size;
    uint32_t method_size;
    uint32_t tool_size;
    const char *name;
    const char *version;
    cw_plugin_method *methods;
    cw_plugin_method **methods_end;
    cw_plugin_tool *tools;
    cw_plugin_tool **tools_end;
    cw_plugin_mark *marks; /* the last one first */
    const void *reserved[3];
} cw_plugin_entry;

extern CW_PLUGIN_EXPORT cw_plugin_entry causeway_plugin;

/* ---- arguments ----
 *
 * A path is a parameter's name ("nid") or a JSON Pointer ("/filter/tags/0"). A value that is
 * absent or null gives the fallback. A value of another type gives the fallback too, and the call
 * will be answered with -32602 "Invalid params" whatever else it does, unless it reports an error
 * of its own: ask cw_call_has_failed before doing what cannot be undone.
 */

typedef enum cw_type {
    CW_TYPE_ABSENT,
    CW_TYPE_NULL,
    CW_TYPE_BOOL,
    CW_TYPE_NUMBER,
    CW_TYPE_STRING,
    CW_TYPE_ARRAY,
    CW_TYPE_OBJECT,
} cw_type;

/* The value at a path, or NULL. The other functions take NULL as an absent value. */
CW_PLUGIN_EXPORT const cw_value *cw_arg(cw_call *call, const char *path);
CW_PLUGIN_EXPORT cw_type cw_value_type(const cw_value *value);

/* A string. One that contains U+0000 is rejected, because C code would cut it there. */
CW_PLUGIN_EXPORT const char *cw_value_text(cw_call *call, const cw_value *value,
                                           const char *fallback);
/* A string that may contain U+0000, with its length in bytes; NULL when absent. */
CW_PLUGIN_EXPORT const char *cw_value_string(cw_call *call, const cw_value *value, size_t *ret_n);
/* A number that int64_t holds exactly; 1.0 and 1e3 are such numbers. */
CW_PLUGIN_EXPORT int64_t cw_value_int(cw_call *call, const cw_value *value, int64_t fallback);
CW_PLUGIN_EXPORT double cw_value_double(cw_call *call, const cw_value *value, double fallback);
CW_PLUGIN_EXPORT bool cw_value_bool(cw_call *call, const cw_value *value, bool fallback);
/* Any value as the JSON text that came in; NULL when absent. */
CW_PLUGIN_EXPORT const char *cw_value_json(cw_call *call, const cw_value *value);

/* Elements of an array, members of an object; else 0. */
CW_PLUGIN_EXPORT size_t cw_value_count(const cw_value *value);
/* for (v = cw_value_first(list); v; v = cw_value_next(v)): elements or members, NULL at the end. */
CW_PLUGIN_EXPORT const cw_value *cw_value_first(const cw_value *container);
CW_PLUGIN_EXPORT const cw_value *cw_value_next(const cw_value *value);
/* The name of a member of an object; NULL for an element of an array. */
CW_PLUGIN_EXPORT const char *cw_value_key(cw_call *call, const cw_value *value);
/* Inside a value: a member's name or a JSON Pointer, as for cw_arg. */
CW_PLUGIN_EXPORT const cw_value *cw_value_get(const cw_value *value, const char *path);

/* The same by path. */
static inline bool cw_arg_has(cw_call *call, const char *path)
{
    return cw_arg(call, path) != NULL;
}

static inline const char *cw_arg_text(cw_call *call, const char *path, const char *fallback)
{
    return cw_value_text(call, cw_arg(call, path), fallback);
}

static inline const char *cw_arg_string(cw_call *call, const char *path, size_t *ret_n)
{
    return cw_value_string(call, cw_arg(call, path), ret_n);
}

static inline int64_t cw_arg_int(cw_call *call, const char *path, int64_t fallback)
{
    return cw_value_int(call, cw_arg(call, path), fallback);
}

static inline double cw_arg_double(cw_call *call, const char *path, double fallback)
{
    return cw_value_double(call, cw_arg(call, path), fallback);
}

static inline bool cw_arg_bool(cw_call *call, const char *path, bool fallback)
{
    return cw_value_bool(call, cw_arg(call, path), fallback);
}

static inline const char *cw_arg_json(cw_call *call, const char *path)
{
    return cw_value_json(call, cw_arg(call, path));
}

static inline size_t cw_arg_count(cw_call *call, const char *path)
{
    return cw_value_count(cw_arg(call, path));
}

/* ---- the result ----
 *
 * `key` names the member of the object that is open; it is NULL in an array and for the result
 * itself. A method that puts nothing returns null.
 */

CW_PLUGIN_EXPORT void cw_open_object(cw_call *call, const char *key);
CW_PLUGIN_EXPORT void cw_open_array(cw_call *call, const char *key);
/* Close what was opened last. */
CW_PLUGIN_EXPORT void cw_close(cw_call *call);

/* NULL is put as null; a byte that is not UTF-8 as U+FFFD. */
CW_PLUGIN_EXPORT void cw_put_text(cw_call *call, const char *key, const char *text);
CW_PLUGIN_EXPORT void cw_put_string(cw_call *call, const char *key, const char *p, size_t n);
CW_PLUGIN_EXPORT CW_PLUGIN_PRINTF(3, 4) void cw_put_format(cw_call *call, const char *key,
                                                           const char *fmt, ...);
CW_PLUGIN_EXPORT void cw_put_int(cw_call *call, const char *key, int64_t value);
/* Infinities and NaN, which JSON does not have, are put as null. */
CW_PLUGIN_EXPORT void cw_put_double(cw_call *call, const char *key, double value);
CW_PLUGIN_EXPORT void cw_put_bool(cw_call *call, const char *key, bool value);
CW_PLUGIN_EXPORT void cw_put_null(cw_call *call, const char *key);
/* One JSON value as text; it is checked. */
CW_PLUGIN_EXPORT void cw_put_json(cw_call *call, const char *key, const char *json);
/* A value of the arguments; NULL is put as null. */
CW_PLUGIN_EXPORT void cw_put_value(cw_call *call, const char *key, const cw_value *value);

/* The whole result at once. */
#define cw_result_text(call, text) cw_put_text((call), NULL, (text))
#define cw_result_format(call, ...) cw_put_format((call), NULL, __VA_ARGS__)
#define cw_result_json(call, json) cw_put_json((call), NULL, (json))

/* ---- errors ---- */

#define CW_ERROR_PARAMS (-32602)
#define CW_ERROR_INTERNAL (-32603)
#define CW_ERROR_CANCELLED (-32800)

/* Answer with an error instead of a result. Earlier results are dropped; a value that is put later
 * becomes the error's `data`. A later error replaces an earlier one. */
CW_PLUGIN_EXPORT CW_PLUGIN_PRINTF(3, 4) void cw_error(cw_call *call, int code, const char *fmt,
                                                      ...);
/* Whether the call will be answered with an error. */
CW_PLUGIN_EXPORT bool cw_call_has_failed(const cw_call *call);

/* ---- while it runs ---- */

/* Report progress to the caller. `total` 0: unknown; `message` may be NULL. Costs almost
 * nothing if the caller did not request reports. */
CW_PLUGIN_EXPORT void cw_call_progress(cw_call *call, double progress, double total,
                                       const char *message);
/* Whether the call was cancelled. A long method checks it often and returns; otherwise the process
 * is killed some seconds later. The socket is read at most once per millisecond. */
CW_PLUGIN_EXPORT bool cw_call_cancelled(cw_call *call);

typedef enum cw_level {
    CW_LEVEL_ERROR,
    CW_LEVEL_WARN,
    CW_LEVEL_INFO,
    CW_LEVEL_DEBUG,
} cw_level;

/* A line for Causeway's log. Cut at 4096 bytes. `call` may be NULL: a line of no call. */
CW_PLUGIN_EXPORT CW_PLUGIN_PRINTF(3, 4) void cw_call_log(cw_call *call, cw_level level,
                                                         const char *fmt, ...);

/* The W3C trace context of the call, "00-TRACE-SPAN-FLAGS", for requests that the method makes: its
 * spans become children of the call. NULL: the server has no traces. */
CW_PLUGIN_EXPORT const char *cw_call_traceparent(cw_call *call);

/* ---- who asks ---- */

CW_PLUGIN_EXPORT const char *cw_caller_id(cw_call *call); /* "0": anonymous */
CW_PLUGIN_EXPORT const char *cw_caller_name(cw_call *call);
CW_PLUGIN_EXPORT const char *cw_caller_language(cw_call *call); /* "en" */
CW_PLUGIN_EXPORT bool cw_caller_may(cw_call *call, const char *permission);
/* The i-th permission, from 0; NULL behind the last. */
CW_PLUGIN_EXPORT const char *cw_caller_permission(cw_call *call, size_t i);

#include <causeway/mcp.h>

#endif
