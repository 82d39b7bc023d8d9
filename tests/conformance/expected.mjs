// What the conformance suite must say, check by check: [run, scenarios]. A scenario is listed when
// it needs no fixture (a tool, prompt or resource of a certain name), or has checks that need none.
// "id" passes, "id FAILURE" and the like do not: those need a fixture or a feature that is not there
// yet. "×3" is said three times.

const stateless = (name) => `sep-2575-${name}`;
const headers = (name) => `sep-2243-${name}`;

const modern = {
    "server-stateless": [
        ...[
            "request-meta-invalid-missing-meta",
            "request-meta-invalid-missing-protocol-version",
            "request-meta-invalid-missing-client-capabilities",
            "http-server-meta-invalid-400 ×3",
            "request-meta-client-info-optional",
            "server-implements-discover",
            "server-identifies-in-result-meta",
            "server-declares-prompts-in-discover",
            "discover-capabilities-match-handlers",
            "server-unsupported-version-error",
            "http-server-unsupported-version-400",
            "http-server-header-mismatch-400",
            "http-server-method-not-found-404-initialize",
            "http-server-method-not-found-404-ping",
            "http-server-method-not-found-404-logging-setlevel",
            "http-server-method-not-found-404-resources-subscribe",
            "http-server-method-not-found-404-resources-unsubscribe",
            "http-server-method-not-found-404",
            "server-sends-subscription-ack",
            "server-tags-subscription-id",
            "server-honors-notification-filter",
            "http-server-error-jsonrpc-id",
            // Fixture tools: test_missing_capability, test_streaming_elicitation,
            // test_logging_tool, test_trigger_tool_change.
            "server-rejects-undeclared-capability FAILURE",
            "missing-capability-http-400 FAILURE",
            "http-server-no-independent-requests-on-stream FAILURE",
            "server-no-log-without-loglevel FAILURE",
            "server-sends-tools-list-changed-on-subscription WARNING",
            "server-sends-prompts-list-changed-on-subscription SKIPPED",
        ].map(stateless),
    ],
    "tools-list": [
        "tools-list",
        "tools-name-format",
        "tools-list-deterministic-order",
        "wire-schema-valid",
    ],
    "server-sse-multiple-streams": [
        "server-accepts-multiple-post-streams",
        "server-sse-streams-functional INFO",
    ],
    "dns-rebinding-protection": [
        "localhost-host-rebinding-rejected",
        "localhost-host-valid-accepted",
    ],
    "http-header-validation": [
        ...[
            "server-reject-invalid-headers ×5",
            "server-reject-error-code ×5",
            "server-accepts-whitespace-header-value",
            "header-name-case-insensitive ×2",
        ].map(headers),
        "wire-schema-valid",
    ],
    caching: [
        "sep-2549-tools-list-caching-hints",
        "sep-2549-ttl-non-negative",
        "sep-2549-cache-scope-valid",
        "wire-schema-valid",
        // Prompts and resources.
        "sep-2549-prompts-list-caching-hints FAILURE",
        "sep-2549-resources-list-caching-hints FAILURE",
        "sep-2549-resources-templates-list-caching-hints FAILURE",
        "sep-2549-resources-read-caching-hints SKIPPED",
    ],
    "input-required-result-unsupported-methods": [
        "sep-2322-not-on-unsupported-requests",
        "wire-schema-valid",
    ],
};

const handshake = {
    "server-initialize": [
        "server-initialize",
        "wire-schema-valid",
        "server-session-id-visible-ascii INFO", // there is no session
    ],
    ping: ["ping", "wire-schema-valid"],
    "server-session-lifecycle": ["server-session-lifecycle-skipped INFO"],
};

export const runs = {
    "2026-07-28": { args: ["--requirements", "2026-07-28"], scenarios: modern },
    "2025-11-25": {
        args: ["--requirements", "2025-11-25"],
        scenarios: {
            ...handshake,
            "tools-list": ["tools-list", "tools-name-format", "wire-schema-valid"],
            "server-sse-multiple-streams": ["server-sse-multiple-streams-session WARNING"],
            "dns-rebinding-protection": modern["dns-rebinding-protection"],
        },
    },
    "2025-06-18": {
        args: ["--suite", "all", "--spec-version", "2025-06-18"],
        scenarios: { ...handshake, "tools-list": ["tools-list", "wire-schema-valid"] },
    },
    "2025-03-26": {
        args: ["--suite", "all", "--spec-version", "2025-03-26"],
        scenarios: { "server-session-lifecycle": handshake["server-session-lifecycle"] },
    },
};
