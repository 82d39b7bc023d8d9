#!/usr/bin/env bash
# Shell scripts pass shellcheck. Word splitting of package lists in deps.sh is meant (SC2086).
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts/lint/files.sh '*.sh' 'completions/*.bash' .ci/run debian/tests/{first-call,plugin,service} 'debian/causeway.p[or]*' | xargs -0 shellcheck --severity=style --exclude=SC2086
