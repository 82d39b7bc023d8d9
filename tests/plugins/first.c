/* SPDX-License-Identifier: GPL-2.0-or-later */
/* first.c - what a plugin looks like that was built with the first header of ABI 1, written out. */
#include <stddef.h>
#include <stdint.h>

typedef struct cw_call cw_call;
extern void cw_put_text(cw_call *call, const char *key, const char *text);

struct first_param {
    const char *name, *schema, *description, *default_value;
    _Bool required;
    const void *reserved;
};

static struct first_method {
    void (*run)(cw_call *call);
    const char *function, *id;
    struct first_method *next;
    const char *usage, *output;
    const char *permissions[17];
    struct first_param params[33];
    const void *reserved[4];
} method;

static struct first_tool {
    const char *function;
    void (*run)(cw_call *call);
    struct first_tool *next;
    const char *title, *annotations;
    const char *scopes[17];
    const char *auth_level, *auth_description;
    const void *reserved[4];
} tool;

static void run(cw_call *call)
{
    cw_put_text(call, NULL, "still here");
}

static struct first_method method = {
    .run = run, .function = "run", .id = "first.run", .usage = "Is old."};
static struct first_tool tool = {.function = "run", .run = run, .title = "Old"};

extern __attribute__((visibility("default"))) const struct first_entry {
    uint32_t abi, size, method_size, tool_size;
    const char *name, *version;
    const void *methods, *methods_end, *tools, *tools_end;
    const void *reserved[4];
} causeway_plugin;
const struct first_entry causeway_plugin = {
    .abi = 1,
    .size = sizeof(struct first_entry),
    .method_size = sizeof(struct first_method),
    .tool_size = sizeof(struct first_tool),
    .name = "first",
    .version = "1.0",
    .methods = &method,
    .tools = &tool,
};
