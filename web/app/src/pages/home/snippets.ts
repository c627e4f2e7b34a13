/** What to copy, for each kind of client, with the addresses that really listen. */
import type { Endpoints } from "./addresses";

export interface Snippet {
  id: string;
  label: string;
  /** What it is for, in a sentence. */
  about: string;
  code: string;
}

/** The test trace of the button, as `curl` sends it. */
const CURL_SPAN = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"hello"}}]},"scopeSpans":[{"spans":[{"traceId":"'$(openssl rand -hex 16)'","spanId":"'$(openssl rand -hex 8)'","name":"hello","kind":1,"startTimeUnixNano":"'$(date +%s)000000000'","endTimeUnixNano":"'$(date +%s)500000000'"}]}]}]}`;

export function snippets({ grpc, fromHere: http, main }: Endpoints): readonly Snippet[] {
  return [
    {
      id: "environment",
      label: "Any SDK",
      about: "Every OpenTelemetry SDK reads these variables; nothing else has to be set.",
      code: `export OTEL_SERVICE_NAME=my-service
export OTEL_EXPORTER_OTLP_ENDPOINT=${http}
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf`,
    },
    {
      id: "python",
      label: "Python",
      about: "A program as it is, instrumented when it is started.",
      code: `pip install opentelemetry-distro opentelemetry-exporter-otlp
opentelemetry-bootstrap -a install
OTEL_SERVICE_NAME=my-service OTEL_EXPORTER_OTLP_ENDPOINT=${grpc} \\
  opentelemetry-instrument python app.py`,
    },
    {
      id: "go",
      label: "Go",
      about: "An exporter over gRPC; the endpoint may also come from the environment.",
      code: `import "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"

exporter, err := otlptracegrpc.New(ctx,
    otlptracegrpc.WithEndpointURL("${grpc}"))
provider := trace.NewTracerProvider(trace.WithBatcher(exporter))
otel.SetTracerProvider(provider)`,
    },
    {
      id: "node",
      label: "Node.js",
      about: "A program as it is, instrumented when it is started.",
      code: `npm install @opentelemetry/auto-instrumentations-node
OTEL_SERVICE_NAME=my-service OTEL_EXPORTER_OTLP_ENDPOINT=${http} \\
  node --require @opentelemetry/auto-instrumentations-node/register app.js`,
    },
    {
      id: "rust",
      label: "Rust",
      about: "Spans and events of the crate tracing, with kymo-service.",
      code: `let service = kymo_service::Service::init(&kymo_service::Config::enabled("my-service"))?;
service.install_tracing()?;
// KYMO_OTLP_ENDPOINT=${grpc}`,
    },
    {
      id: "browser",
      label: "Browser",
      about: "Web pages of any origin may send; what the server adds joins the same trace.",
      code: `import { WebTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-web";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";

const exporter = new OTLPTraceExporter({ url: "${http}/v1/traces" });
new WebTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] }).register();`,
    },
    {
      id: "collector",
      label: "Collector",
      about: "One more exporter of an OpenTelemetry Collector, beside those that are there.",
      code: `exporters:
  otlp/kymo:
    endpoint: ${grpc}
    tls: { insecure: ${grpc.startsWith("http:")} }
service:
  pipelines:
    traces: { exporters: [otlp/kymo] }
    metrics: { exporters: [otlp/kymo] }
    logs: { exporters: [otlp/kymo] }`,
    },
    {
      id: "actions",
      label: "GitHub Actions",
      about: "The last job of a workflow sends the whole run; a webhook does it without a job.",
      code: `# .github/workflows/pr.yml: after all other jobs
summarize:
  needs: [build, test]
  if: always()
  runs-on: ubuntu-latest
  steps:
    - uses: kymograph/kymograph/deploy/github-actions/summarize@main
      env:
        OTEL_EXPORTER_OTLP_ENDPOINT: ${grpc}
# or a webhook of the repository: ${main}/api/ci/github`,
    },
    {
      id: "session",
      label: "Session, RHAPSODY",
      about: "Any command as a session with its tasks and resources; RHAPSODY sends the same by OTLP.",
      code: `# any command
OTEL_EXPORTER_OTLP_ENDPOINT=${grpc} kymo run -- python train.py

# tasks of a program of yours
import kymograph
with kymograph.session("train") as session:
    with session.run("step", attributes={"epoch": 1}):
        ...

# RHAPSODY
OTEL_EXPORTER_OTLP_ENDPOINT=${http}  # its exporter, as it is`,
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
  - url: ${main}/prometheus/api/v1/write`,
    },
    {
      id: "curl",
      label: "curl",
      about: "One span, by hand.",
      code: `curl -s ${http}/v1/traces -H 'Content-Type: application/json' -d '
${CURL_SPAN}'`,
    },
  ];
}
