#!/usr/bin/env bash
# Start the built program for `make run`: scripts/run.sh [ARGUMENTS OF causeway serve...]
#
# Without --config it serves the example plugin to everybody on this machine, as `causeway serve`
# does by itself. CAUSEWAY_BUILD is the folder of another variant than build/release (the tests
# use it).
set -euo pipefail
cd "$(dirname "$0")/.."

build=${CAUSEWAY_BUILD:-build/release}
configured=${CAUSEWAY_CONFIG:-}
address=127.0.0.1:8080
previous=
for argument in "$@"; do
    case $argument in
    --config | --config=* | -c*) configured=yes ;;
    --listen=*) address=${argument#*=} ;;
    -l?*) address=${argument#-l} ;;
    esac
    case $previous in
    --listen | -l) address=$argument ;;
    esac
    previous=$argument
done
base=http://$address
case $address in
*:0 | unix:*) base=URL ;; # only the program will know
esac

if [ -n "$configured" ]; then
    printf 'Causeway starts; stop it with Ctrl-C.\n\n'
else
    # What can be pasted has lines of its own.
    cat <<TEXT
Causeway starts with the example plugin; stop it with Ctrl-C. Try, in another terminal:

  curl $base/mcp --json '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
  curl $base/mcp/tools/invoke --json '{"name":"examples.article.toMarkdown","arguments":{"nid":2}}'
  curl $base/jsonrpc --json '{"jsonrpc":"2.0","id":3,"method":"examples.articles.list"}'

The MCP Inspector:

  npx -y @modelcontextprotocol/inspector@2.12.0 --cli $base/mcp --transport http --method tools/list

Claude Desktop, in claude_desktop_config.json:

  {"mcpServers":{"causeway":{"command":"npx","args":["-y","mcp-remote","$base/mcp"]}}}

TEXT
fi
exec "$build/causeway" serve "$@"
