// A collector of traces: receives OTLP over HTTP and decodes it with OpenTelemetry's own code.
import { once } from "node:events";
import http from "node:http";
import { createRequire } from "node:module";
import zlib from "node:zlib";
import { eventually } from "./server.mjs";

const { opentelemetry } = createRequire(import.meta.url)("@opentelemetry/otlp-transformer/build/src/generated/root");
const { ExportTraceServiceRequest, ExportTraceServiceResponse } = opentelemetry.proto.collector.trace.v1;

const hex = (bytes) => Buffer.from(bytes ?? []).toString("hex");
const scalar = (v) => v.stringValue ?? (v.intValue === undefined || v.intValue === null ? v : Number(v.intValue));
const attributes = (list) => Object.fromEntries(list.map(({ key, value }) => [key, scalar(value)]));

function plain(span, resource, scope) {
    return {
        ...span,
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId),
        attributes: attributes(span.attributes),
        links: span.links.map(({ traceId, spanId }) => ({ traceId: hex(traceId), spanId: hex(spanId) })),
        resource,
        scope,
    };
}

export class Collector {
    spans = [];
    requests = [];
    // Returns the answer of a request: {status, headers, rejected}; it may wait.
    answer = () => ({ status: 200 });

    async start() {
        this.server = http.createServer((req, res) => this.take(req, res).catch((error) => res.destroy(error)));
        this.server.listen(0, "127.0.0.1");
        await once(this.server, "listening");
        this.url = `http://127.0.0.1:${this.server.address().port}/v1/traces`;
        return this;
    }

    stop() {
        this.server.closeAllConnections();
        return new Promise((resolve) => this.server.close(resolve));
    }

    async take(req, res) {
        const parts = [];
        for await (const part of req) {
            parts.push(part);
        }
        let body = Buffer.concat(parts);
        if (req.headers["content-encoding"] === "gzip") {
            body = zlib.gunzipSync(body);
        }
        const request = { headers: req.headers, url: req.url, body };
        this.requests.push(request);
        const { status, headers = {}, rejected = 0 } = await this.answer();
        request.status = status;
        if (status === 200) {
            for (const { resource, scopeSpans } of ExportTraceServiceRequest.decode(body).resourceSpans) {
                for (const { scope, spans } of scopeSpans) {
                    this.spans.push(...spans.map((span) => plain(span, attributes(resource.attributes), scope)));
                }
            }
        }
        const partialSuccess = rejected ? { rejectedSpans: rejected, errorMessage: "too many" } : undefined;
        res.writeHead(status, { "Content-Type": "application/x-protobuf", ...headers });
        res.end(ExportTraceServiceResponse.encode({ partialSuccess }).finish());
    }

    // Wait for a span for which `check` holds.
    async span(check, what = "the span") {
        await eventually(() => this.spans.some(check), what, 10_000);
        return this.spans.find(check);
    }
}

export const startCollector = () => new Collector().start();

// Variables of the environment that make spans come soon.
export const soon = { OTEL_BSP_SCHEDULE_DELAY: "20" };
