/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys_sources.c - the table of services: addresses, protocols, methods. */
#include "base/limits.h"
#include "config/keys/rows.h"

#define MAX_METHODS 10000u /* of one source, as source/openrpc/openrpc.h */
#define MAX_PARAMS 1000u
#define MAX_ARGUMENTS 256u
#define MAX_PAIRS 100u
#define MAX_PRELUDE 32u
#define MAX_PATHS 256u
#define GB (1024u * 1024u * 1024u)
#define HOUR_MS (3600u * 1000u)

#define NONE CW_STR_INIT("")

/* ---- defaults ---- */

static const cw_config_param default_param = {
    .name = NONE,
    .rename = NONE,
    .description = NONE,
    .schema = NONE,
    .value = NONE,
    .default_value = NONE,
};

static const cw_config_overlay default_overlay = {
    .method = NONE,
    .name = NONE,
    .tool = true,
    .null_is_absent = true,
    .title = NONE,
    .description = NONE,
    .annotations = NONE,
    .ui = NONE,
    .ui_file = NONE,
    .level = CW_CONFIG_AUTH_UNSET,
    .result = NONE,
    .result_size = CW_CONFIG_NO_SIZE,
    .output = NONE,
};

static const cw_config_job_notice default_job_notice = {.method = NONE, .id = NONE, .error = NONE};
static const cw_config_job default_job = {
    .id = NONE,
    .id_param = NONE,
    .poll = {.method = NONE, .params = NONE},
    .result = {.method = NONE, .params = NONE},
    .cancel = {.method = NONE, .params = NONE},
    .dismiss = {.method = NONE, .params = NONE},
    .item = NONE,
    .status = NONE,
    .error = NONE,
    .interval_ms = CW_JOB_INTERVAL_MS,
};

static const cw_config_init_call default_prelude = {.method = NONE, .params = NONE};

const cw_config_remote cw_config_default_remote = {
    .name = NONE,
    .preset = NONE,
    .url = NONE,
    .folder = NONE,
    .confine = {.max_memory = CW_PROGRAM_MAX_MEMORY, .max_open_files = CW_PROGRAM_MAX_FILES},
    .http_method = NONE,
    .call_path = NONE,
    .framing = NONE,
    .tls = {.ca_file = NONE, .certificate = NONE, .key = NONE, .server_name = NONE},
    .proxy = NONE,
    .dialect = NONE,
    .params = NONE,
    .ids = NONE,
    .empty_params = NONE,
    .match_replies = NONE,
    .greeting = NONE,
    .handshake_header = NONE,
    .replies = NONE,
    .trace = NONE,
    .protocol = NONE,
    .session = NONE,
    .output = NONE,
    .secret = {.as = NONE, .name = NONE, .prefix = NONE, .file = NONE, .environment = NONE},
    .oauth = {.token_url = NONE,
              .client_id = NONE,
              .client_secret_file = NONE,
              .client_secret_environment = NONE,
              .scope = NONE,
              .audience = NONE},
    .describe = NONE,
    .openrpc = NONE,
    .skills = NONE,
    .overlay = NONE,
    .prefix = NONE,
    .refresh_ms = CW_REMOTE_REFRESH_MS,
    .timeout_ms = CW_REMOTE_CALL_MS,
    .connect_ms = CW_REMOTE_CONNECT_MS,
    .connections = CW_REMOTE_MAX_CONNECTIONS,
    .queue = CW_REMOTE_MAX_QUEUE,
    .retries = CW_REMOTE_RETRIES,
};

/* ---- the table ---- */

#define REMOTE(field) CW_KEY_AT(cw_config_remote, field)
#define OVERLAY(field) CW_KEY_AT(cw_config_overlay, field)
#define PARAM(field) CW_KEY_AT(cw_config_param, field)

#define POINTER CW_KEY_POINTER("/items")
#define METHOD CW_KEY_CLEAN("the name of a method such as \"user.get\"")
/* src/source knows the accepted values. */
#define WORD(example)                                                                              \
    .is_valid = cw_names_is_word, .expected = "a word such as \"" example "\"",                    \
    .pattern = CW_NAMES_WORD_PATTERN
#define VARIABLE                                                                                   \
    .is_valid = cw_names_is_variable, .expected = "the name of a variable such as \"API_TOKEN\"",  \
    .pattern = CW_NAMES_VARIABLE_PATTERN

const cw_choice cw_config_visibilities[] = {
    {"challenge", false},
    {"hide", true},
    {0},
};
static const cw_choice task_marks[] = {
    {"never", CW_CONFIG_TASK_NEVER},
    {"auto", CW_CONFIG_TASK_AUTO},
    {"always", CW_CONFIG_TASK_ALWAYS},
    {"required", CW_CONFIG_TASK_REQUIRED},
    {0},
};
const cw_choice cw_config_auth_levels[] = {
    {"none", CW_CONFIG_AUTH_NONE},
    {"optional", CW_CONFIG_AUTH_OPTIONAL},
    {"required", CW_CONFIG_AUTH_REQUIRED},
    {0},
};
static const cw_choice changes[] = {
    {"withhold", false},
    {"warn", true},
    {0},
};

static const cw_key param_keys[] = {
    {"rename", &cw_type_text, "Its name in Causeway; null is the same", PARAM(rename), CW_KEY_LINE},
    {"description", &cw_type_text, "Its description; null is that of the service",
     PARAM(description), CW_KEY_PROSE},
    {"schema", &cw_type_mapping,
     "Its JSON Schema; {} accepts any value; null is that of the service", PARAM(schema)},
    {"value", &cw_type_json, "Value sent with every call, and hidden from clients; null is none",
     PARAM(value)},
    {"default", &cw_type_json, "Value sent if a caller omits it; null is none",
     PARAM(default_value)},
    {"hidden", &cw_type_bool, "Hide it from clients; it is sent only with a value or a default",
     PARAM(hidden)},
    {"required", &cw_type_bool,
     "For a param that the service does not describe: callers must set it", PARAM(required)},
    {0},
};

/* Rows that tools, prompts and resources share. */
#define VISIBILITY_KEY                                                                             \
    {                                                                                              \
        "visibility", &cw_type_enum,                                                               \
            "Response to callers without its scopes: a challenge, or the same as for an unknown "  \
            "tool",                                                                                \
            OVERLAY(hidden_unless_met), .choices = cw_config_visibilities                          \
    }
#define TAGS_KEY                                                                                   \
    {                                                                                              \
        "tags", &cw_type_strings, "Tags for toolsets; none: those of the service", OVERLAY(tags),  \
            .max = CW_KEY_MAX_NAMES, .is_valid = cw_check_is_clean,                                \
            .expected = "a tag such as \"accounts\"", .pattern = CW_NAMES_CLEAN_PATTERN            \
    }
#define PERMISSIONS_KEY                                                                            \
    {                                                                                              \
        "permissions", &cw_type_strings,                                                           \
            "Permissions that a caller needs to see and call it; all of them",                     \
            OVERLAY(permissions), .max = CW_KEY_MAX_NAMES, CW_KEY_PERMISSION                       \
    }
#define SCOPES_KEY(help_text)                                                                      \
    {                                                                                              \
        "scopes", &cw_type_strings, help_text, OVERLAY(scopes), .max = CW_KEY_MAX_NAMES,           \
                                                                CW_KEY_SCOPE                       \
    }
#define LEVEL_KEY                                                                                  \
    {                                                                                              \
        "auth_level", &cw_type_option,                                                             \
            "Whether a caller must log in and have the scopes; null: if there are scopes",         \
            OVERLAY(level), .choices = cw_config_auth_levels                                       \
    }
#define TIMEOUT_KEY                                                                                \
    {                                                                                              \
        "timeout", &cw_type_duration, "Maximum duration of a call; 0 is that of the source",       \
            OVERLAY(timeout_ms), .min = 0, .max = CW_KEY_DAY_MS                                    \
    }

static const cw_key overlay_keys[] = {
    {"method", &cw_type_text, "Its name in the service; * matches any text, ? any character",
     OVERLAY(method), .is_required = true, METHOD},
    {"name", &cw_type_text,
     "Its name in Causeway; null is the prefix of the source and its name in the service",
     OVERLAY(name), CW_KEY_LINE},
    {"tool", &cw_type_bool, "Expose it as a tool", OVERLAY(tool)},
    {"expose_on_jsonrpc", &cw_type_bool,
     "Allow calls on /jsonrpc if it is not a tool (tools always allow them)", OVERLAY(rpc)},
    {"title", &cw_type_text, "Title of the tool", OVERLAY(title), CW_KEY_LINE},
    {"description", &cw_type_text, "Description of the tool; null is that of the service",
     OVERLAY(description), CW_KEY_PROSE},
    {"annotations", &cw_type_object,
     "Annotations of the tool for clients, including auth with scopes, level or both",
     OVERLAY(annotations)},
    VISIBILITY_KEY,
    TAGS_KEY,
    PERMISSIONS_KEY,
    SCOPES_KEY("Scopes that a caller needs, in addition to those in annotations.auth"),
    LEVEL_KEY,
    {"params", &cw_type_mapped,
     "Settings of single params, by their names in the service, or by their position (\"0\") if "
     "they have none",
     OVERLAY(params), .max = MAX_PARAMS, .children = param_keys,
     .item_size = sizeof(cw_config_param), .item_defaults = &default_param,
     .is_valid = cw_check_is_clean, .expected = "the name of a parameter such as \"id\"",
     .pattern = CW_NAMES_CLEAN_PATTERN},
    {"result_pointer", &cw_type_text,
     "The part of its results that is returned; null is the whole result", OVERLAY(result),
     POINTER},
    {"max_result_size", &cw_type_size_option,
     "Larger results are returned in parts; 0 is no limit; null: 64KB for MCP clients only",
     OVERLAY(result_size), .min = 0, .max = GB},
    TIMEOUT_KEY,
    {"task", &cw_type_option,
     "Whether its calls are tasks, if the client supports them: never; auto, if a call takes long; "
     "always; required, also from clients that do not; null is auto",
     OVERLAY(task), .choices = task_marks},
    {"ui", &cw_type_object,
     "View that hosts show with its results: resourceUri, visibility, csp, permissions, "
     "prefersBorder",
     OVERLAY(ui)},
    {"ui_file", &cw_type_path, "HTML file with its view, instead of ui.resourceUri",
     OVERLAY(ui_file)},
    {"null_is_absent", &cw_type_bool,
     "Drop null from its optional arguments if their schema rejects it (mcp.null_is_absent)",
     OVERLAY(null_is_absent)},
    {"read_only", &cw_type_bool,
     "It changes nothing: a call may be repeated, merged with an equal one, and its result cached",
     OVERLAY(read_only)},
    {"cache", &cw_type_duration, "How long its results are cached; 0 is not at all",
     OVERLAY(cache_ms), .min = 0, .max = CW_KEY_DAY_MS},
    {"output", &cw_type_mapping,
     "JSON Schema of its results, or of their part; null is that of the service", OVERLAY(output)},
    {0},
};

static const cw_key prelude_keys[] = {
    {"method", &cw_type_text, "Method to call", CW_KEY_AT(cw_config_init_call, method),
     .is_required = true, METHOD},
    {"params", &cw_type_json, "Its params; null is none", CW_KEY_AT(cw_config_init_call, params)},
    {"notify", &cw_type_bool, "Send it as a notification, without a response",
     CW_KEY_AT(cw_config_init_call, notify)},
    {0},
};

#define JOB(field) CW_KEY_AT(cw_config_job, field)
/* NOLINTBEGIN(bugprone-macro-parentheses): the argument names a member. */
#define JOB_CALL_KEYS(name)                                                                        \
    static const cw_key name##_keys[] = {                                                          \
        {"method", &cw_type_text, "Method to call; null is none", JOB(name.method), METHOD},       \
        {"params", &cw_type_json, "Its params; \"$job\" is the id of the job; null is none",       \
         JOB(name.params)},                                                                        \
        {0},                                                                                       \
    }
/* NOLINTEND(bugprone-macro-parentheses) */
#define JOB_CALL(keys, text)                                                                       \
    &cw_type_section, .help = (text), .children = (keys), .item_defaults = &default_job

JOB_CALL_KEYS(poll);
JOB_CALL_KEYS(result);
JOB_CALL_KEYS(cancel);
JOB_CALL_KEYS(dismiss);

static const cw_key job_notice_keys[] = {
    {"method", &cw_type_text, "Method of the notification", CW_KEY_AT(cw_config_job_notice, method),
     .is_required = true, METHOD},
    {"id", &cw_type_text, "Where its params have the id of the job",
     CW_KEY_AT(cw_config_job_notice, id), POINTER},
    {"ends", &cw_type_bool, "It is the end of the job, and its params are the result",
     CW_KEY_AT(cw_config_job_notice, ends)},
    {"error", &cw_type_text,
     "Where its params have the reason if the job has failed; null: nowhere",
     CW_KEY_AT(cw_config_job_notice, error), POINTER},
    {0},
};

static const cw_key job_keys[] = {
    {"methods", &cw_type_strings, "Methods that begin such a job; * and ? are wildcards",
     JOB(methods), .max = CW_KEY_MAX_NAMES, METHOD},
    {"id", &cw_type_text, "Where their result has the id of the job; null: it is the id", JOB(id),
     POINTER},
    {"id_param", &cw_type_text,
     "Where their params have the id of the job; null: the result has it", JOB(id_param), POINTER},
    {"poll", JOB_CALL(poll_keys, "How the state of the job is read")},
    {"item", &cw_type_text,
     "Where each item of the list that poll returns has its id; null: poll returns one job",
     JOB(item), POINTER},
    {"status", &cw_type_text, "Where the job has its status", JOB(status), POINTER},
    {"done", &cw_type_strings, "Values of the status of a job that has ended", JOB(done),
     .max = MAX_PAIRS, CW_KEY_LINE},
    {"failed", &cw_type_strings, "Values of the status of a job that has failed", JOB(failed),
     .max = MAX_PAIRS, CW_KEY_LINE},
    {"error", &cw_type_text,
     "Where a job has the reason for its failure; one that has ended with a reason has failed",
     JOB(error), POINTER},
    {"progress", &cw_type_strings,
     "Where the job has the amount that is done, and the amount that there is", JOB(progress),
     .max = 2, POINTER},
    {"result",
     JOB_CALL(result_keys, "How the result of a job that is done is read, if not by poll")},
    {"cancel", JOB_CALL(cancel_keys, "How the job is cancelled")},
    {"dismiss", JOB_CALL(dismiss_keys, "How the service learns that a job that has ended is read")},
    {"interval", &cw_type_duration,
     "Time between two polls, rounded up to 1, 2 or 5 times a power of ten", JOB(interval_ms),
     .min = CW_JOB_MIN_INTERVAL_MS, .max = 60 * 1000},
    {"notifications", &cw_type_items, "Notifications of the service about its jobs",
     JOB(notifications), .min = 0, .max = MAX_PAIRS, .children = job_notice_keys,
     .item_size = sizeof(cw_config_job_notice), .item_defaults = &default_job_notice},
    {0},
};

static const cw_key variable_value = {.type = &cw_type_scalar, CW_KEY_PROSE};
static const cw_key header_value = {.type = &cw_type_scalar, CW_KEY_LINE};
static const cw_key file_value = {.type = &cw_type_path};

/* Sections in an item: their offsets count from the item. */
#define PART(keys) &cw_type_section, .children = (keys), .item_defaults = &cw_config_default_remote

static const cw_key tls_keys[] = {
    {"ca_file", &cw_type_path,
     "For https and wss: PEM file with the trusted CA certificates; null: those of the system",
     REMOTE(tls.ca_file)},
    {"certificate", &cw_type_path,
     "PEM file with the client certificate, if the service requires one; with key",
     REMOTE(tls.certificate)},
    {"key", &cw_type_path, "PEM file with the private key of that certificate", REMOTE(tls.key)},
    {"server_name", &cw_type_text,
     "Expected name in the server's certificate; null is the host of the URL",
     REMOTE(tls.server_name), CW_KEY_LINE},
    {0},
};

static const cw_key handshake_keys[] = {
    {"status", &cw_type_integer,
     "HTTP status of a response with a header that later requests must repeat; 0 is none",
     REMOTE(handshake_status), .min = 0, .max = 599},
    {"header", &cw_type_text, "Name of that header", REMOTE(handshake_header),
     .is_valid = cw_names_is_header, .expected = "the name of a header such as \"X-Session-Id\"",
     .pattern = CW_NAMES_HEADER_PATTERN},
    {0},
};

#define PATHS                                                                                      \
    .max = MAX_PATHS, .is_valid = cw_check_is_clean, .expected = "a path such as \"/srv/files\"",  \
    .pattern = CW_NAMES_CLEAN_PATTERN

static const cw_key confine_keys[] = {
    {"max_memory", &cw_type_size, "Data of one process; 0 is no limit", REMOTE(confine.max_memory),
     .min = 0, .max = UINT64_C(1024) * GB},
    {"max_open_files", &cw_type_integer, "Open files of one process",
     REMOTE(confine.max_open_files), .min = 8, .max = 65536},
    {"max_processes", &cw_type_integer,
     "Processes and threads of its user, those outside Causeway included; 0 is no limit",
     REMOTE(confine.max_processes), .min = 0, .max = 1000000},
    {"readable", &cw_type_paths,
     "Files and directories that it may read, beside those of the system; [] with an empty "
     "writable: all but the files of Causeway",
     REMOTE(confine.readable), PATHS},
    {"writable", &cw_type_paths, "Files and directories that it may read and change, beside TMPDIR",
     REMOTE(confine.writable), PATHS},
    {0},
};

static const cw_key secret_keys[] = {
    {"as", &cw_type_scalar,
     "Place of the secret: bearer, basic (the secret is NAME:PASSWORD), header, first_param (of "
     "positional params) or param (of named ones); null is the value of the preset, or bearer",
     REMOTE(secret.as), WORD("bearer")},
    {"name", &cw_type_text, "Name of the header or member", REMOTE(secret.name), CW_KEY_LINE},
    {"prefix", &cw_type_text, "Text before the secret, such as token:", REMOTE(secret.prefix),
     CW_KEY_LINE},
    {"file", &cw_type_path, "File with the secret", REMOTE(secret.file)},
    {"environment", &cw_type_text, "Environment variable with the secret, instead of file",
     REMOTE(secret.environment), VARIABLE},
    {0},
};

static const cw_key oauth_keys[] = {
    {"token_url", &cw_type_text, "URL to get tokens with client credentials; null: no tokens",
     REMOTE(oauth.token_url), .is_valid = cw_names_is_issuer,
     .expected = "a URL such as \"https://login.example.org/token\"",
     .pattern = CW_NAMES_ISSUER_PATTERN},
    {"client_id", &cw_type_text, "Client id", REMOTE(oauth.client_id), CW_KEY_LINE},
    {"client_secret_file", &cw_type_path, "File with the client secret",
     REMOTE(oauth.client_secret_file)},
    {"client_secret_environment", &cw_type_text,
     "Environment variable with the client secret, instead of the file",
     REMOTE(oauth.client_secret_environment), VARIABLE},
    {"scope", &cw_type_text, "Requested scopes, separated by spaces", REMOTE(oauth.scope),
     CW_KEY_LINE},
    {"audience", &cw_type_text, "Requested audience", REMOTE(oauth.audience), CW_KEY_LINE},
    {0},
};

/* ---- resources, templates and prompts of an MCP server ---- */

#define EXPOSED_SCOPES "Scopes that a caller needs"
#define EXPOSED_KEYS                                                                               \
    {"expose", &cw_type_bool, "Expose it", OVERLAY(tool)},                                         \
        {"title", &cw_type_text, "Its title; null is that of the server", OVERLAY(title),          \
         CW_KEY_LINE},                                                                             \
        {"description", &cw_type_text, "Its description; null is that of the server",              \
         OVERLAY(description), CW_KEY_PROSE},                                                      \
        VISIBILITY_KEY, TAGS_KEY, PERMISSIONS_KEY, SCOPES_KEY(EXPOSED_SCOPES), LEVEL_KEY,          \
        TIMEOUT_KEY,                                                                               \
    {                                                                                              \
        0                                                                                          \
    }

static const cw_key resource_keys[] = {
    {"uri", &cw_type_text, "Its URI; * matches any text, ? any character", OVERLAY(method),
     .is_required = true, .is_valid = cw_check_is_clean,
     .expected = "a URI such as \"file:///srv/notes\"", .pattern = CW_NAMES_CLEAN_PATTERN},
    EXPOSED_KEYS,
};

static const cw_key template_keys[] = {
    {"uri_template", &cw_type_text,
     "Its URI template, as the server lists it; * matches any text, ? any character",
     OVERLAY(method), .is_required = true, .is_valid = cw_check_is_clean,
     .expected = "a template such as \"file:///{path}\"", .pattern = CW_NAMES_CLEAN_PATTERN},
    {"unlisted", &cw_type_bool,
     "The server does not list it; reads of the URIs that fit it are passed on", OVERLAY(unlisted)},
    EXPOSED_KEYS,
};

static const cw_key prompt_keys[] = {
    {"prompt", &cw_type_text, "Its name in the server; * matches any text, ? any character",
     OVERLAY(method), .is_required = true, .is_valid = cw_check_is_clean,
     .expected = "the name of a prompt such as \"review\"", .pattern = CW_NAMES_CLEAN_PATTERN},
    {"name", &cw_type_text,
     "Its name in Causeway; null is the prefix of the source and its name in the server",
     OVERLAY(name), CW_KEY_LINE},
    EXPOSED_KEYS,
};

#define LIST(keys)                                                                                 \
    .min = 0, .max = MAX_METHODS, .children = (keys), .item_size = sizeof(cw_config_overlay),      \
    .item_defaults = &default_overlay, .shorthand = &(keys)[0]

const cw_key cw_sources_keys[] = {
    {"name", &cw_type_text,
     "Its name in messages; unique, and not that of the built-in source, causeway", REMOTE(name),
     .is_required = true, .is_valid = cw_names_is_source,
     .expected = "a name of a-z, 0-9, '_' and '-'", .pattern = CW_NAMES_SOURCE_PATTERN},
    {"preset", &cw_type_scalar,
     "A known kind of service, such as aria2, whose values apply unless they are set here",
     REMOTE(preset), WORD("aria2")},
    {"url", &cw_type_url,
     "Its address: http(s)://, unix:SOCKET:/PATH, unix:SOCKET, tcp:// or ws(s)://", REMOTE(url)},
    {"command", &cw_type_strings,
     "A program and its arguments; Causeway starts it and uses its standard input and output",
     REMOTE(command), .max = MAX_ARGUMENTS, .is_valid = cw_names_is_prose,
     .expected = CW_NAMES_PROSE_EXPECTED, .pattern = CW_NAMES_PROSE_PATTERN},
    {"environment", &cw_type_pairs,
     "Variables of the program, in addition to PATH, HOME, LANG and TMPDIR; it inherits no others",
     REMOTE(environment), .max = MAX_PAIRS, .children = &variable_value, VARIABLE},
    {"environment_files", &cw_type_pairs,
     "More variables of the program: a mapping of their names to files that hold the values",
     REMOTE(environment_files), .max = MAX_PAIRS, .children = &file_value, VARIABLE},
    {"working_directory", &cw_type_path,
     "Working directory of the program; null is that of Causeway", REMOTE(folder)},
    {"confine", PART(confine_keys), .help = "Limits of the program and of all that it starts"},
    {"http_method", &cw_type_scalar,
     "GET sends a call as ?query=, AUTO only calls of read_only methods; null is the value of the "
     "preset, or POST",
     REMOTE(http_method), WORD("POST")},
    {"call_path", &cw_type_text,
     "Path of calls for a service with one path per method, such as /mcp/tools/{method}; null is "
     "the path of url",
     REMOTE(call_path), .is_valid = cw_names_is_call_path,
     .expected = "a path such as \"/mcp/tools/{method}\"", .pattern = CW_NAMES_CALL_PATH_PATTERN},
    {"headers", &cw_type_pairs,
     "Header fields of every HTTP request, or of the handshake of a WebSocket; not those that HTTP "
     "itself needs",
     REMOTE(headers), .max = MAX_PAIRS, .children = &header_value, .is_valid = cw_names_is_header,
     .expected = "the name of a header such as \"X-Tenant\"", .pattern = CW_NAMES_HEADER_PATTERN},
    {"header_files", &cw_type_pairs,
     "More header fields: a mapping of their names to files that hold the values",
     REMOTE(header_files), .max = MAX_PAIRS, .children = &file_value,
     .is_valid = cw_names_is_header, .expected = "the name of a header such as \"X-Tenant\"",
     .pattern = CW_NAMES_HEADER_PATTERN},
    {"framing", &cw_type_scalar,
     "Separation of messages on a stream: lines, crlf, content-length, length or json; null is the "
     "value of the preset, or lines",
     REMOTE(framing), WORD("lines")},
    {"tls", PART(tls_keys), .help = "For https and wss"},
    {"proxy", &cw_type_text,
     "Proxy for http and https, such as http://proxy.example:3128; null: none, regardless of the "
     "environment",
     REMOTE(proxy), .is_valid = cw_names_is_proxy,
     .expected = "a proxy such as \"http://proxy.example:3128\"",
     .pattern = CW_NAMES_PROXY_PATTERN},
    {"dialect", &cw_type_scalar, "Message format; default 2.0", REMOTE(dialect), WORD("2.0")},
    {"params", &cw_type_scalar, "Form of params; default named", REMOTE(params), WORD("named")},
    {"ids", &cw_type_scalar, "Type of request ids; default number", REMOTE(ids), WORD("number")},
    {"empty_params", &cw_type_scalar, "Treatment of empty params; default omit",
     REMOTE(empty_params), WORD("omit")},
    {"match_replies", &cw_type_scalar,
     "How a response is matched: by its id, or by the HTTP exchange regardless of its id; default "
     "id",
     REMOTE(match_replies), WORD("id")},
    {"init_calls", &cw_type_items,
     "Calls on a new connection before any other; a text is a method without params; [] is the "
     "value of the preset",
     REMOTE(init_calls), .min = 0, .max = MAX_PRELUDE, .children = prelude_keys,
     .item_size = sizeof(cw_config_init_call), .item_defaults = &default_prelude,
     .shorthand = &prelude_keys[0]},
    {"speaks_first", &cw_type_yes, "Whether the service sends the first message; default no",
     REMOTE(greeting)},
    {"handshake", PART(handshake_keys),
     .help = "A header of its first response that later requests repeat"},
    {"answers_to_service", &cw_type_mapping,
     "Results for calls by the service; $params returns the received params; {}: the service may "
     "call nothing",
     REMOTE(replies)},
    {"change_notifications", &cw_type_strings, "Its notifications of changed methods",
     REMOTE(change_notifications), .max = CW_KEY_MAX_NAMES, METHOD},
    {"trace", &cw_type_scalar,
     "Where trace contexts are sent: auto (headers of HTTP, _meta of MCP), meta (params._meta) or "
     "none; default auto",
     REMOTE(trace), WORD("auto")},
    {"protocol", &cw_type_scalar,
     "Protocol era of an MCP server: auto asks the server; modern and legacy pin it; default auto",
     REMOTE(protocol), WORD("auto")},
    {"session", &cw_type_scalar,
     "Sessions with an MCP server over HTTP: shared, caller, call, or auto, which the server "
     "decides; default auto",
     REMOTE(session), WORD("auto")},
    {"output", &cw_type_scalar,
     "Results of an MCP server: relay passes them on, strict validates them; default relay",
     REMOTE(output), WORD("relay")},
    {"questions", &cw_type_strings,
     "Questions of an MCP server that clients may get: form, url, sampling, roots, or none; "
     "default form",
     REMOTE(questions), .max = 4, WORD("form")},
    {"secret", PART(secret_keys), .help = "Credentials for the service"},
    {"oauth", PART(oauth_keys), .help = "OAuth client that gets tokens for the service"},
    {"discovery", &cw_type_scalar,
     "How its methods are discovered; auto tries several kinds in turn; null is the value of the "
     "preset, or auto",
     REMOTE(describe), WORD("openrpc")},
    {"openrpc", &cw_type_path,
     "File with its description, OpenRPC or a manifest; null discovers the service",
     REMOTE(openrpc)},
    {"overlay", &cw_type_path, "File with more methods, as causeway import writes it",
     REMOTE(overlay)},
    {"prefix", &cw_type_text,
     "Prefix of its method names in Causeway, so that two services do not clash", REMOTE(prefix),
     CW_KEY_LINE},
    {"methods", &cw_type_items, "Exposed methods; a name alone is a tool with default settings",
     REMOTE(methods), LIST(overlay_keys)},
    {"resources", &cw_type_items, "Exposed resources of an MCP server; a text is a URI",
     REMOTE(exposed[CW_CONFIG_RESOURCES]), LIST(resource_keys)},
    {"templates", &cw_type_items,
     "Exposed resource templates of an MCP server; a text is a template",
     REMOTE(exposed[CW_CONFIG_TEMPLATES]), LIST(template_keys)},
    {"prompts", &cw_type_items, "Exposed prompts of an MCP server; a text is a name",
     REMOTE(exposed[CW_CONFIG_PROMPTS]), LIST(prompt_keys)},
    {"events", &cw_type_mapped,
     "Its notifications that clients may receive, by name; * and ? choose events of the preset",
     REMOTE(events), .max = CW_EVENT_MAX_TYPES, .children = cw_event_keys,
     .item_size = sizeof(cw_config_event), .item_defaults = &cw_config_default_event,
     .is_valid = cw_config_is_event_name, .expected = CW_EVENT_NAME_EXPECTED,
     .pattern = CW_EVENT_NAME_PATTERN},
    {"jobs", &cw_type_items,
     "Methods that begin a job and return its id, and how it is followed; [] is the value of the "
     "preset",
     REMOTE(jobs), .min = 0, .max = MAX_PAIRS, .children = job_keys,
     .item_size = sizeof(cw_config_job), .item_defaults = &default_job},
    {"relay_instructions", &cw_type_bool,
     "Append the instructions of an MCP server to those that callers of its tools get",
     REMOTE(relays_instructions)},
    {"skills", &cw_type_path,
     "Directory with skills, instructions for models that callers of its tools can read",
     REMOTE(skills)},
    {"refresh", &cw_type_duration, "Interval between discoveries; 0 is never", REMOTE(refresh_ms),
     .min = 0, .max = 30 * (uint64_t)CW_KEY_DAY_MS},
    {"on_change", &cw_type_enum,
     "Whether a tool that differs from state.lock is withheld, or only causes a warning",
     REMOTE(warns_only), .choices = changes},
    {"timeout", &cw_type_duration, "Maximum duration of a call", REMOTE(timeout_ms), .min = 1,
     .max = CW_KEY_DAY_MS},
    {"connect_timeout", &cw_type_duration, "Maximum time to connect", REMOTE(connect_ms), .min = 1,
     .max = HOUR_MS},
    {"first_byte_timeout", &cw_type_duration,
     "Maximum wait for the start of a response; 0 is the timeout of the call",
     REMOTE(first_byte_ms), .min = 0, .max = CW_KEY_DAY_MS},
    {"connections", &cw_type_integer,
     "Pending calls for each event loop; over HTTP each has a connection", REMOTE(connections),
     .min = 1, .max = 10000},
    {"queue", &cw_type_integer,
     "Calls waiting for one of these, for each event loop; rejected beyond", REMOTE(queue),
     .min = 0, .max = 1000000},
    {"retries", &cw_type_integer, "Maximum retries of a call that is safe to repeat",
     REMOTE(retries), .min = 0, .max = 10},
    {0},
};

#define LISTS(field) CW_KEY_AT(cw_config_overlay_lists, field)

const cw_key cw_overlay_file_keys[] = {
    {"methods", &cw_type_items, "Settings of its methods", LISTS(methods), LIST(overlay_keys)},
    {"resources", &cw_type_items, "Settings of its resources", LISTS(exposed[CW_CONFIG_RESOURCES]),
     LIST(resource_keys)},
    {"templates", &cw_type_items, "Settings of its resource templates",
     LISTS(exposed[CW_CONFIG_TEMPLATES]), LIST(template_keys)},
    {"prompts", &cw_type_items, "Settings of its prompts", LISTS(exposed[CW_CONFIG_PROMPTS]),
     LIST(prompt_keys)},
    {0},
};
