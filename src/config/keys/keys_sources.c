/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys_sources.c - the table of services: where they are, how they speak, what they offer. */
#include "base/limits.h"
#include "config/keys/keys.h"
#include "config/syntax/names.h"

#define MAX_METHODS 10000u /* of one source, as source/openrpc/openrpc.h */
#define MAX_PARAMS 1000u
#define MAX_ARGUMENTS 256u
#define MAX_PAIRS 100u
#define MAX_PRELUDE 32u
#define MAX_NAMES 1000u
#define GB (1024u * 1024u * 1024u)
#define HOUR_MS (3600u * 1000u)
#define DAY_MS (24u * HOUR_MS)

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
    .title = NONE,
    .description = NONE,
    .annotations = NONE,
    .level = CW_CONFIG_AUTH_UNSET,
    .result = NONE,
    .output = NONE,
};

static const cw_config_init_call default_prelude = {.method = NONE, .params = NONE};

const cw_config_remote cw_config_default_remote = {
    .name = NONE,
    .preset = NONE,
    .url = NONE,
    .folder = NONE,
    .http_method = NONE,
    .call_path = NONE,
    .framing = NONE,
    .tls = {.ca_file = NONE, .certificate = NONE, .key = NONE, .server_name = NONE},
    .proxy = NONE,
    .dialect = NONE,
    .params = NONE,
    .ids = NONE,
    .empty_params = NONE,
    .correlate = NONE,
    .greeting = NONE,
    .handshake_header = NONE,
    .replies = NONE,
    .secret = {.as = NONE, .name = NONE, .prefix = NONE, .file = NONE, .environment = NONE},
    .oauth = {.token_url = NONE,
              .client_id = NONE,
              .client_secret_file = NONE,
              .client_secret_environment = NONE,
              .scope = NONE,
              .audience = NONE},
    .describe = NONE,
    .openrpc = NONE,
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

#define AT(struct_type, field)                                                                     \
    .offset = offsetof(struct_type, field), .size = sizeof(((struct_type *)0)->field)
#define REMOTE(field) AT(cw_config_remote, field)
#define OVERLAY(field) AT(cw_config_overlay, field)
#define PARAM(field) AT(cw_config_param, field)

#define LINE                                                                                       \
    .is_valid = cw_check_is_clean, .expected = CW_NAMES_LINE_EXPECTED,                             \
    .pattern = CW_NAMES_LINE_PATTERN
#define PROSE                                                                                      \
    .is_valid = cw_names_is_prose, .expected = CW_NAMES_PROSE_EXPECTED,                            \
    .pattern = CW_NAMES_PROSE_PATTERN
#define METHOD                                                                                     \
    .is_valid = cw_check_is_clean, .expected = "the name of a method such as \"user.get\"",        \
    .pattern = CW_NAMES_CLEAN_PATTERN
/* What the words are is known to src/source alone. */
#define WORD(example)                                                                              \
    .is_valid = cw_names_is_word, .expected = "a word such as \"" example "\"",                    \
    .pattern = CW_NAMES_WORD_PATTERN
#define VARIABLE                                                                                   \
    .is_valid = cw_names_is_variable, .expected = "the name of a variable such as \"API_TOKEN\"",  \
    .pattern = CW_NAMES_VARIABLE_PATTERN

static const cw_choice visibilities[] = {
    {"challenge", false},
    {"hide", true},
    {0},
};
static const cw_choice levels[] = {
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
    {"rename", &cw_type_text, "Its name here; null is the same", PARAM(rename), LINE},
    {"description", &cw_type_text, "What it is; null is what the service says", PARAM(description),
     PROSE},
    {"schema", &cw_type_mapping, "JSON Schema of it; null is the service's", PARAM(schema)},
    {"value", &cw_type_json, "Sent with every call, and not shown; null is none", PARAM(value)},
    {"default", &cw_type_json, "Sent where a caller leaves it out; null is none",
     PARAM(default_value)},
    {"hidden", &cw_type_bool, "Not shown; sent only with its value or default", PARAM(hidden)},
    {"required", &cw_type_bool, "Of one that the service does not describe: it must be given",
     PARAM(required)},
    {0},
};

static const cw_key overlay_keys[] = {
    {"method", &cw_type_text, "Its name in the service; * is any text, ? any character",
     OVERLAY(method), .is_required = true, METHOD},
    {"name", &cw_type_text, "Its name here; null is the prefix of the source and its name there",
     OVERLAY(name), LINE},
    {"tool", &cw_type_bool, "Show it as a tool", OVERLAY(tool)},
    {"rpc", &cw_type_bool, "Let it be called on /jsonrpc when it is no tool", OVERLAY(rpc)},
    {"title", &cw_type_text, "Title of the tool", OVERLAY(title), LINE},
    {"description", &cw_type_text, "Description of the tool; null is what the service says",
     OVERLAY(description), PROSE},
    {"annotations", &cw_type_object, "Annotations of the tool, \"auth\" among them",
     OVERLAY(annotations)},
    {"visibility", &cw_type_enum,
     "What callers without its scopes get: a challenge, or no sign of it (hide)",
     OVERLAY(hidden_unless_met), .choices = visibilities},
    {"permissions", &cw_type_strings, "What a caller needs to see and call it",
     OVERLAY(permissions), .max = MAX_NAMES, .is_valid = cw_check_is_clean,
     .expected = "a permission such as \"access content\"", .pattern = CW_NAMES_CLEAN_PATTERN},
    {"scopes", &cw_type_strings, "Scopes that a caller needs, beside those in annotations.auth",
     OVERLAY(scopes), .max = MAX_NAMES, .is_valid = cw_names_is_scope,
     .expected = CW_NAMES_SCOPE_EXPECTED, .pattern = CW_NAMES_SCOPE_PATTERN},
    {"level", &cw_type_option, "Whether a caller must have logged in; null: where it has scopes",
     OVERLAY(level), .choices = levels},
    {"params", &cw_type_mapped, "What to say about single params, by their names in the service",
     OVERLAY(params), .max = MAX_PARAMS, .children = param_keys,
     .item_size = sizeof(cw_config_param), .item_defaults = &default_param,
     .is_valid = cw_check_is_clean, .expected = "the name of a parameter such as \"id\"",
     .pattern = CW_NAMES_CLEAN_PATTERN},
    {"result", &cw_type_text, "JSON pointer to the part of its results that counts; null is all",
     OVERLAY(result), .is_valid = cw_names_is_pointer,
     .expected = "a JSON pointer such as \"/items\"", .pattern = CW_NAMES_POINTER_PATTERN},
    {"result_size", &cw_type_size, "Larger results are given in parts; 0 is no limit",
     OVERLAY(result_size), .min = 0, .max = GB},
    {"timeout", &cw_type_duration, "For a call to end; 0 is the source's", OVERLAY(timeout_ms),
     .min = 0, .max = DAY_MS},
    {"read_only", &cw_type_bool, "It changes nothing: calls may be repeated, merged and kept",
     OVERLAY(read_only)},
    {"cache", &cw_type_duration, "How long its results are kept; 0 is not at all",
     OVERLAY(cache_ms), .min = 0, .max = DAY_MS},
    {"output", &cw_type_mapping, "JSON Schema of its results; null is the service's",
     OVERLAY(output)},
    {0},
};

static const cw_key prelude_keys[] = {
    {"method", &cw_type_text, "What is called", AT(cw_config_init_call, method),
     .is_required = true, METHOD},
    {"params", &cw_type_json, "Its params; null is none", AT(cw_config_init_call, params)},
    {"notify", &cw_type_bool, "It is a notification: no answer comes",
     AT(cw_config_init_call, notify)},
    {0},
};

static const cw_key variable_value = {.type = &cw_type_scalar, PROSE};
static const cw_key header_value = {.type = &cw_type_scalar, LINE};

/* Sections in an item: their offsets count from the item. */
#define PART(keys) &cw_type_section, .children = (keys), .item_defaults = &cw_config_default_remote

static const cw_key tls_keys[] = {
    {"ca_file", &cw_type_path, "PEM file with who may vouch for it; null: the system's",
     REMOTE(tls.ca_file)},
    {"certificate", &cw_type_path, "PEM file with our certificate, where it asks for one",
     REMOTE(tls.certificate)},
    {"key", &cw_type_path, "PEM file with its private key", REMOTE(tls.key)},
    {"server_name", &cw_type_text, "Name in its certificate; null is the host of the URL",
     REMOTE(tls.server_name), LINE},
    {0},
};

static const cw_key handshake_keys[] = {
    {"status", &cw_type_integer, "HTTP status of an answer with a header to repeat; 0 is none",
     REMOTE(handshake_status), .min = 0, .max = 599},
    {"header", &cw_type_text, "Name of that header", REMOTE(handshake_header),
     .is_valid = cw_names_is_header, .expected = "the name of a header such as \"X-Session-Id\"",
     .pattern = CW_NAMES_HEADER_PATTERN},
    {0},
};

static const cw_key secret_keys[] = {
    {"as", &cw_type_scalar, "Where it goes: bearer, basic, header, first or member",
     REMOTE(secret.as), WORD("bearer")},
    {"name", &cw_type_text, "Name of the header, or of the member of params", REMOTE(secret.name),
     LINE},
    {"prefix", &cw_type_text, "Put before the secret, such as \"token:\"", REMOTE(secret.prefix),
     LINE},
    {"file", &cw_type_path, "File with the secret", REMOTE(secret.file)},
    {"environment", &cw_type_text, "Variable of the environment with the secret",
     REMOTE(secret.environment), VARIABLE},
    {0},
};

static const cw_key oauth_keys[] = {
    {"token_url", &cw_type_text, "Where tokens are asked for with client credentials; null: none",
     REMOTE(oauth.token_url), .is_valid = cw_names_is_issuer,
     .expected = "a URL such as \"https://login.example.org/token\"",
     .pattern = CW_NAMES_ISSUER_PATTERN},
    {"client_id", &cw_type_text, "Who we are there", REMOTE(oauth.client_id), LINE},
    {"client_secret_file", &cw_type_path, "File with our password there",
     REMOTE(oauth.client_secret_file)},
    {"client_secret_environment", &cw_type_text,
     "Variable of the environment with our password there", REMOTE(oauth.client_secret_environment),
     VARIABLE},
    {"scope", &cw_type_text, "Scopes to ask for, with spaces between them", REMOTE(oauth.scope),
     LINE},
    {"audience", &cw_type_text, "Whom the token is for", REMOTE(oauth.audience), LINE},
    {0},
};

#define METHODS                                                                                    \
    .min = 0, .max = MAX_METHODS, .children = overlay_keys,                                        \
    .item_size = sizeof(cw_config_overlay), .item_defaults = &default_overlay,                     \
    .shorthand = &overlay_keys[0]

const cw_key cw_sources_keys[] = {
    {"name", &cw_type_text, "Its name here", REMOTE(name), .is_required = true,
     .is_valid = cw_names_is_source, .expected = "a name of a-z, 0-9, '_' and '-'",
     .pattern = CW_NAMES_SOURCE_PATTERN},
    {"preset", &cw_type_scalar, "A kind of service that is known, such as aria2; null is none",
     REMOTE(preset), WORD("aria2")},
    {"url", &cw_type_url,
     "Where it is: http(s)://, unix:SOCKET:/PATH, unix:SOCKET, tcp:// or ws(s)://", REMOTE(url)},
    {"command", &cw_type_strings, "In place of url: a program that speaks on stdin and stdout",
     REMOTE(command), .max = MAX_ARGUMENTS, .is_valid = cw_names_is_prose,
     .expected = CW_NAMES_PROSE_EXPECTED, .pattern = CW_NAMES_PROSE_PATTERN},
    {"environment", &cw_type_pairs, "Variables of the program, beside PATH, HOME, LANG and TMPDIR",
     REMOTE(environment), .max = MAX_PAIRS, .children = &variable_value, VARIABLE},
    {"folder", &cw_type_path, "Folder that the program works in; null is ours", REMOTE(folder)},
    {"http_method", &cw_type_scalar,
     "POST, GET, or AUTO: GET for what is read only; null is the preset's, or POST",
     REMOTE(http_method), WORD("POST")},
    {"call_path", &cw_type_text,
     "Path of calls, with {method} in it; null: all go to that of the url", REMOTE(call_path),
     .is_valid = cw_names_is_call_path, .expected = "a path such as \"/mcp/tools/{method}\"",
     .pattern = CW_NAMES_CALL_PATH_PATTERN},
    {"headers", &cw_type_pairs,
     "Header fields of every HTTP request, or of a WebSocket's handshake", REMOTE(headers),
     .max = MAX_PAIRS, .children = &header_value, .is_valid = cw_names_is_header,
     .expected = "the name of a header such as \"X-Tenant\"", .pattern = CW_NAMES_HEADER_PATTERN},
    {"framing", &cw_type_scalar, "How messages of a stream are told apart; null is the preset's",
     REMOTE(framing), WORD("lines")},
    {"tls", PART(tls_keys), .help = "For https and wss"},
    {"proxy", &cw_type_text, "Proxy for http and https; null is none", REMOTE(proxy),
     .is_valid = cw_names_is_proxy, .expected = "a proxy such as \"http://proxy.example:3128\"",
     .pattern = CW_NAMES_PROXY_PATTERN},
    {"dialect", &cw_type_scalar, "The kind of JSON-RPC it speaks; null is the preset's, or 2.0",
     REMOTE(dialect), WORD("2.0")},
    {"params", &cw_type_scalar, "named, positional or mixed; null is the preset's, or named",
     REMOTE(params), WORD("named")},
    {"ids", &cw_type_scalar, "number or string; null is the preset's, or number", REMOTE(ids),
     WORD("number")},
    {"empty_params", &cw_type_scalar, "omit or send; null is the preset's, or omit",
     REMOTE(empty_params), WORD("omit")},
    {"correlate", &cw_type_scalar,
     "How an answer is found: by its id or its exchange; null is the preset's, or id",
     REMOTE(correlate), WORD("id")},
    {"prelude", &cw_type_items, "Calls that are made before any other; [] are the preset's",
     REMOTE(init_calls), .min = 0, .max = MAX_PRELUDE, .children = prelude_keys,
     .item_size = sizeof(cw_config_init_call), .item_defaults = &default_prelude,
     .shorthand = &prelude_keys[0]},
    {"greeting", &cw_type_yes, "Whether it speaks first; null is the preset's, or no",
     REMOTE(greeting)},
    {"handshake", PART(handshake_keys), .help = "A header that its first answer gives us"},
    {"replies", &cw_type_mapping, "What it gets when it calls us, by method; null is the preset's",
     REMOTE(replies)},
    {"announcements", &cw_type_strings, "Its notifications that say that its methods have changed",
     REMOTE(announcements), .max = MAX_NAMES, METHOD},
    {"secret", PART(secret_keys), .help = "What we show it to be let in"},
    {"oauth", PART(oauth_keys), .help = "Where we get tokens for it"},
    {"describe", &cw_type_scalar, "How it is asked what it offers; null is the preset's, or auto",
     REMOTE(describe), WORD("openrpc")},
    {"openrpc", &cw_type_path,
     "File with its description, OpenRPC or a manifest; null asks the service", REMOTE(openrpc)},
    {"overlay", &cw_type_path, "File with more methods, as causeway import writes it",
     REMOTE(overlay)},
    {"prefix", &cw_type_text, "Put before the names of its methods here", REMOTE(prefix), LINE},
    {"methods", &cw_type_items, "Its methods that can be used; no others can", REMOTE(methods),
     METHODS},
    {"refresh", &cw_type_duration, "How often it is asked again; 0 is never", REMOTE(refresh_ms),
     .min = 0, .max = 30 * (uint64_t)DAY_MS},
    {"on_change", &cw_type_enum,
     "A tool that is not as the lock file says: withhold it, or only warn", REMOTE(warns_only),
     .choices = changes},
    {"timeout", &cw_type_duration, "For a call to end", REMOTE(timeout_ms), .min = 1,
     .max = DAY_MS},
    {"connect_timeout", &cw_type_duration, "For a connection to be made", REMOTE(connect_ms),
     .min = 1, .max = HOUR_MS},
    {"first_byte_timeout", &cw_type_duration,
     "For an answer to begin; 0 is as long as the call may take", REMOTE(first_byte_ms), .min = 0,
     .max = DAY_MS},
    {"connections", &cw_type_integer, "Open connections to it, for each event loop",
     REMOTE(connections), .min = 1, .max = 10000},
    {"queue", &cw_type_integer, "Calls that wait for a connection, for each event loop",
     REMOTE(queue), .min = 0, .max = 1000000},
    {"retries", &cw_type_integer, "How often a call that is safe to repeat is tried again",
     REMOTE(retries), .min = 0, .max = 10},
    {0},
};

/* The struct that these fill is a cw_config_overlays. */
const cw_key cw_overlay_file_keys[] = {
    {"methods", &cw_type_items, "What to say about methods of the service", METHODS},
    {0},
};
