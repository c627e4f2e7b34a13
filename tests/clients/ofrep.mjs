// Asks a server whether users are recorded, with the OpenFeature SDK for JavaScript over OFREP.
//
//     node ofrep.mjs URL KEY [CONTEXT ...]
//
// Each CONTEXT is a JSON object: `targetingKey` is the SDK's targeting key, the rest are attributes.
// Prints one JSON array with what the SDK made of each answer; where there is none, its value is the
// default, false. TOKEN in the environment is sent as a bearer token. KYMO_TEST_CLIENTS names the
// directory that scripts/clients has installed the SDK to.

import { createRequire } from 'node:module';
import { argv, env, stdout } from 'node:process';

// Packages are not beside this file, so they are looked up from where they are.
const load = createRequire(`${env.KYMO_TEST_CLIENTS}/node/package.json`);
const { OpenFeature } = load('@openfeature/server-sdk');
const { OFREPProvider } = load('@openfeature/ofrep-provider');

const [baseUrl, key, ...contexts] = argv.slice(2);
const headers = env.TOKEN ? { Authorization: `Bearer ${env.TOKEN}` } : {};

async function evaluate(client, context) {
  const details = await client.getBooleanDetails(key, false, JSON.parse(context));
  return {
    value: details.value,
    reason: details.reason,
    variant: details.variant ?? null,
    error: details.errorCode ?? null,
    metadata: details.flagMetadata,
  };
}

await OpenFeature.setProviderAndWait(new OFREPProvider({ baseUrl, headers }));
const client = OpenFeature.getClient();
const answers = [];
for (const context of contexts) {
  answers.push(await evaluate(client, context));
}
stdout.write(`${JSON.stringify(answers)}\n`);
await OpenFeature.close();
