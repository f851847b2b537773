from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import ramet

HERE = Path(__file__).resolve().parents[1]


def test_wheel_and_sdist_install_into_a_fresh_environment(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "-o", str(tmp_path / "dist"), str(HERE)], check=True
    )
    (wheel,), (sdist,) = (tmp_path / "dist").glob("*.whl"), (tmp_path / "dist").glob("*.tar.gz")
    assert wheel.name == f"ramet-{ramet.__version__}-py3-none-any.whl"
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    for archive, more in ((wheel, []), (sdist, ["--force-reinstall", "--no-deps"])):
        subprocess.run([python, "-m", "pip", "install", "-q", *more, str(archive)], check=True)
        out = subprocess.run(
            [python, "-m", "ramet", "--version"], check=True, capture_output=True, text=True, cwd=tmp_path
        )
        assert out.stdout.strip() == ramet.__version__
        (typed,) = (tmp_path / "env").rglob("ramet/py.typed")
        assert typed.is_file()
