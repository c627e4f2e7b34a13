"""Asks a server whether users are recorded, with the OpenFeature SDK for Python over OFREP.

    ofrep.py URL KEY [CONTEXT ...]

Each CONTEXT is a JSON object: `targetingKey` is the SDK's targeting key, the rest are attributes.
Prints one JSON array with what the SDK made of each answer; where there is none, its value is the
default, false. TOKEN in the environment is sent as a bearer token.
"""

import json
import os
import sys

from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext

url, key, *contexts = sys.argv[1:]


def headers():
    token = os.environ.get("TOKEN")
    return {"Authorization": f"Bearer {token}"} if token else {}


def evaluate(client, context):
    attributes = json.loads(context)
    targeting_key = attributes.pop("targetingKey", None)
    details = client.get_boolean_details(key, False, EvaluationContext(targeting_key, attributes))
    return {
        "value": details.value,
        "reason": details.reason,
        "variant": details.variant,
        "error": details.error_code,
        "metadata": dict(details.flag_metadata),
    }


api.set_provider(OFREPProvider(url, headers_factory=headers))
client = api.get_client()
print(json.dumps([evaluate(client, context) for context in contexts]))
api.shutdown()
