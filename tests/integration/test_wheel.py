"""The wheel is the whole service: what it carries is enough to serve."""

import os
import subprocess
import sys
from pathlib import Path

from tests.samples import REPOSITORY
from tests.service import started

ZM = (
    sys.executable,
    "-c",
    "import sys; from zero_memory.client.main import main; sys.exit(main())",
)

WHERE = "from zero_memory.local import deployment; print(deployment.deployment_folder())"


def test_a_service_runs_from_the_wheel_alone(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    install = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", site)
    subprocess.run([sys.executable, *install, wheel], check=True)
    environment = {"PYTHONPATH": str(site)}

    found = subprocess.run(
        [sys.executable, "-c", WHERE],
        env={**os.environ, **environment},
        capture_output=True,
        check=True,
        text=True,
    )
    assert Path(found.stdout.strip()) == site / "zero_memory" / "deployment"
    home = tmp_path / "home"
    with started([*ZM, "serve", "--home", home, "--port", "0", "--json"], home, environment) as it:
        stored = it.call("remember", {"content": "From a wheel.", "scope": "personal"})
        assert stored.status_code == 200, stored.text
        assert it.call("recall", {"query": "wheel"}).json()["hits"][0]["id"] == stored.json()["id"]
