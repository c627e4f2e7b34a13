"""Every YAML and JSON file below deploy/ can be read, and says nothing twice.

YAML takes the last of two equal keys without a word, which hides mistakes; here that is a fault. Templates of
the chart are no YAML before they are rendered and are left to chart.py.
"""

import json
import pathlib
import sys

import yaml

from findings import Findings


class Strict(yaml.SafeLoader):
    """A loader that refuses a mapping with one key twice."""


def mapping(loader, node, deep=False):
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value if key.value != "<<"]
    for position, key in enumerate(keys):
        if key in keys[:position]:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {key!r} stands there twice", node.start_mark
            )
    return yaml.SafeLoader.construct_mapping(loader, node, deep)


Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)


def once(pairs):
    """An object of JSON, refused if a key stands there twice."""
    keys = [key for key, _ in pairs]
    twice = {key for key in keys if keys.count(key) > 1}
    if twice:
        raise ValueError(f"the key {twice.pop()!r} stands there twice")
    return dict(pairs)


def main():
    root = pathlib.Path(sys.argv[1])
    findings = Findings("YAML and JSON files")
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root)
        if "templates" in name.parts or not path.is_file():
            continue
        try:
            if path.suffix in (".yaml", ".yml"):
                documents = list(yaml.load_all(path.read_text(), Strict))
                findings.expect(any(document is not None for document in documents), f"{name} is empty")
            elif path.suffix == ".json":
                json.loads(path.read_text(), object_pairs_hook=once)
                findings.expect(True, "")
        except (yaml.YAMLError, ValueError) as error:
            findings.expect(False, f"{name}: {error}")
    findings.end()


main()
