#!/usr/bin/env bash
# Start the built program for `make run`: scripts/run.sh [ARGUMENTS OF causeway serve...]
set -euo pipefail
cd "$(dirname "$0")/.."

listen=(--listen 127.0.0.1:8080)
base=http://127.0.0.1:8080
for argument in "$@"; do
    case $argument in
    --listen | --listen=* | --config | --config=*) listen=() && base=URL ;;
    esac
done

cat <<TEXT
Causeway starts; stop it with Ctrl-C. Try, in another terminal:

  curl $base/healthz                is it up?
  build/causeway help               what else the program can do
  make test                         the tests

TEXT
exec build/causeway serve ${listen[@]+"${listen[@]}"} "$@"
