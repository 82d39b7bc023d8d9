/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /jsonrpc and /mcp through the real HTTP server, over a source in this process. */
#include <signal.h>
#include <unistd.h>

#include "support/door_fixture.h"
#include "support/test.h"

static door_fixture d;

#define JSON "Content-Type: application/json\r\n"
#define BOTH JSON "Accept: application/json, text/event-stream\r\n"
#define V(version) "MCP-Protocol-Version: " version "\r\n"
#define MODERN BOTH V("2026-07-28")
#define CALL(name) MODERN "Mcp-Method: tools/call\r\nMcp-Name: " name "\r\n"
#define META "io.modelcontextprotocol/"
#define VERSION(v) "\"" META "protocolVersion\":\"" v "\""
#define M "\"_meta\":{" VERSION("2026-07-28") ",\"" META "clientCapabilities\":{}}"
#define RPC "{\"jsonrpc\":\"2.0\","
#define STAMP                                                                                      \
    "\"resultType\":\"complete\",\"_meta\":{\"" META                                               \
    "serverInfo\":{\"name\":\"Causeway\",\"version\":\"" CW_VERSION "\"}}"
#define TEXT(t) "\"content\":[{\"type\":\"text\",\"text\":" t "}]"

typedef struct row {
    const char *name;
    const char *path;
    const char *headers;
    const char *body;
    int status;
    const char *expected; /* "~…": contained in the body; "": empty; NULL: any */
    const char *head;     /* contained in the head, or NULL */
} row;

#define RPC_ERROR(code, message, data, id)                                                         \
    RPC "\"error\":{\"code\":" code ",\"message\":\"" message "\"" data "},\"id\":" id "}"
#define MCP_ERROR(code, id) "~\"error\":{\"code\":" code

static const row jsonrpc_rows[] = {
    {"a call by name", "/jsonrpc", JSON, RPC "\"method\":\"echo\",\"params\":{\"x\":1},\"id\":7}",
     200, RPC "\"result\":{\"x\":1},\"id\":7}", "Cache-Control: no-store"},
    {"a call by position", "/jsonrpc", JSON, RPC "\"method\":\"echo\",\"params\":[1],\"id\":\"a\"}",
     200, RPC "\"result\":{\"x\":1},\"id\":\"a\"}", NULL},
    {"a fractional id", "/jsonrpc", JSON, RPC "\"method\":\"number\",\"id\":1.50}", 200,
     RPC "\"result\":42,\"id\":1.50}", NULL},
    {"a null id is a request", "/jsonrpc", JSON, RPC "\"method\":\"number\",\"id\":null}", 200,
     RPC "\"result\":42,\"id\":null}", NULL},
    {"an unmarked callable method", "/jsonrpc", JSON, RPC "\"method\":\"plain\",\"id\":1}", 200,
     RPC "\"result\":{},\"id\":1}", NULL},
    {"a notification", "/jsonrpc", JSON, RPC "\"method\":\"number\"}", 204, "", NULL},
    {"a notification of an unknown method", "/jsonrpc", JSON, RPC "\"method\":\"nope\"}", 204, "",
     NULL},
    {"an error of the method", "/jsonrpc", JSON, RPC "\"method\":\"fail\",\"id\":1}", 200,
     RPC_ERROR("-32602", "Invalid params", ",\"data\":\"x is\\n wrong\"", "1"), NULL},
    {"a failure", "/jsonrpc", JSON, RPC "\"method\":\"broken\",\"id\":1}", 500,
     RPC_ERROR("-32603", "Internal error", ",\"data\":\"The plugin ended.\"", "1"), NULL},
    {"a source that is not there", "/jsonrpc", JSON, RPC "\"method\":\"refuse\",\"id\":1}", 500,
     RPC_ERROR("-32603", "Internal error", ",\"data\":\"Nobody is there.\"", "1"), NULL},
    {"an unknown method", "/jsonrpc", JSON, RPC "\"method\":\"nope\",\"id\":1}", 400,
     RPC_ERROR("-32601", "Method not found", "", "1"), NULL},
    {"a hidden method", "/jsonrpc", JSON, RPC "\"method\":\"hidden\",\"id\":1}", 400,
     RPC_ERROR("-32601", "Method not found", "", "1"), NULL},
    {"a method that is not callable", "/jsonrpc", JSON, RPC "\"method\":\"secret\",\"id\":1}", 400,
     RPC_ERROR("-32601", "Method not found", "", "1"), NULL},
    {"a reserved name", "/jsonrpc", JSON, RPC "\"method\":\"rpc.discover\",\"id\":1}", 400,
     RPC_ERROR("-32601", "Method not found", "", "1"), NULL},
    {"a missing parameter", "/jsonrpc", JSON, RPC "\"method\":\"strict\",\"id\":1}", 400,
     RPC_ERROR("-32602", "Invalid params", ",\"data\":\"Missing required parameter: a\"", "1"),
     NULL},
    {"too many parameters", "/jsonrpc", JSON,
     RPC "\"method\":\"strict\",\"params\":[1,2,3],\"id\":1}", 400,
     RPC_ERROR("-32602", "Invalid params",
               ",\"data\":\"Too many parameters: 3 given, at most 2 taken\"", "1"),
     NULL},
    {"a default", "/jsonrpc", JSON, RPC "\"method\":\"strict\",\"params\":{\"a\":1},\"id\":1}", 200,
     RPC "\"result\":{\"a\":1,\"b\":5},\"id\":1}", NULL},
    {"a guarded method", "/jsonrpc", JSON, RPC "\"method\":\"guarded\",\"id\":1}", 401,
     RPC_ERROR("-32000", "Authentication required",
               ",\"data\":{\"required_scopes\":[\"a:read\",\"b:write\"],"
               "\"missing_scopes\":[\"a:read\",\"b:write\"]}",
               "1"),
     "WWW-Authenticate: Bearer realm=\"MCP Tools\", scope=\"a:read b:write\"\r\n"},
    {"no JSON", "/jsonrpc", JSON, "{\"jsonrpc\"", 400,
     "~\"code\":-32700,\"message\":\"Parse error\"", NULL},
    {"an empty body", "/jsonrpc", JSON, "", 400, "~\"code\":-32700", NULL},
    {"a duplicate key", "/jsonrpc", JSON, RPC "\"method\":\"a\",\"method\":\"b\",\"id\":1}", 400,
     "~-32700", NULL},
    {"bad UTF-8", "/jsonrpc", JSON, RPC "\"method\":\"\xFF\",\"id\":1}", 400, "~-32700", NULL},
    {"no version", "/jsonrpc", JSON, "{\"method\":\"echo\",\"id\":1}", 400,
     RPC_ERROR("-32600", "Invalid Request", ",\"data\":\"jsonrpc must be \\\"2.0\\\"\"", "1"),
     NULL},
    {"a version that is a number", "/jsonrpc", JSON,
     "{\"jsonrpc\":2.0,\"method\":\"echo\",\"id\":1}", 400, "~-32600", NULL},
    {"a method that is a number", "/jsonrpc", JSON, RPC "\"method\":1,\"id\":\"z\"}", 400,
     "~\"id\":\"z\"}", NULL},
    {"an id that is an object", "/jsonrpc", JSON, RPC "\"method\":\"echo\",\"id\":{}}", 400,
     RPC_ERROR("-32600", "Invalid Request", ",\"data\":\"id must be a string, a number or null\"",
               "null"),
     NULL},
    {"params that are a string", "/jsonrpc", JSON,
     RPC "\"method\":\"echo\",\"params\":\"x\",\"id\":1}", 400, "~-32600", NULL},
    {"params that are null", "/jsonrpc", JSON, RPC "\"method\":\"echo\",\"params\":null,\"id\":1}",
     400, "~-32600", NULL},
    {"a body that is a number", "/jsonrpc", JSON, "1", 400, "~-32600", NULL},
    {"another media type", "/jsonrpc", "Content-Type: text/plain\r\n",
     RPC "\"method\":\"number\",\"id\":1}", 415, "~-32600", NULL},
    {"no media type", "/jsonrpc", "", RPC "\"method\":\"number\",\"id\":1}", 415, "~-32600", NULL},
    {"a media type with parameters", "/jsonrpc",
     "Content-Type: Application/JSON ; charset=utf-8\r\n", RPC "\"method\":\"number\",\"id\":1}",
     200, NULL, NULL},
    {"credentials", "/jsonrpc", JSON "Authorization: Bearer x\r\n", "{", 401,
     RPC_ERROR("-32000", "Invalid credentials", "", "null"), "error=\"invalid_token\""},
    /* batches */
    {"a batch in order", "/jsonrpc", JSON,
     "[" RPC "\"method\":\"number\",\"id\":1}," RPC "\"method\":\"number\"}," RPC
     "\"method\":\"nope\",\"id\":2},3," RPC "\"method\":\"text\",\"id\":3}]",
     200,
     "[" RPC
     "\"result\":42,\"id\":1}," RPC_ERROR("-32601", "Method not found", "", "2") "," RPC_ERROR(
         "-32600", "Invalid Request", ",\"data\":\"A request must be an object\"",
         "null") "," RPC "\"result\":\"hel\\\"lo\",\"id\":3}]",
     NULL},
    {"a batch of notifications", "/jsonrpc", JSON, "[" RPC "\"method\":\"number\"}]", 204, "",
     NULL},
    {"an empty batch", "/jsonrpc", JSON, "[]", 400, "~\"code\":-32600,", NULL},
    {"a batch that is too long", "/jsonrpc", JSON, "[1,1,1,1,1,1]", 400,
     RPC_ERROR("-32600", "Invalid Request", ",\"data\":\"A batch has 1 to 5 requests\"", "null"),
     NULL},
    {"the longest batch", "/jsonrpc", JSON, "[1,1,1,1,1]", 200, NULL, NULL},
    {"a refusal in a batch", "/jsonrpc", JSON, "[" RPC "\"method\":\"guarded\",\"id\":1}]", 200,
     "~-32000", NULL},
};

/* What the fake source makes possible. */
#define ABILITIES                                                                                  \
    "{\"tools\":{\"listChanged\":true},\"logging\":{},\"prompts\":{\"listChanged\":true},"         \
    "\"resources\":{\"listChanged\":true,\"subscribe\":true},\"completions\":{}}"
#define INSTRUCTIONS                                                                               \
    "\"instructions\":\"12 tools, by source:\\n- fake: 12 tools, such as broken, echo, fail\""

static const row modern_rows[] = {
    {"M1 server/discover", "/mcp", MODERN "Mcp-Method: server/discover\r\n",
     RPC "\"id\":1,\"method\":\"server/discover\",\"params\":{" M "}}", 200,
     RPC "\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":" ABILITIES
         "," INSTRUCTIONS ",\"ttlMs\":60000,\"cacheScope\":\"public\"," STAMP "},\"id\":1}",
     "Content-Type: application/json\r\n"},
    {"M2 tools/call without arguments", "/mcp", CALL("text"),
     RPC "\"id\":\"two\",\"method\":\"tools/call\",\"params\":{\"name\":\"text\"," M "}}", 200,
     RPC "\"result\":{" TEXT("\"hel\\\"lo\"") "," STAMP "},\"id\":\"two\"}",
     "Cache-Control: no-store"},
    {"a list", "/mcp", CALL("list"),
     RPC "\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"list\"," M "}}", 200,
     RPC "\"result\":{" TEXT("\"[1,\\\"two\\\"]\"") ",\"structuredContent\":[1, \"two\"]," STAMP
                                                    "},\"id\":2}",
     NULL},
    {"arguments", "/mcp", CALL("echo"),
     RPC "\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":"
         "{\"x\":[ 1 ]}," M "}}",
     200, "~\"structuredContent\":{\"x\":[ 1 ]}", NULL},
    {"an RPC error", "/mcp", CALL("fail"),
     RPC "\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"fail\"," M "}}", 200,
     RPC "\"result\":{" TEXT(
         "\"Invalid params (error -32602): x is\\n wrong\"") ",\"isError\":true," STAMP
                                                             "},\"id\":2}",
     NULL},
    {"a failure", "/mcp", CALL("broken"),
     RPC "\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"broken\"," M "}}", 200,
     RPC "\"result\":{" TEXT("\"The plugin ended.\"") ",\"isError\":true," STAMP "},\"id\":2}",
     NULL},
    {"a source that is not there", "/mcp", CALL("refuse"),
     RPC "\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"refuse\"," M "}}", 200,
     "~\"text\":\"Nobody is there.\"}],\"isError\":true", NULL},
    {"bad arguments", "/mcp", CALL("strict"),
     RPC "\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"strict\",\"arguments\":"
         "{\"aa\":1}," M "}}",
     200, "~\"text\":\"Unknown parameter: aa; did you mean a?\"}],\"isError\":true", NULL},
    {"M4 an unknown method", "/mcp", MODERN "Mcp-Method: nope\r\n",
     RPC "\"id\":4,\"method\":\"nope\",\"params\":{" M "}}", 404,
     RPC_ERROR("-32601", "Method not found: nope", "", "4"), NULL},
    {"initialize with a modern envelope", "/mcp", MODERN "Mcp-Method: initialize\r\n",
     RPC "\"id\":4,\"method\":\"initialize\",\"params\":{" M "}}", 404, "~-32601", NULL},
    {"ping", "/mcp", MODERN "Mcp-Method: ping\r\n",
     RPC "\"id\":4,\"method\":\"ping\",\"params\":{" M "}}", 404, "~-32601", NULL},
    {"M5 an unknown tool", "/mcp", CALL("nope"),
     RPC "\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"nope\"," M "}}", 200,
     RPC_ERROR("-32602", "Unknown tool: nope", "", "5"), NULL},
    {"a hidden tool", "/mcp", CALL("hidden"),
     RPC "\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"hidden\"," M "}}", 200,
     RPC_ERROR("-32602", "Unknown tool: hidden", "", "5"), NULL},
    {"an unmarked method", "/mcp", CALL("plain"),
     RPC "\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"plain\"," M "}}", 200,
     RPC_ERROR("-32602", "Unknown tool: plain", "", "5"), NULL},
    {"no name", "/mcp", MODERN "Mcp-Method: tools/call\r\n",
     RPC "\"id\":5,\"method\":\"tools/call\",\"params\":{" M "}}", 200, "~\"code\":-32602,", NULL},
    {"no name to repeat in Mcp-Name", "/mcp", CALL("x"),
     RPC "\"id\":5,\"method\":\"tools/call\",\"params\":{" M "}}", 400, "~\"code\":-32020,", NULL},
    {"arguments that are a list", "/mcp", CALL("text"),
     RPC "\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"text\",\"arguments\":[]," M
         "}}",
     200, "~\"code\":-32602,", NULL},
    {"a guarded tool where no login exists", "/mcp", CALL("guarded"),
     RPC "\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"guarded\"," M "}}", 200,
     "~this server has no logins", NULL},
    {"M6 Mcp-Name differs", "/mcp", CALL("other"),
     RPC "\"id\":6,\"method\":\"tools/call\",\"params\":{\"name\":\"text\"," M "}}", 400,
     "~\"data\":{\"mismatch\":{\"header\":\"other\",\"body\":\"text\"}}},\"id\":6}", NULL},
    {"Mcp-Name is missing", "/mcp", MODERN "Mcp-Method: tools/call\r\n",
     RPC "\"id\":6,\"method\":\"tools/call\",\"params\":{\"name\":\"text\"," M "}}", 400, "~-32020",
     NULL},
    {"Mcp-Name in base64", "/mcp", CALL("=?base64?dGV4dA==?="),
     RPC "\"id\":6,\"method\":\"tools/call\",\"params\":{\"name\":\"text\"," M "}}", 200, "~hel",
     NULL},
    {"Mcp-Name in base64 without padding", "/mcp", CALL("=?base64?dGV4dA?="),
     RPC "\"id\":6,\"method\":\"tools/call\",\"params\":{\"name\":\"text\"," M "}}", 400, "~-32020",
     NULL},
    {"Mcp-Name in base64 with another alphabet", "/mcp", CALL("=?base64?dGV-dA==?="),
     RPC "\"id\":6,\"method\":\"tools/call\",\"params\":{\"name\":\"text\"," M "}}", 400, "~-32020",
     NULL},
    {"Mcp-Name in base64 with stray bits", "/mcp", CALL("=?base64?dGV4dB==?="),
     RPC "\"id\":6,\"method\":\"tools/call\",\"params\":{\"name\":\"text\"," M "}}", 400, "~-32020",
     NULL},
    {"Mcp-Name with an upper-case marker is literal", "/mcp", CALL("=?BASE64?dGV4dA==?="),
     RPC "\"id\":6,\"method\":\"tools/call\",\"params\":{\"name\":\"text\"," M "}}", 400, "~-32020",
     NULL},
    {"Mcp-Name with white space and another case", "/mcp",
     MODERN "MCP-METHOD:   tools/call  \r\nmcp-name:\ttext \r\n",
     RPC "\"id\":6,\"method\":\"tools/call\",\"params\":{\"name\":\"text\"," M "}}", 200, "~hel",
     NULL},
    {"Mcp-Method is missing", "/mcp", MODERN,
     RPC "\"id\":6,\"method\":\"tools/list\",\"params\":{" M "}}", 400, "~-32020", NULL},
    {"Mcp-Method in another case", "/mcp", MODERN "Mcp-Method: Tools/List\r\n",
     RPC "\"id\":6,\"method\":\"tools/list\",\"params\":{" M "}}", 400, "~-32020", NULL},
    {"M7 no version header", "/mcp", BOTH "Mcp-Method: server/discover\r\n",
     RPC "\"id\":7,\"method\":\"server/discover\",\"params\":{" M "}}", 400, "~-32020", NULL},
    {"the version header differs", "/mcp", BOTH V("2025-11-25") "Mcp-Method: server/discover\r\n",
     RPC "\"id\":7,\"method\":\"server/discover\",\"params\":{" M "}}", 400, "~-32020", NULL},
    {"a mismatch comes before an unsupported version", "/mcp",
     MODERN "Mcp-Method: server/discover\r\n",
     RPC "\"id\":7,\"method\":\"server/discover\",\"params\":{\"_meta\":{" VERSION(
         "v999") ",\"" META "clientCapabilities\":{}}}}",
     400, "~-32020", NULL},
    {"M8 an unsupported version", "/mcp", BOTH V("2099-01-01") "Mcp-Method: server/discover\r\n",
     RPC "\"id\":8,\"method\":\"server/discover\",\"params\":{\"_meta\":{" VERSION(
         "2099-01-01") ",\"" META "clientCapabilities\":{}}}}",
     400,
     RPC_ERROR("-32022", "Unsupported protocol version",
               ",\"data\":{\"supported\":[\"2026-07-28\"],\"requested\":\"2099-01-01\"}", "8"),
     NULL},
    {"M9 a modern header without _meta", "/mcp", MODERN "Mcp-Method: tools/list\r\n",
     RPC "\"id\":9,\"method\":\"tools/list\"}", 400, "~\"code\":-32602,", NULL},
    {"M9 names what is missing", "/mcp", MODERN "Mcp-Method: tools/list\r\n",
     RPC "\"id\":9,\"method\":\"tools/list\",\"params\":{}}", 400,
     "~\"data\":{\"envelope\":{\"missing\":[\"_meta\"]}}},\"id\":9}", NULL},
    {"no capabilities", "/mcp", MODERN "Mcp-Method: tools/list\r\n",
     RPC "\"id\":9,\"method\":\"tools/list\",\"params\":{\"_meta\":{" VERSION("2026-07-28") "}}}",
     400, "~\"missing\":[\"" META "clientCapabilities\"]", NULL},
    {"a version that is a number", "/mcp", MODERN "Mcp-Method: tools/list\r\n",
     RPC "\"id\":9,\"method\":\"tools/list\",\"params\":{\"_meta\":{\"" META
         "protocolVersion\":1}}}",
     400, "~\"code\":-32602,", NULL},
    {"M10 a legacy version in the envelope", "/mcp",
     BOTH V("2025-11-25") "Mcp-Method: server/discover\r\n",
     RPC "\"id\":10,\"method\":\"server/discover\",\"params\":{\"_meta\":{" VERSION(
         "2025-11-25") ",\"" META "clientCapabilities\":{}}}}",
     400, "~\"requested\":\"2025-11-25\"", NULL},
    {"M11 a notification", "/mcp", MODERN,
     RPC "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}", 202, "", NULL},
    {"M12 Accept: application/json only", "/mcp",
     JSON "Accept: application/json\r\n" V("2026-07-28") "Mcp-Method: server/discover\r\n",
     RPC "\"id\":1,\"method\":\"server/discover\",\"params\":{" M "}}", 200, "~supportedVersions",
     NULL},
    {"M14 an array", "/mcp", MODERN,
     "[" RPC "\"id\":1,\"method\":\"server/discover\",\"params\":{" M "}}]", 400,
     "~\"code\":-32600,", NULL},
    {"M14 an array without a header", "/mcp", BOTH,
     "[" RPC "\"id\":1,\"method\":\"server/discover\",\"params\":{" M "}}]", 400,
     "~\"code\":-32600,", NULL},
    {"M15 a stale session id", "/mcp",
     MODERN "Mcp-Method: server/discover\r\nMcp-Session-Id: x\r\n",
     RPC "\"id\":1,\"method\":\"server/discover\",\"params\":{" M "}}", 200, "~supportedVersions",
     NULL},
    {"tools/list", "/mcp", MODERN "Mcp-Method: tools/list\r\n",
     RPC "\"id\":1,\"method\":\"tools/list\",\"params\":{" M "}}", 200,
     "~],\"ttlMs\":60000,\"cacheScope\":\"public\"," STAMP "},\"id\":1}", NULL},
    {"a cursor", "/mcp", MODERN "Mcp-Method: tools/list\r\n",
     RPC "\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"\"," M "}}", 200,
     "~\"code\":-32602,", NULL},
    {"a bad progress token", "/mcp", CALL("text"),
     RPC "\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"text\",\"_meta\":{" VERSION(
         "2026-07-28") ",\"" META "clientCapabilities\":{},\"progressToken\":1.5}}}",
     200, "~\"code\":-32602,", NULL},
    {"a listen without what to listen to", "/mcp", MODERN "Mcp-Method: subscriptions/listen\r\n",
     RPC "\"id\":2,\"method\":\"subscriptions/listen\",\"params\":{" M "}}", 200,
     "~\"code\":-32602,", NULL},
    {"a listen without event streams", "/mcp",
     JSON V("2026-07-28") "Accept: application/json\r\nMcp-Method: subscriptions/listen\r\n",
     RPC "\"id\":2,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{}," M "}}",
     406, "~\"id\":2}", NULL},
    {"credentials", "/mcp", MODERN "Authorization: Basic x\r\n", "{", 401, "Invalid credentials.",
     "error=\"invalid_token\""},
};

static const row legacy_rows[] = {
    {"L1 initialize", "/mcp", BOTH,
     RPC "\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
         "\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
     200,
     RPC "\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":" ABILITIES
         ",\"serverInfo\":{\"name\":\"Causeway\",\"version\":\"" CW_VERSION "\"}," INSTRUCTIONS
         "},\"id\":1}",
     NULL},
    {"an older version", "/mcp", BOTH,
     RPC "\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2024-11-05\"}}", 200,
     "~\"protocolVersion\":\"2024-11-05\"", NULL},
    {"L16 an unknown version", "/mcp", BOTH,
     RPC "\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"1999-01-01\"}}", 200,
     "~\"protocolVersion\":\"2025-11-25\"", NULL},
    {"never the modern version", "/mcp", BOTH,
     RPC "\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2026-07-28\"}}", 200,
     "~\"protocolVersion\":\"2025-11-25\"", NULL},
    {"initialize with a modern header", "/mcp", MODERN,
     RPC "\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}", 400,
     "~-32020", NULL},
    {"initialize without a version", "/mcp", BOTH, RPC "\"id\":1,\"method\":\"initialize\"}", 200,
     "~-32602", NULL},
    {"L2 notifications/initialized", "/mcp", BOTH V("2025-11-25"),
     RPC "\"method\":\"notifications/initialized\"}", 202, "", NULL},
    {"L3 ping", "/mcp", BOTH, RPC "\"id\":2,\"method\":\"ping\"}", 200,
     RPC "\"result\":{},\"id\":2}", NULL},
    {"L4 an unknown tool", "/mcp", BOTH V("2025-06-18"),
     RPC "\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"nope\"}}", 200,
     RPC_ERROR("-32602", "Unknown tool: nope", "", "3"), NULL},
    {"L5 an unknown method", "/mcp", BOTH, RPC "\"id\":4,\"method\":\"nope\"}", 200,
     RPC_ERROR("-32601", "Method not found: nope", "", "4"), NULL},
    {"logging/setLevel", "/mcp", BOTH,
     RPC "\"id\":4,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"info\"}}", 200,
     RPC "\"result\":{},\"id\":4}", NULL},
    {"a level that is none", "/mcp", BOTH,
     RPC "\"id\":4,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"loud\"}}", 200,
     "~-32602", NULL},
    {"a notification with an unknown version header", "/mcp", BOTH V("1999-01-01"),
     RPC "\"method\":\"notifications/initialized\"}", 400, "~unsupported protocol version", NULL},
    {"a session that nobody has", "/mcp", BOTH "Mcp-Session-Id: x\r\n",
     RPC "\"id\":4,\"method\":\"ping\"}", 404, "~\"code\":-32001", NULL},
    {"a notification in it", "/mcp", BOTH "Mcp-Session-Id: x\r\n",
     RPC "\"method\":\"notifications/initialized\"}", 404, "Session not found.", NULL},
    {"a batch in it", "/mcp", BOTH "Mcp-Session-Id: x\r\n",
     "[" RPC "\"id\":4,\"method\":\"ping\"}]", 404, "Session not found.", NULL},
    {"a batch of answers and notifications", "/mcp", BOTH,
     "[" RPC "\"method\":\"notifications/initialized\"}," RPC "\"id\":\"causeway-0-0\","
     "\"result\":{}}]",
     202, "", NULL},
    {"L6 Accept: application/json only", "/mcp", JSON "Accept: application/json\r\n",
     RPC "\"id\":2,\"method\":\"ping\"}", 200, RPC "\"result\":{},\"id\":2}", NULL},
    {"L7 another media type", "/mcp", "Content-Type: text/plain\r\n",
     RPC "\"id\":2,\"method\":\"ping\"}", 415, "~\"code\":-32000,", NULL},
    {"L8 broken JSON", "/mcp", BOTH, "{", 400, "~\"error\":{\"code\":-32700,", NULL},
    {"L9 an unknown version header", "/mcp", BOTH V("1999-01-01"),
     RPC "\"id\":2,\"method\":\"ping\"}", 400, "~2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05",
     NULL},
    {"a newer version header without envelope", "/mcp", BOTH V("2099-01-01"),
     RPC "\"id\":2,\"method\":\"ping\"}", 400, "~\"code\":-32602,", NULL},
    {"L13 a batch", "/mcp", BOTH,
     "[" RPC "\"id\":9,\"method\":\"ping\"}," RPC
     "\"id\":10,\"method\":\"tools/call\",\"params\":{\"name\":\"number\"}}," RPC
     "\"method\":\"notifications/x\"}]",
     200,
     "[" RPC "\"result\":{},\"id\":9}," RPC
     "\"result\":{" TEXT("\"42\"") ",\"structuredContent\":{\"result\":42}},\"id\":10}]",
     NULL},
    {"a batch of the version that has them", "/mcp", BOTH V("2025-03-26"),
     "[" RPC "\"id\":9,\"method\":\"ping\"}]", 200, "[" RPC "\"result\":{},\"id\":9}]", NULL},
    {"a batch of a later version", "/mcp", BOTH V("2025-06-18"),
     "[" RPC "\"id\":9,\"method\":\"ping\"}]", 400, "~\"code\":-32600,", NULL},
    {"initialize in a batch", "/mcp", BOTH,
     "[" RPC "\"id\":9,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-03-26\"}}]",
     200, "~-32600", NULL},
    {"a batch of notifications", "/mcp", BOTH, "[" RPC "\"method\":\"notifications/x\"}]", 202, "",
     NULL},
    {"an empty batch", "/mcp", BOTH, "[]", 400, "~-32600", NULL},
    {"a batch that is too long", "/mcp", BOTH, "[1,1,1,1,1,1]", 400, "~-32600", NULL},
    {"L14 no JSON-RPC", "/mcp", BOTH, "{\"a\":1}", 400, "~\"error\":{\"code\":-32600,", NULL},
    {"a null id", "/mcp", BOTH, RPC "\"id\":null,\"method\":\"ping\"}", 400,
     RPC "\"error\":{\"code\":-32600,\"message\":\"Invalid Request: id must be a string or an "
         "integer\",\"data\":\"id must be a string or an integer\"}}",
     NULL},
    {"a fractional id", "/mcp", BOTH, RPC "\"id\":1.5,\"method\":\"ping\"}", 400, "~-32600", NULL},
    {"params that are a list", "/mcp", BOTH, RPC "\"id\":1,\"method\":\"ping\",\"params\":[]}", 400,
     "~-32600", NULL},
    {"a posted response", "/mcp", BOTH, RPC "\"id\":1,\"result\":{}}", 202, "", NULL},
    {"a result that is no object", "/mcp", BOTH,
     RPC "\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"list\"}}", 200,
     RPC "\"result\":{" TEXT(
         "\"[1,\\\"two\\\"]\"") ",\"structuredContent\":{\"result\":[1, \"two\"]}},\"id\":2}",
     NULL},
    {"a result that is an object", "/mcp", BOTH V("2025-11-25"),
     RPC "\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"x\":1},"
         "\"_meta\":{\"progressToken\":1}}}",
     200,
     RPC "\"result\":{" TEXT("\"{\\\"x\\\":1}\"") ",\"structuredContent\":{\"x\":1}},\"id\":2}",
     NULL},
    {"tools/list", "/mcp", BOTH, RPC "\"id\":2,\"method\":\"tools/list\"}", 200, "~]},\"id\":2}",
     NULL},
};

static void check(const row *r)
{
    http_response got;
    door_fixture_post(&d, r->path, r->headers, r->body, &got);
    bool fits = got.status == r->status;
    if (fits && r->expected && r->expected[0] == '~')
        fits = got.body && strstr(got.body, r->expected + 1);
    else if (fits && r->expected)
        fits = got.body && strcmp(got.body, r->expected) == 0;
    if (fits && r->head)
        fits = strstr(got.head, r->head) != NULL;
    /* What comes from a door is never kept by a cache. */
    fits = fits && strstr(got.head, "Cache-Control: no-store");
    if (!fits)
        fail_msg("%s: %s\nexpected %d %s\n%s%s", r->name, r->body, r->status, r->expected, got.head,
                 got.body ? got.body : "");
}

TEST(jsonrpc_answers_as_specified)
{
    for (size_t i = 0; i < CW_COUNT(jsonrpc_rows); i++)
        check(&jsonrpc_rows[i]);
}

TEST(modern_requests_are_answered_as_specified)
{
    for (size_t i = 0; i < CW_COUNT(modern_rows); i++)
        check(&modern_rows[i]);
}

TEST(legacy_requests_are_answered_as_specified)
{
    for (size_t i = 0; i < CW_COUNT(legacy_rows); i++)
        check(&legacy_rows[i]);
}

TEST(only_visible_tools_are_listed)
{
    http_response got;
    door_fixture_post(&d, "/mcp", BOTH, RPC "\"id\":2,\"method\":\"tools/list\"}", &got);
    assert_int_equal(got.status, 200);
    assert_non_null(strstr(got.body, "\"name\":\"echo\""));
    /* It needs a login, and this server has none. */
    assert_null(strstr(got.body, "\"name\":\"guarded\""));
    assert_null(strstr(got.body, "\"name\":\"hidden\""));
    assert_null(strstr(got.body, "\"name\":\"plain\""));
    assert_null(strstr(got.body, "\"name\":\"secret\""));
}

TEST(get_and_delete_need_a_session)
{
    static const char *const requests[] = {
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    };
    for (size_t i = 0; i < CW_COUNT(requests); i++) {
        http_response got;
        int fd = door_fixture_connect(&d);
        assert_int_equal(send(fd, requests[i], strlen(requests[i]), 0), strlen(requests[i]));
        door_fixture_read(fd, &got);
        assert_int_equal(got.status, i == 0 ? 405 : 400);
        assert_non_null(strstr(got.body, i == 0 ? "needs a session" : "Mcp-Session-Id"));
    }
}

/* ---- progress ---- */

#define WITH_TOKEN(name, token)                                                                    \
    RPC "\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"" name                          \
        "\",\"_meta\":{" VERSION("2026-07-28") ",\"" META                                          \
                                               "clientCapabilities\":{},\"progressToken\":" token  \
                                               "}}}"
#define PROGRESS(token, n)                                                                         \
    "event: message\ndata: " RPC "\"method\":\"notifications/progress\",\"params\":"               \
    "{\"progressToken\":" token ",\"progress\":" n ",\"total\":3,\"message\":\"st\\nep\"}}\n\n"

TEST(progress_turns_the_answer_into_a_stream)
{
    http_response got;
    door_fixture_post(&d, "/mcp", CALL("steps"), WITH_TOKEN("steps", "\"t\""), &got);
    assert_int_equal(got.status, 200);
    assert_non_null(strstr(got.head, "Content-Type: text/event-stream\r\n"));
    assert_non_null(strstr(got.head, "X-Accel-Buffering: no\r\n"));
    assert_non_null(strstr(got.head, "Cache-Control: no-store, no-transform\r\n"));
    assert_string_equal(
        got.body, PROGRESS("\"t\"", "1")
                      PROGRESS("\"t\"", "3") "event: message\ndata: " RPC "\"result\":{" TEXT(
                          "\"{\\\"steps\\\":3}\"") ",\"structuredContent\":"
                                                   "{ \"steps\":  3}," STAMP "},\"id\":3}\n\n");
}

TEST(legacy_progress_is_the_same_stream)
{
    http_response got;
    door_fixture_post(&d, "/mcp", BOTH,
                      RPC "\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"steps\","
                          "\"_meta\":{\"progressToken\":7}}}",
                      &got);
    assert_non_null(strstr(got.head, "Content-Type: text/event-stream\r\n"));
    assert_non_null(strstr(got.body, PROGRESS("7", "1") PROGRESS("7", "3")));
    assert_non_null(strstr(got.body, "\"structuredContent\":{ \"steps\":  3}},\"id\":3}\n\n"));
}

TEST(without_token_or_accept_the_answer_is_plain)
{
    http_response got;
    door_fixture_post(
        &d, "/mcp", CALL("steps"),
        RPC "\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"steps\"," M "}}", &got);
    assert_non_null(strstr(got.head, "Content-Type: application/json\r\n"));
    static const char *const accepts[] = {"application/json", "application/json, text/html",
                                          "text/event-stream;q=0, */html"};
    for (size_t i = 0; i < CW_COUNT(accepts); i++) {
        char headers[512];
        snprintf(headers, sizeof headers,
                 JSON V("2026-07-28") "Mcp-Method: tools/call\r\nMcp-Name: steps\r\nAccept: %s\r\n",
                 accepts[i]);
        door_fixture_post(&d, "/mcp", headers, WITH_TOKEN("steps", "1"), &got);
        assert_int_equal(got.status, 200);
        assert_non_null(strstr(got.head, "Content-Type: application/json\r\n"));
    }
    /* A tool that reports nothing needs no stream. */
    door_fixture_post(&d, "/mcp", CALL("text"), WITH_TOKEN("text", "1"), &got);
    assert_non_null(strstr(got.head, "Content-Type: application/json\r\n"));
}

TEST(a_slow_reader_gets_the_newest_progress_and_the_whole_answer)
{
    http_response got;
    unsigned done = atomic_load(&d.source->done);
    int fd = door_fixture_connect(&d);
    int small = 1 << 17; /* not below a loopback segment: the kernel would send at a crawl */
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    door_fixture_send(fd, "/mcp", CALL("flood"), WITH_TOKEN("flood", "1"));
    door_fixture_wait(&d.source->done, done + 1);
    door_fixture_read(fd, &got);
    assert_int_equal(got.status, 200);
    assert_true(got.n > 1 << 20);
    assert_true(strcmp(got.body + got.n - 2, "\n\n") == 0);
    const char *last = got.body;
    unsigned n = 0;
    for (const char *at = last; (at = strstr(at, "data: {")) != NULL; at++, n++)
        last = at;
    assert_true(n > 10 && n < 40001); /* some progress was left out */
    assert_non_null(strstr(last, "\"result\":{\"content\""));
    assert_non_null(strstr(last + (1 << 20), "\"id\":3}\n\n"));
}

/* ---- clients that leave ---- */

TEST(a_client_that_leaves_cancels_its_call)
{
    static const row rows[] = {
        {"modern", "/mcp", CALL("hold"),
         RPC "\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"hold\"," M "}}", 1, NULL,
         NULL},
        {"jsonrpc", "/jsonrpc", JSON, RPC "\"id\":1,\"method\":\"hold\"}", 1, NULL, NULL},
        {"batch", "/jsonrpc", JSON,
         "[" RPC "\"id\":1,\"method\":\"hold\"}," RPC "\"id\":2,\"method\":\"hold\"}]", 2, NULL,
         NULL},
    };
    for (size_t i = 0; i < CW_COUNT(rows); i++) {
        unsigned n = (unsigned)rows[i].status;
        unsigned started = atomic_load(&d.source->started);
        unsigned cancelled = atomic_load(&d.source->cancelled);
        int fd = door_fixture_connect(&d);
        door_fixture_send(fd, rows[i].path, rows[i].headers, rows[i].body);
        door_fixture_wait(&d.source->started, started + n);
        close(fd);
        door_fixture_wait(&d.source->cancelled, cancelled + n);
    }
}

TEST(a_legacy_client_that_leaves_does_not_cancel)
{
    unsigned started = atomic_load(&d.source->started);
    unsigned cancelled = atomic_load(&d.source->cancelled);
    int fd = door_fixture_connect(&d);
    door_fixture_send(fd, "/mcp", BOTH,
                      RPC "\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"hold\"}}");
    door_fixture_wait(&d.source->started, started + 1);
    close(fd);
    usleep(50000);
    assert_int_equal(atomic_load(&d.source->cancelled), cancelled);
    assert_non_null(fake_source_newest(d.source)); /* and ends with the server */
}

/* ---- subscriptions ---- */

/* Read until `text` has come; more than 64 KB or ten seconds fail. */
static void read_until(int fd, char *all, size_t size, const char *text)
{
    size_t n = strlen(all);
    while (!strstr(all, text)) {
        ssize_t got = recv(fd, all + n, size - 1 - n, 0);
        if (got <= 0)
            fail_msg("waited for %s, got: %s", text, all);
        n += (size_t)got;
        all[n] = 0;
    }
}

#define LISTEN(id, what)                                                                           \
    RPC "\"id\":" id ",\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{" what   \
        "}," M "}}"
#define LISTEN_HEADERS MODERN "Mcp-Method: subscriptions/listen\r\n"

TEST(a_listener_hears_of_changes_of_the_list)
{
    static char all[65536], other[65536];
    all[0] = other[0] = 0;
    int fd = door_fixture_connect(&d), deaf = door_fixture_connect(&d);
    door_fixture_send(fd, "/mcp", LISTEN_HEADERS,
                      LISTEN("13", "\"toolsListChanged\":true,\"promptsListChanged\":true"));
    read_until(fd, all, sizeof all,
               "data: " RPC "\"method\":\"notifications/subscriptions/acknowledged\",\"params\":"
               "{\"notifications\":{\"toolsListChanged\":true,\"promptsListChanged\":true},"
               "\"_meta\":{\"" META "subscriptionId\":13}}}\n\n");
    door_fixture_send(deaf, "/mcp", LISTEN_HEADERS, LISTEN("\"x\"", "\"toolsListChanged\":false"));
    read_until(deaf, other, sizeof other,
               "\"params\":{\"notifications\":{},\"_meta\":{\"" META "subscriptionId\":\"x\"}}}");
    door_fixture_publish(&d, 0); /* nothing changed */
    door_fixture_publish(&d, 3);
    read_until(fd, all, sizeof all,
               "data: " RPC "\"method\":\"notifications/tools/list_changed\",\"params\":"
               "{\"_meta\":{\"" META "subscriptionId\":13}}}\n\n");
    door_fixture_publish(&d, 0);
    const char *first = strstr(all, "list_changed");
    while (!strstr(first + 1, "list_changed")) {
        size_t n = strlen(all);
        ssize_t got = recv(fd, all + n, sizeof all - 1 - n, 0);
        assert_true(got > 0);
        all[n + (size_t)got] = 0;
    }
    close(fd);
    assert_null(strstr(other, "list_changed"));
    close(deaf);
}

TEST(a_stopping_server_ends_a_subscription_with_its_result)
{
    static door_fixture own;
    static char all[65536];
    all[0] = 0;
    door_fixture_open(&own, 1000, true, true);
    int fd = door_fixture_connect(&own);
    door_fixture_send(fd, "/mcp", LISTEN_HEADERS, LISTEN("13", "\"toolsListChanged\":true"));
    read_until(fd, all, sizeof all, "acknowledged");
    door_fixture_close(&own);
    read_until(fd, all, sizeof all,
               RPC "\"result\":{\"resultType\":\"complete\",\"_meta\":{\"" META
                   "subscriptionId\":13,");
    read_until(fd, all, sizeof all, "\r\n0\r\n\r\n");
    close(fd);
}

TEST(too_many_listeners_are_refused)
{
    enum { MOST = 25 }; /* half of those of doors.c: more are not for one client */
    static int fds[MOST];
    static char all[65536];
    http_response got;
    for (int i = 0; i < MOST; i++) {
        fds[i] = door_fixture_connect(&d);
        door_fixture_send(fds[i], "/mcp", LISTEN_HEADERS, LISTEN("1", "\"toolsListChanged\":true"));
        all[0] = 0;
        read_until(fds[i], all, sizeof all, "acknowledged");
    }
    door_fixture_post(&d, "/mcp", LISTEN_HEADERS, LISTEN("2", "\"toolsListChanged\":true"), &got);
    assert_int_equal(got.status, 503);
    assert_non_null(strstr(got.body, "Too many subscriptions"));
    for (int i = 0; i < MOST; i++)
        close(fds[i]);
    /* The server notices in its own time that they are closed. */
    all[0] = 0;
    for (int i = 0; i < 3000 && !strstr(all, "acknowledged"); i++) {
        usleep(10000);
        int fd = door_fixture_connect(&d);
        door_fixture_send(fd, "/mcp", LISTEN_HEADERS, LISTEN("3", "\"toolsListChanged\":true"));
        all[0] = 0;
        read_until(fd, all, sizeof all, "\r\n\r\n");
        if (strstr(all, "HTTP/1.1 200 "))
            read_until(fd, all, sizeof all, "acknowledged");
        close(fd);
    }
    assert_non_null(strstr(all, "acknowledged"));
}

/* ---- callers without the general permissions ---- */

TEST(without_permissions_everything_looks_the_same)
{
    static door_fixture own;
    http_response got;
    door_fixture_open(&own, 1000, false, false);
    static const char *const names[] = {"echo", "hidden", "nope"};
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        char body[256];
        snprintf(body, sizeof body, RPC "\"id\":1,\"method\":\"%s\"}", names[i]);
        door_fixture_post(&own, "/jsonrpc", JSON, body, &got);
        assert_int_equal(got.status, 401);
        assert_string_equal(got.body, RPC "\"error\":{\"code\":-32000,\"message\":\"Authentication "
                                          "required\",\"data\":{\"required_scopes\":[],"
                                          "\"missing_scopes\":[]}},\"id\":1}");
        snprintf(body, sizeof body,
                 RPC "\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\"}}", names[i]);
        door_fixture_post(&own, "/mcp", BOTH, body, &got);
        assert_int_equal(got.status, 200);
        assert_non_null(strstr(got.body, "this server has no logins"));
        assert_null(strstr(got.body, names[i]));
    }
    door_fixture_post(&own, "/mcp", BOTH, RPC "\"id\":1,\"method\":\"tools/list\"}", &got);
    assert_int_equal(got.status, 200);
    assert_string_equal(got.body, RPC "\"result\":{\"tools\":[]},\"id\":1}");
    door_fixture_post(&own, "/mcp", LISTEN_HEADERS, LISTEN("2", "\"toolsListChanged\":true"), &got);
    assert_int_equal(got.status, 200);
    assert_non_null(strstr(got.body, "this server has no logins"));
    door_fixture_post(&own, "/mcp", BOTH, RPC "\"id\":1,\"method\":\"ping\"}", &got);
    assert_int_equal(got.status, 200);
    door_fixture_close(&own);
}

TEST(a_call_that_takes_too_long_is_answered)
{
    static door_fixture own;
    http_response got;
    door_fixture_open(&own, 50, true, true);
    door_fixture_post(&own, "/jsonrpc", JSON, RPC "\"id\":1,\"method\":\"hold\"}", &got);
    assert_int_equal(got.status, 500);
    assert_non_null(strstr(got.body, "\"data\":\"The call took longer than 0.05 s.\""));
    door_fixture_post(&own, "/mcp", BOTH,
                      RPC "\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"hold\"}}",
                      &got);
    assert_int_equal(got.status, 200);
    assert_non_null(strstr(got.body, "\"isError\":true"));
    door_fixture_close(&own);
}

SETUP(set_up)
{
    signal(SIGPIPE, SIG_IGN);
    (void)!cw_log_configure(&(cw_log_opts){.level = CW_LOG_OFF}, NULL);
    door_fixture_open(&d, 60000, true, true);
    return 0;
}

TEARDOWN(tear_down)
{
    door_fixture_close(&d);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jsonrpc_answers_as_specified),
        cmocka_unit_test(modern_requests_are_answered_as_specified),
        cmocka_unit_test(legacy_requests_are_answered_as_specified),
        cmocka_unit_test(only_visible_tools_are_listed),
        cmocka_unit_test(get_and_delete_need_a_session),
        cmocka_unit_test(progress_turns_the_answer_into_a_stream),
        cmocka_unit_test(legacy_progress_is_the_same_stream),
        cmocka_unit_test(without_token_or_accept_the_answer_is_plain),
        cmocka_unit_test(a_slow_reader_gets_the_newest_progress_and_the_whole_answer),
        cmocka_unit_test(a_client_that_leaves_cancels_its_call),
        cmocka_unit_test(a_legacy_client_that_leaves_does_not_cancel),
        cmocka_unit_test(a_listener_hears_of_changes_of_the_list),
        cmocka_unit_test(a_stopping_server_ends_a_subscription_with_its_result),
        cmocka_unit_test(too_many_listeners_are_refused),
        cmocka_unit_test(without_permissions_everything_looks_the_same),
        cmocka_unit_test(a_call_that_takes_too_long_is_answered),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
