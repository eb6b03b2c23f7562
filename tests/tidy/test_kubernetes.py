"""config/kubernetes/igq.yaml, held against what the rest of the project says."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from igq.operations.shutdown import STOP_TIMEOUT_S
from sharedq.settings.loader import ENVIRONMENT
from sharedq.settings.values import Settings

ROOT = Path(__file__).parents[2]
Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def manifests() -> dict[str, Manifest]:
    loaded = yaml.safe_load_all((ROOT / "config/kubernetes/igq.yaml").read_text("utf-8"))
    return {manifest["kind"]: manifest for manifest in loaded}


@pytest.fixture(scope="module")
def pod(manifests: dict[str, Manifest]) -> Manifest:
    found: Manifest = manifests["StatefulSet"]["spec"]["template"]["spec"]
    return found


def test_the_settings_are_settings_and_the_url_is_a_mounted_file(manifests: dict[str, Manifest], pod: Manifest) -> None:
    settings = tomllib.loads(manifests["ConfigMap"]["data"]["igq.toml"])
    (container,) = pod["containers"]
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}

    assert settings.keys() <= Settings.model_fields.keys()
    assert {variable["name"] for variable in container["env"]} <= {"IGQ_CONFIG", *ENVIRONMENT}
    assert mounts[str(Path(settings["redis_url_file"]).parent)] == "redis"
    assert settings["data_dir"] in mounts
    assert set(mounts.values()) == {volume["name"] for volume in pod["volumes"]}


def test_a_pod_has_longer_than_a_quiesce_takes_and_cannot_change_its_image(pod: Manifest) -> None:
    assert pod["terminationGracePeriodSeconds"] > STOP_TIMEOUT_S
    assert pod["securityContext"]["runAsUser"] == int(
        re.findall(r"useradd --uid (\d+)", (ROOT / "Dockerfile").read_text("utf-8"))[0]
    )
    assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"]


def test_the_number_of_a_pod_names_its_manager(pod: Manifest, tmp_path: Path) -> None:
    igq = tmp_path / "igq"
    igq.write_text('#!/bin/sh\necho "$@"\n', "utf-8")
    igq.chmod(0o755)
    (container,) = pod["containers"]
    probes = [container[name]["exec"]["command"] for name in ("livenessProbe", "readinessProbe")]

    said = [
        subprocess.run(
            command, env={"PATH": f"{tmp_path}:/bin", "HOSTNAME": "igq-2"}, check=True, capture_output=True, text=True
        ).stdout.strip()
        for command in (container["command"], *probes)
    ]

    assert said == ["qmgr start QM2", "health live QM2", "health ready QM2"]


def test_the_selectors_find_the_pods(manifests: dict[str, Manifest]) -> None:
    labels = manifests["StatefulSet"]["spec"]["template"]["metadata"]["labels"]

    assert manifests["StatefulSet"]["spec"]["selector"]["matchLabels"] == labels
    assert manifests["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert manifests["Service"]["spec"]["selector"] == labels
    assert manifests["Service"]["metadata"]["name"] == manifests["StatefulSet"]["spec"]["serviceName"]


def test_kubernetes_schemas_take_the_manifests(manifests: dict[str, Manifest]) -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed").validate

    for manifest in manifests.values():
        validate(manifest, "1.30", strict=True)
