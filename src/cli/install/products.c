/* SPDX-License-Identifier: GPL-2.0-or-later */
/* products.c - the table of MCP clients, their files and entries. */
#include "cli/install/products.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "json/write.h"

#define ENTRY_MAX_BYTES ((size_t)1 << 20)

/* ---- table ---- */

/* JSON as a string. The preprocessor quotes it. */
#define SHAPE(...) #__VA_ARGS__

#define PROGRAM SHAPE({"command" : "@command", "args" : ["@args"]})
#define TYPED_PROGRAM SHAPE({"type" : "stdio", "command" : "@command", "args" : ["@args"]})
#define URL SHAPE({"url" : "@url"})
#define TOKEN SHAPE({"headers" : {"Authorization" : "Bearer ${@token}"}})
#define ENV_TOKEN SHAPE({"headers" : {"Authorization" : "Bearer ${env:@token}"}})
#define ENV SHAPE({"env" : {"@variable" : "${@variable}"}})
#define ENV_ENV SHAPE({"env" : {"@variable" : "${env:@variable}"}})
#define ENV_COPY SHAPE({"env" : {"@variable" : "@value"}})

const cw_product cw_products[] = {
    {
        .name = "claude-code",
        .title = "Claude Code",
        .variable = "CLAUDE_CONFIG_DIR",
        .file = ".claude.json",
        .mark = ".claude",
        .format = &cw_install_json,
        .section = "mcpServers",
        .program = TYPED_PROGRAM,
        .address = SHAPE({"type" : "http", "url" : "@url"}),
        .token = TOKEN,
        .env = ENV,
    },
    {
        .name = "claude-desktop",
        .title = "Claude Desktop",
        .base = CW_PRODUCT_CONFIG,
        .directory = "Claude",
        .file = "claude_desktop_config.json",
        .format = &cw_install_json,
        .section = "mcpServers",
        .program = PROGRAM,
        .env = ENV_COPY,
        .copies_env = true,
    },
    {
        .name = "codex",
        .title = "Codex",
        .variable = "CODEX_HOME",
        .directory = ".codex",
        .file = "config.toml",
        .format = &cw_install_toml,
        .section = "mcp_servers",
        .program = PROGRAM,
        .address = URL,
        .token = SHAPE({"bearer_token_env_var" : "@token"}),
        .env = SHAPE({"env_vars" : ["@variable"]}),
    },
    {
        .name = "continue",
        .title = "Continue",
        .variable = "CONTINUE_GLOBAL_DIR",
        .directory = ".continue",
        .file = "config.yaml",
        .rival = "config.json",
        .format = &cw_install_yaml,
        .section = "mcpServers",
        .is_list = true,
        .head = "name: Local Config\nversion: 1.0.0\nschema: v1\n",
        .program = SHAPE({"name" : "@name", "command" : "@command", "args" : ["@args"]}),
        .address = SHAPE({"name" : "@name", "type" : "streamable-http", "url" : "@url"}),
        .token = SHAPE(
            {"requestOptions" : {"headers" : {"Authorization" : "Bearer ${{ secrets.@token }}"}}}),
        .env = SHAPE({"env" : {"@variable" : "${{ secrets.@variable }}"}}),
    },
    {
        .name = "cursor",
        .title = "Cursor",
        .directory = ".cursor",
        .file = "mcp.json",
        .format = &cw_install_json,
        .section = "mcpServers",
        .program = PROGRAM,
        .address = URL,
        .token = ENV_TOKEN,
        .env = ENV_ENV,
    },
    {
        .name = "gemini",
        .title = "Gemini CLI",
        .variable = "GEMINI_CLI_HOME",
        .keeps_directory = true,
        .directory = ".gemini",
        .file = "settings.json",
        .format = &cw_install_json,
        .section = "mcpServers",
        .program = PROGRAM,
        .address = SHAPE({"httpUrl" : "@url"}),
        .token = TOKEN,
        .env = ENV,
    },
    {
        .name = "goose",
        .title = "Goose",
        .base = CW_PRODUCT_XDG,
        .directory = "goose",
        .file = "config.yaml",
        .format = &cw_install_yaml,
        .section = "extensions",
        .program = SHAPE({
            "enabled" : true,
            "type" : "stdio",
            "name" : "@name",
            "description" : "Tools of Causeway",
            "cmd" : "@command",
            "args" : ["@args"],
            "timeout" : 300
        }),
        .address = SHAPE({
            "enabled" : true,
            "type" : "streamable_http",
            "name" : "@name",
            "description" : "Tools of Causeway",
            "uri" : "@url",
            "timeout" : 300
        }),
        .token =
            SHAPE({"env_keys" : ["@token"], "headers" : {"Authorization" : "Bearer ${@token}"}}),
        .env = SHAPE({"env_keys" : ["@variable"]}),
    },
    {
        .name = "lm-studio",
        .title = "LM Studio",
        .directory = ".lmstudio",
        .file = "mcp.json",
        .other_directory = ".cache/lm-studio",
        .other_file = "mcp.json",
        .format = &cw_install_json,
        .section = "mcpServers",
        .program = PROGRAM,
        .address = URL,
        .env = ENV_COPY,
        .copies_env = true,
    },
    {
        .name = "opencode",
        .title = "opencode",
        .base = CW_PRODUCT_XDG,
        .directory = "opencode",
        .file = "opencode.json",
        .other_directory = "opencode",
        .other_file = "opencode.jsonc",
        .format = &cw_install_json,
        .section = "mcp",
        .head = "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n",
        .program = SHAPE({"type" : "local", "command" : [ "@command", "@args" ]}),
        .address = SHAPE({"type" : "remote", "url" : "@url"}),
        .token = SHAPE({"headers" : {"Authorization" : "Bearer {env:@token}"}}),
        .env = SHAPE({"environment" : {"@variable" : "{env:@variable}"}}),
    },
    {
        .name = "qwen",
        .title = "Qwen Code",
        .variable = "QWEN_HOME",
        .directory = ".qwen",
        .file = "settings.json",
        .format = &cw_install_json,
        .section = "mcpServers",
        .program = PROGRAM,
        .address = SHAPE({"httpUrl" : "@url"}),
        .token = TOKEN,
        .env = ENV,
    },
    {
        .name = "vscode",
        .title = "Visual Studio Code",
        .base = CW_PRODUCT_CONFIG,
        .directory = "Code/User",
        .file = "mcp.json",
        .format = &cw_install_json,
        .section = "servers",
        .program = TYPED_PROGRAM,
        .address = SHAPE({"type" : "http", "url" : "@url"}),
        .token = ENV_TOKEN,
        .env = ENV_ENV,
    },
    {
        .name = "windsurf",
        .title = "Windsurf",
        .directory = ".codeium/windsurf",
        .file = "mcp_config.json",
        .format = &cw_install_json,
        .section = "mcpServers",
        .program = PROGRAM,
        .address = SHAPE({"serverUrl" : "@url"}),
        .token = ENV_TOKEN,
        .env = ENV_ENV,
    },
    {
        .name = "zed",
        .title = "Zed",
        .base = CW_PRODUCT_XDG,
        .directory = "zed",
        .file = "settings.json",
        .format = &cw_install_json,
        .section = "context_servers",
        .program = PROGRAM,
        .address = URL,
        .env = ENV_COPY,
        .copies_env = true,
    },
    {0},
};

const cw_product cw_product_other = {
    .name = "other",
    .title = "Another client",
    .format = &cw_install_json,
    .section = "mcpServers",
    .program = TYPED_PROGRAM,
    .address = SHAPE({"type" : "http", "url" : "@url"}),
    .token = TOKEN,
    .env = ENV_COPY,
    .copies_env = true,
};

const cw_product *cw_product_find(const char *name)
{
    for (const cw_product *p = cw_products; p->name; p++) {
        if (strcmp(p->name, name) == 0)
            return p;
    }
    return NULL;
}

/* ---- files ---- */

#ifdef __APPLE__
#define CONFIG_DIRECTORY "/Library/Application Support"
#else
#define CONFIG_DIRECTORY "/.config"
#endif

static const char *variable_of(const char *name)
{
    const char *value = name ? getenv(name) : NULL;
    return value && value[0] ? value : NULL;
}

/* $XDG_CONFIG_HOME, if this product uses it. A relative one is invalid and ignored. */
static const char *xdg_of(const cw_product *p)
{
#ifdef __APPLE__
    if (p->base == CW_PRODUCT_CONFIG)
        return NULL;
#endif
    const char *xdg = p->base == CW_PRODUCT_HOME ? NULL : variable_of("XDG_CONFIG_HOME");
    return xdg && xdg[0] == '/' ? xdg : NULL;
}

static cw_code fail_path(const cw_product *p, const char *variable, cw_err *err)
{
    return cw_fail(err, CW_PARAMS,
                   "cannot find the files of %s: %s is not an absolute path, or too long", p->title,
                   variable);
}

/* The directory of a product, without a slash at the end; `directory` may be NULL. */
static cw_code find_directory(const cw_product *p, const char *directory,
                              char out[CW_PRODUCT_PATH_BYTES], cw_err *err)
{
    static const char *const under_home[] = {
        [CW_PRODUCT_HOME] = "",
        [CW_PRODUCT_CONFIG] = CONFIG_DIRECTORY,
        [CW_PRODUCT_XDG] = "/.config",
    };
    const char *root = variable_of(p->variable), *name = root ? p->variable : "HOME", *between = "";
    if (root && !p->keeps_directory)
        directory = NULL;
    if (!root)
        root = xdg_of(p);
    if (!root) {
        root = getenv("HOME");
        between = under_home[p->base];
    }
    if (!root || root[0] != '/')
        return fail_path(p, name, err);
    int n = snprintf(out, CW_PRODUCT_PATH_BYTES, "%s%s%s%s", root, between, directory ? "/" : "",
                     directory ? directory : "");
    return n > 0 && (size_t)n < CW_PRODUCT_PATH_BYTES ? CW_OK : fail_path(p, name, err);
}

static cw_code find_file(const cw_product *p, const char *directory, const char *file,
                         char out[CW_PRODUCT_PATH_BYTES], cw_err *err)
{
    cw_code rc = find_directory(p, directory, out, err);
    if (rc)
        return rc;
    size_t n = strlen(out);
    int more = snprintf(out + n, CW_PRODUCT_PATH_BYTES - n, "/%s", file);
    return more > 0 && (size_t)more < CW_PRODUCT_PATH_BYTES - n ? CW_OK : fail_path(p, "HOME", err);
}

static bool exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

cw_code cw_product_path(const cw_product *p, char out[CW_PRODUCT_PATH_BYTES], cw_err *err)
{
    char other[CW_PRODUCT_PATH_BYTES];
    cw_code rc = find_file(p, p->directory, p->file, out, err);
    if (rc || exists(out))
        return rc;
    if (p->rival && !find_file(p, p->directory, p->rival, other, NULL) && exists(other))
        return cw_fail(err, CW_PARAMS, "%s would ignore '%s' if '%s' existed: convert it first",
                       p->title, p->rival, p->file);
    if (p->other_file && !find_file(p, p->other_directory, p->other_file, other, NULL) &&
        exists(other))
        memcpy(out, other, sizeof other);
    return CW_OK;
}

bool cw_product_is_there(const cw_product *p)
{
    char path[CW_PRODUCT_PATH_BYTES];
    if (!find_file(p, p->directory, p->file, path, NULL) && exists(path))
        return true;
    bool has_directory = p->directory || variable_of(p->variable);
    if (has_directory && !find_directory(p, p->directory, path, NULL) && exists(path))
        return true;
    if (p->other_directory && !find_directory(p, p->other_directory, path, NULL) && exists(path))
        return true;
    const char *home = getenv("HOME");
    int n = p->mark && home ? snprintf(path, sizeof path, "%s/%s", home, p->mark) : -1;
    return n > 0 && (size_t)n < sizeof path && exists(path);
}

/* ---- entries ---- */

/* Replaces the words of a shape. */
typedef struct filler {
    const cw_product_entry *entry;
    const cw_product_variable *variable; /* the one that is repeated now; or NULL */
    cw_json_writer w;
} filler;

static cw_str value_of(const filler *f, cw_str word)
{
    const cw_product_entry *entry = f->entry;
    const struct {
        const char *word, *value;
    } words[] = {
        {"name", entry->name},
        {"command", entry->command},
        {"url", entry->url},
        {"token", entry->token},
        {"variable", f->variable ? f->variable->name : NULL},
        {"value", f->variable ? f->variable->value : NULL},
    };
    for (size_t i = 0; i < CW_COUNT(words); i++) {
        if (cw_str_starts(word, cw_str_from(words[i].word)))
            return cw_str_from(words[i].value);
    }
    return CW_STR("");
}

/* A text with one word at most, which ends at the first character that is not a letter. */
static void fill_string(filler *f, cw_str text)
{
    cw_str rest, before = cw_str_cut(text, '@', &rest);
    if (!rest.p) {
        cw_json_add_string(&f->w, text);
        return;
    }
    cw_buf out;
    cw_buf_init(&out, ENTRY_MAX_BYTES);
    size_t n = 0;
    while (n < rest.n && rest.p[n] >= 'a' && rest.p[n] <= 'z')
        n++;
    cw_buf_add(&out, before);
    cw_buf_add(&out, value_of(f, rest));
    cw_buf_add(&out, cw_str_make(rest.p + n, rest.n - n));
    if (out.code)
        f->w.code = out.code;
    cw_json_add_string(&f->w, cw_buf_str(&out));
    cw_buf_done(&out);
}

static void fill(filler *f, const cw_json *shape);

/* A member whose name is the word for a variable, once for each. */
static void fill_variables(filler *f, const cw_json *shape)
{
    for (size_t i = 0; i < f->entry->n_variables; i++) {
        f->variable = &f->entry->variables[i];
        cw_json_add_key(&f->w, cw_str_from(f->variable->name));
        fill(f, shape);
    }
    f->variable = NULL;
}

static void fill_members(filler *f, const cw_json *shape)
{
    for (const cw_json *k = shape ? cw_json_first(shape) : NULL; k; k = cw_json_next_key(k)) {
        if (cw_str_is(cw_json_text(k), "@variable")) {
            fill_variables(f, cw_json_value(k));
            continue;
        }
        cw_json_add_key(&f->w, cw_json_text(k));
        fill(f, cw_json_value(k));
    }
}

static void fill(filler *f, const cw_json *shape)
{
    if (cw_json_is(shape, CW_JSON_OBJECT)) {
        cw_json_open_object(&f->w);
        fill_members(f, shape);
        cw_json_close(&f->w);
    } else if (cw_json_is(shape, CW_JSON_ARRAY)) {
        cw_json_open_array(&f->w);
        for (const cw_json *v = cw_json_first(shape); v; v = cw_json_next(v))
            fill(f, v);
        cw_json_close(&f->w);
    } else if (cw_json_is(shape, CW_JSON_STRING) && cw_str_is(cw_json_text(shape), "@args")) {
        for (const char *const *arg = f->entry->args; *arg; arg++)
            cw_json_add_string(&f->w, cw_str_from(*arg));
    } else if (cw_json_is(shape, CW_JSON_STRING) && cw_str_is(cw_json_text(shape), "@variable")) {
        for (size_t i = 0; i < f->entry->n_variables; i++)
            cw_json_add_string(&f->w, cw_str_from(f->entry->variables[i].name));
    } else if (cw_json_is(shape, CW_JSON_STRING)) {
        fill_string(f, cw_json_text(shape));
    } else {
        cw_json_add_span(&f->w, cw_json_span(shape));
    }
}

static cw_code read_shape(const char *text, cw_arena *arena, const cw_json **ret, cw_err *err)
{
    *ret = NULL;
    return text ? cw_json_read(cw_str_from(text), NULL, arena, ret, NULL, err) : CW_OK;
}

/* Other programs read these files as UTF-8, so another encoding of a path would be changed. */
static cw_code check_texts(const cw_product_entry *entry, cw_err *err)
{
    bool is_valid =
        cw_utf8_is_valid(cw_str_from(entry->command)) && cw_utf8_is_valid(cw_str_from(entry->url));
    for (const char *const *arg = entry->args; *arg; arg++)
        is_valid = is_valid && cw_utf8_is_valid(cw_str_from(*arg));
    for (size_t i = 0; i < entry->n_variables; i++)
        is_valid = is_valid && cw_utf8_is_valid(cw_str_from(entry->variables[i].value));
    return is_valid ? CW_OK : cw_fail(err, CW_PARAMS, "a path, an address or a value is not UTF-8");
}

cw_code cw_product_make_entry(const cw_product *p, const cw_product_entry *entry, cw_arena *arena,
                              const cw_json **ret, cw_err *err)
{
    const cw_json *shape = NULL, *token = NULL, *env = NULL;
    filler f = {.entry = entry};
    cw_code rc = check_texts(entry, err);
    if (!rc)
        rc = read_shape(entry->url ? p->address : p->program, arena, &shape, err);
    if (!rc)
        rc = read_shape(entry->token ? p->token : NULL, arena, &token, err);
    if (!rc)
        rc = read_shape(entry->n_variables ? p->env : NULL, arena, &env, err);
    if (rc)
        return rc;
    cw_buf text;
    cw_buf_init(&text, ENTRY_MAX_BYTES);
    cw_json_writer_init(&f.w, &text, CW_JSON_COMPACT);
    cw_json_open_object(&f.w);
    fill_members(&f, shape);
    fill_members(&f, token);
    fill_members(&f, env);
    cw_json_close(&f.w);
    rc = cw_json_writer_end(&f.w, err);
    cw_str copy = rc ? (cw_str){NULL, 0} : cw_arena_dup_str(arena, cw_buf_str(&text));
    cw_buf_done(&text);
    if (rc)
        return rc;
    return copy.p ? cw_json_read(copy, NULL, arena, ret, NULL, err) : cw_arena_fail(arena, err);
}
