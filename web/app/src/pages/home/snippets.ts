/**
 * What to copy, for each kind of client, with the address that takes OTLP from where the page is opened. That is
 * OTLP over HTTP for all of them: it goes through every proxy and below a prefix, which gRPC does not. Where the
 * server wants to know who sends, or the page looks at somebody's data, the headers that say so are with it.
 */
import type { Endpoints } from "./addresses";
import { asArguments, asObject, asVariable, headersOf, type Sender, TOKEN } from "./sender";

export interface Snippet {
  id: string;
  label: string;
  /** What it is for, in a sentence. */
  about: string;
  code: string;
}

/** The test trace of the button, as `curl` sends it. */
const CURL_SPAN = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"hello"}}]},"scopeSpans":[{"spans":[{"traceId":"'$(openssl rand -hex 16)'","spanId":"'$(openssl rand -hex 8)'","name":"hello","kind":1,"startTimeUnixNano":"'$(date +%s)000000000'","endTimeUnixNano":"'$(date +%s)500000000'"}]}]}]}`;

const PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL";
const HEADERS = "OTEL_EXPORTER_OTLP_HEADERS";
/** Where workflows of GitHub keep a token. */
const SECRET = `\${{ secrets.KYMO_TOKEN }}`;

export function snippets(
  { fromHere: http, main }: Endpoints,
  sender: Sender = { needsToken: false },
): readonly Snippet[] {
  const headers = headersOf(sender);
  const has = headers.length > 0;
  // Prometheus has a word of its own for who asks.
  const whose = headersOf({ ...sender, needsToken: false });
  const variable = `${HEADERS}=${asVariable(headers)}`;
  // Before a command, on a line of its own.
  const before = has ? `${variable} \\\n  ` : "";
  const ofActions = asVariable(headers).replace(TOKEN, () => SECRET);
  const warning = sender.needsToken ? " Who opens the page can read its token: let that only write." : "";
  return [
    {
      id: "environment",
      label: "Any SDK",
      about: "Every OpenTelemetry SDK reads these variables; nothing else has to be set.",
      code: `export OTEL_SERVICE_NAME=my-service
export OTEL_EXPORTER_OTLP_ENDPOINT=${http}
export ${PROTOCOL}=http/protobuf${has ? `\nexport ${variable}` : ""}`,
    },
    {
      id: "python",
      label: "Python",
      about: "A program as it is, instrumented when it is started.",
      code: `pip install opentelemetry-distro opentelemetry-exporter-otlp
opentelemetry-bootstrap -a install
OTEL_SERVICE_NAME=my-service OTEL_EXPORTER_OTLP_ENDPOINT=${http} \\
  ${before}${PROTOCOL}=http/protobuf opentelemetry-instrument python app.py`,
    },
    {
      id: "go",
      label: "Go",
      about: "An exporter over HTTP; the endpoint may also come from the environment.",
      code: `import "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"

exporter, err := otlptracehttp.New(ctx,
    otlptracehttp.WithEndpointURL("${http}/v1/traces")${
      has ? `,\n    otlptracehttp.WithHeaders(map[string]string${asObject(headers)})` : ""
    })
provider := trace.NewTracerProvider(trace.WithBatcher(exporter))
otel.SetTracerProvider(provider)`,
    },
    {
      id: "node",
      label: "Node.js",
      about: "A program as it is, instrumented when it is started.",
      code: `npm install @opentelemetry/auto-instrumentations-node
OTEL_SERVICE_NAME=my-service OTEL_EXPORTER_OTLP_ENDPOINT=${http} \\
  ${before}node --require @opentelemetry/auto-instrumentations-node/register app.js`,
    },
    {
      id: "rust",
      label: "Rust",
      about: "Spans and events of the crate tracing, with kymo-service.",
      code: `let service = kymo_service::Service::init(&kymo_service::Config::enabled("my-service"))?;
service.install_tracing()?;
// KYMO_OTLP_ENDPOINT=${http}
// ${PROTOCOL}=http/protobuf${has ? `\n// ${variable}` : ""}`,
    },
    {
      id: "browser",
      label: "Browser",
      about: `Web pages of any origin may send; what the server adds joins the same trace.${warning}`,
      code: `import { WebTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-web";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";

const exporter = new OTLPTraceExporter({ url: "${http}/v1/traces"${has ? `, headers: ${asObject(headers)}` : ""} });
new WebTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] }).register();`,
    },
    {
      id: "collector",
      label: "Collector",
      about: "One more exporter of an OpenTelemetry Collector, beside those that are there.",
      code: `exporters:
  otlphttp/kymo:
    endpoint: ${http}${has ? `\n    headers: ${asObject(headers)}` : ""}
service:
  pipelines:
    traces: { exporters: [otlphttp/kymo] }
    metrics: { exporters: [otlphttp/kymo] }
    logs: { exporters: [otlphttp/kymo] }`,
    },
    {
      id: "actions",
      label: "GitHub Actions",
      about:
        "The last job of a workflow sends the whole run: kymo must be on its runner. A webhook does it without a job.",
      code: `# .github/workflows/pr.yml
env:
  TELEMETRY_ENABLED: "true"
  OTEL_EXPORTER_OTLP_ENDPOINT: ${http}
  ${PROTOCOL}: http/protobuf${has ? `\n  ${HEADERS}: ${ofActions}` : ""}
  KYMO_URL: ${main}${sender.needsToken ? `\n  KYMO_TOKEN: ${SECRET}` : ""}
jobs:
  # after all other jobs
  telemetry-summarize:
    needs: [build, test]
    if: \${{ !cancelled() }}
    runs-on: ubuntu-latest # with kymo on the path; without it, nothing is sent
    permissions: { actions: write, contents: read }
    steps:
      - uses: kymograph/kymograph/deploy/github-actions/summarize@main
# or a webhook of the repository, with KYMO_CI_GITHUB_WEBHOOK_SECRET: ${main}/api/ci/github`,
    },
    {
      id: "session",
      label: "Session, RHAPSODY",
      about: "Any command as a session with its tasks and resources; RHAPSODY sends the same by OTLP.",
      code: `# any command
OTEL_EXPORTER_OTLP_ENDPOINT=${http} ${PROTOCOL}=http/protobuf \\
  ${before}kymo run -- python train.py

# tasks of a program of yours
import kymograph
with kymograph.session("train") as session:
    with session.run("step", attributes={"epoch": 1}):
        ...

# RHAPSODY
OTEL_EXPORTER_OTLP_ENDPOINT=${http}  # its exporter, as it is${has ? `\n${variable}` : ""}`,
    },
    {
      id: "prometheus",
      label: "Prometheus, DCGM",
      about: "The server scrapes targets itself, or takes remote-write of a Prometheus that is there.",
      code: `# kymo serve --prometheus-config targets.yml
scrape_configs:
  - job_name: dcgm
    static_configs: [{ targets: ["gpu-node:9400"] }]
  - job_name: node
    static_configs: [{ targets: ["gpu-node:9100"] }]

# or, in prometheus.yml
remote_write:
  - url: ${main}/prometheus/api/v1/write${
    sender.needsToken ? `\n    authorization: { credentials: ${TOKEN} }` : ""
  }${whose.length > 0 ? `\n    headers: ${asObject(whose)}` : ""}`,
    },
    {
      id: "curl",
      label: "curl",
      about: "One span, by hand.",
      code: `curl -s ${http}/v1/traces -H 'Content-Type: application/json'${asArguments(headers)} -d '
${CURL_SPAN}'`,
    },
  ];
}
