#!/usr/bin/env bash
# JavaScript is formatted and linted by Biome (biome.json). `--fix` formats it (`make format`).
set -euo pipefail
cd "$(dirname "$0")/../.."

what=(check --error-on-warnings)
[ "${1:-}" != --fix ] || what=(format --write)
# scripts/node.sh installs Biome with the other test packages; npm has it for these two machines.
scripts/node.sh --version >/dev/null
case $(uname -m) in
x86_64) biome=node_modules/@biomejs/cli-linux-x64/biome ;;
aarch64) biome=node_modules/@biomejs/cli-linux-arm64/biome ;;
*) echo "javascript.sh: there is no Biome for this machine" && exit 1 ;;
esac
scripts/lint/files.sh '*.mjs' | xargs -0 "$biome" "${what[@]}" --max-diagnostics=100
