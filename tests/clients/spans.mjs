// Sends traces, metrics and logs with the OpenTelemetry SDK for JavaScript.
//
//     node spans.mjs grpc|http/protobuf|http/json ENDPOINT [gzip]
//
// Prints one JSON object: for each signal the requests that the SDK made, as its own encoder writes
// them, in base64. Whoever reads the records back compares every field with these.
// KYMO_TEST_CLIENTS names the directory that scripts/clients has installed the SDK to.

import { createRequire } from 'node:module';
import { argv, env, exit, stderr, stdout } from 'node:process';

// Packages are not beside this file, so they are looked up from where they are.
const load = createRequire(`${env.KYMO_TEST_CLIENTS}/node/package.json`);
const api = load('@opentelemetry/api');
const { SeverityNumber } = load('@opentelemetry/api-logs');
const { resourceFromAttributes } = load('@opentelemetry/resources');
const { LoggerProvider, BatchLogRecordProcessor } = load('@opentelemetry/sdk-logs');
const { AggregationType, MeterProvider, PeriodicExportingMetricReader } = load(
  '@opentelemetry/sdk-metrics',
);
const { BatchSpanProcessor, NodeTracerProvider } = load('@opentelemetry/sdk-trace-node');
const encoders = load('@opentelemetry/otlp-transformer');

const [protocol, endpoint, ...options] = argv.slice(2);
const compression = options.includes('gzip') ? 'gzip' : 'none';
const requests = { traces: [], metrics: [], logs: [] };

/** An exporter of the SDK for a signal, made to remember what it sends. */
function exporter(signal, name, encoder) {
  const suffix = { grpc: 'grpc', 'http/protobuf': 'proto', 'http/json': 'http' }[protocol];
  const { [name]: Exporter } = load(
    `@opentelemetry/exporter-${signal.replace('traces', 'trace')}-otlp-${suffix}`,
  );
  const url = protocol === 'grpc' ? endpoint : `${endpoint}/v1/${signal}`;
  const made = new Exporter({ url, compression });
  const send = made.export.bind(made);
  made.export = (batch, done) => {
    requests[signal].push(Buffer.from(encoder.serializeRequest(batch)).toString('base64'));
    send(batch, (result) => {
      if (result.code !== 0) {
        stderr.write(`${signal} were not accepted: ${result.error}\n`);
        exit(1);
      }
      done(result);
    });
  };
  return made;
}

function makeSpans(tracer, logger) {
  const attributes = {
    text: 'grüße, 世界 end',
    empty: '',
    yes: true,
    int: 9007199254740991,
    double: 0.1,
    texts: ['a', '', 'ß'],
    ints: [1, -2, 3],
    bools: [true, false],
  };
  const options = { kind: api.SpanKind.SERVER, attributes };
  tracer.startActiveSpan('checkout 注文 🛒', options, (root) => {
    root.addEvent('cart loaded', { items: 3, slow: false }, [1_700_000_000, 1_000_000]);
    emitLogs(logger);
    const linked = {
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: '00f067aa0ba902b7',
      traceFlags: 1,
      isRemote: true,
      traceState: api.createTraceState('vendor=a1'),
    };
    const links = [{ context: linked, attributes: { why: 'retry' } }];
    tracer.startActiveSpan('pay', { kind: api.SpanKind.CLIENT, links }, (pay) => {
      pay.recordException(new Error('card declined: déjà vu'));
      pay.setStatus({ code: api.SpanStatusCode.ERROR, message: 'card declined' });
      pay.end();
    });
    tracer.startActiveSpan('ship', { kind: api.SpanKind.PRODUCER }, (ship) => {
      ship.setStatus({ code: api.SpanStatusCode.OK });
      ship.end();
    });
    root.end();
  });
}

/** Log records inside the current span, and one that belongs to none. */
function emitLogs(logger) {
  logger.emit({
    timestamp: [1_767_323_045, 123_456_789],
    observedTimestamp: [1_767_323_045, 123_456_794],
    severityNumber: SeverityNumber.WARN,
    severityText: 'WARN',
    body: 'stock is low: 残り 3',
    attributes: { sku: 'a-1', left: 3, tags: ['x', 'y'], nested: { deep: [1, 'two'] } },
  });
  logger.emit({
    timestamp: [1_767_323_045, 123_456_790],
    severityNumber: SeverityNumber.INFO,
    body: { answer: 42, list: [1, 'two'] },
    eventName: 'shop.opened',
    context: api.ROOT_CONTEXT,
  });
}

function measure(meter) {
  meter.createCounter('shop.orders', { unit: '1', description: 'Orders' }).add(7, { region: 'eu' });
  meter.createUpDownCounter('shop.open_carts').add(-2);
  meter.createGauge('shop.temperature', { unit: 'Cel' }).record(21.5, { room: 'küche' });
  const latency = meter.createHistogram('shop.latency', { unit: 'ms' });
  const sizes = meter.createHistogram('shop.size', { unit: 'By' });
  for (const value of [0.5, 7, 80, 900, 20_000]) {
    latency.record(value, { route: '/cart' });
    sizes.record(value);
  }
}

const resource = resourceFromAttributes({
  'service.name': 'js-shop',
  'service.version': '1.2.3',
  'host.cpus': 8,
  roles: ['a', 'b'],
});
const tracers = new NodeTracerProvider({
  resource,
  spanProcessors: [
    new BatchSpanProcessor(
      exporter('traces', 'OTLPTraceExporter', encoders.ProtobufTraceSerializer),
    ),
  ],
});
// The context manager comes with it: what is made inside a span knows its span.
tracers.register();
const meters = new MeterProvider({
  resource,
  views: [
    {
      instrumentName: 'shop.size',
      aggregation: { type: AggregationType.EXPONENTIAL_HISTOGRAM, options: { maxSize: 20 } },
    },
  ],
  readers: [
    new PeriodicExportingMetricReader({
      exporter: exporter('metrics', 'OTLPMetricExporter', encoders.ProtobufMetricsSerializer),
      exportIntervalMillis: 3_600_000,
    }),
  ],
});
const loggers = new LoggerProvider({
  resource,
  processors: [
    new BatchLogRecordProcessor({
      exporter: exporter('logs', 'OTLPLogExporter', encoders.ProtobufLogsSerializer),
    }),
  ],
});

measure(meters.getMeter('shop.meter', '0.9'));
makeSpans(tracers.getTracer('shop.tracer', '2.0'), loggers.getLogger('shop.logger'));
for (const provider of [tracers, meters, loggers]) {
  await provider.shutdown();
}
stdout.write(`${JSON.stringify(requests)}\n`);
