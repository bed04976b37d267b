"""Checks the manifests beside this file, and prints what they say as JSON, for `cargo xtask test deploy`.

Each document for Kubernetes is validated against the schema of its kind, of the oldest and of the newest version that
is named here; what the schema does not know is refused. The job for Nomad is read as HCL.
"""

import json
import pathlib
import sys

import hcl2
import kubernetes_validate
import yaml

VERSIONS = ["1.28", "1.34"]


def plain(value):
    """HCL without the reader's marks: strings without quotes, labels as they are."""
    if isinstance(value, dict):
        return {plain(key): plain(v) for key, v in value.items() if not key.startswith("__")}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, str) and value.startswith('"'):
        return json.loads(value)
    return value


def kubernetes(path):
    documents = [d for d in yaml.safe_load_all(path.read_text()) if d is not None]
    for document in documents:
        for version in VERSIONS:
            kubernetes_validate.validate(document, version, strict=True)
    return documents


def main():
    folder = pathlib.Path(sys.argv[1])
    try:
        result = {
            "kubernetes": kubernetes(folder / "kubernetes.yaml"),
            "nomad": plain(hcl2.loads((folder / "singularity.nomad.hcl").read_text())),
        }
    except Exception as error:  # Whatever the readers refuse is a finding.
        sys.exit(f"{type(error).__name__}: {str(error).splitlines()[0]}")
    print(json.dumps(result))


main()
