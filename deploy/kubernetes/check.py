"""Checks all manifests below this folder against Kubernetes', Agones' and the Prometheus operator's schemas.

    python check.py        with kubernetes-validate installed, and cloudcoil-models-prometheus-operator (PyPI)

The overlays are composed by `kustomize` or `kubectl kustomize`. Without either, each file is checked alone. A kind that
nobody has a schema for is named. Unknown fields are errors: a cluster would drop them without a word.
"""

import json
import pathlib
import shutil
import subprocess
import sys

import jsonschema
import kubernetes_validate
import yaml

try:
    # Generated from the operator's resource definitions.
    from cloudcoil.models.prometheus_operator import v1 as prometheus_operator
except ImportError:
    prometheus_operator = None

HERE = pathlib.Path(__file__).resolve().parent
# The oldest version that is checked, and the newest that kubernetes-validate knows.
VERSIONS = ["1.32", kubernetes_validate.latest_version()]
# Foreign kinds without a schema here.
WITHOUT_SCHEMA = {"ServiceMonitor"} if prometheus_operator is None else set()
# Patches, which are not complete manifests.
PATCHES = {HERE / "overlays/agones/network-policy.yaml"}


def composer() -> list[str] | None:
    if shutil.which("kustomize"):
        return ["kustomize", "build"]
    return ["kubectl", "kustomize"] if shutil.which("kubectl") else None


def strict(schema: object) -> object:
    """The same schema, with fields that it does not name refused."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    named = {key: strict(part) for key, part in schema.items()}
    if isinstance(schema.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        named.setdefault("additionalProperties", False)
    return named


def agones_schemas() -> dict[str, dict]:
    schemas = json.loads((HERE / "schemas/agones-1.56.0.json").read_text())
    of_all = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
    return {
        kind: strict({**schema, "properties": schema["properties"] | of_all})
        for kind, schema in schemas.items()
        if kind != "$comment"
    }


def check(manifest: dict, agones: dict[str, dict]) -> list[str]:
    """What is wrong with it."""
    kind = f"{manifest['apiVersion']}/{manifest['kind']}"
    found = []
    if kind in agones:
        errors = jsonschema.Draft202012Validator(agones[kind]).iter_errors(manifest)
        found += [f"{kind}: {error.json_path}: {error.message}" for error in errors]
        if manifest["kind"] == "Fleet":
            # The schema of a pod is Kubernetes' own.
            template = manifest["spec"]["template"]["spec"]["template"]
            pod = {"apiVersion": "v1", "kind": "Pod", **template}
            found += check(pod, agones)
        return found
    if kind == "monitoring.coreos.com/v1/ServiceMonitor" and prometheus_operator is not None:
        return check_monitor(manifest)
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(manifest, version, strict=True)
        except kubernetes_validate.SchemaNotFoundError:
            if manifest["kind"] not in WITHOUT_SCHEMA:
                found.append(f"{kind}: Kubernetes {version} has no such kind")
        except kubernetes_validate.ValidationError as error:
            found.append(f"{kind}, Kubernetes {version}: {error}")
    return found


def check_monitor(manifest: dict) -> list[str]:
    try:
        read = prometheus_operator.ServiceMonitor.model_validate(manifest)
    except ValueError as error:
        return [f"ServiceMonitor: {error}"]
    # The model drops unknown fields.
    kept = read.model_dump(exclude_unset=True, by_alias=True, mode="json")
    return [] if kept == manifest else [f"ServiceMonitor: {manifest} has fields beside {kept}"]


def texts() -> list[tuple[str, str]]:
    """Names and manifests."""
    compose = composer()
    overlays = sorted(path.parent for path in HERE.glob("overlays/*/kustomization.yaml"))
    of_nobody = [HERE / "overlays/agones/allocation.yaml"]
    if compose is None:
        print("neither kustomize nor kubectl is installed: overlays were not composed, each file was checked alone")
        files = [path for path in sorted(HERE.rglob("*.yaml")) if path.name != "kustomization.yaml"]
        alone = [path for path in files if path not in PATCHES]
        return [(str(path.relative_to(HERE)), path.read_text()) for path in alone]
    composed = [
        (overlay.name, subprocess.run([*compose, overlay], check=True, capture_output=True, text=True).stdout)
        for overlay in overlays
    ]
    return composed + [(path.name, path.read_text()) for path in of_nobody]


def main() -> int:
    agones = agones_schemas()
    errors = []
    for name, text in texts():
        manifests = [manifest for manifest in yaml.safe_load_all(text) if manifest]
        kinds = ", ".join(manifest["kind"] for manifest in manifests)
        print(f"{name}: {kinds}")
        errors += [f"{name}: {error}" for manifest in manifests for error in check(manifest, agones)]
        for manifest in manifests:
            if manifest["kind"] not in WITHOUT_SCHEMA | {"ServiceAccount"}:
                # Ensures that the check rejects an unknown field.
                wrong = {**manifest, "spec": {**manifest["spec"], "replica": 3}}
                assert check(wrong, agones), f"{name}: {manifest['kind']} may have anything"
    if WITHOUT_SCHEMA:
        print(f"not checked, for lack of a schema: {', '.join(sorted(WITHOUT_SCHEMA))}")
    print("\n".join(errors) if errors else f"all good for Kubernetes {' and '.join(VERSIONS)} and Agones 1.56.0")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
