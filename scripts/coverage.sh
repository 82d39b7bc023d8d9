#!/usr/bin/env bash
# Run all tests on a build that counts lines, show a table by file and fail if a test failed or a file is
# below the minima of coverage.txt. The pages that show each line: build/coverage/html/index.html.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh coverage
find build/coverage -name '*.gcda' -delete
tests=0
scripts/node.sh scripts/test.mjs coverage || tests=$?
mkdir -p build/coverage/html
gcovr --root . --filter src/ --exclude-unreachable-branches \
    --html-details build/coverage/html/index.html --txt build/coverage/coverage.txt \
    --json-summary build/coverage/summary.json build/coverage
scripts/node.sh scripts/coverage.mjs build/coverage/summary.json scripts/coverage.txt
if [ "$tests" != 0 ]; then
    echo "coverage.sh: tests have failed, see above the table" >&2
    exit "$tests"
fi
