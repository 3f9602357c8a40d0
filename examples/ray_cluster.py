"""A grid of trainings and evaluations as tasks of a Ray cluster on this machine (pip install 'housemates[cluster]').

    python examples/ray_cluster.py --out runs/ray

The same command continues what was interrupted. On several machines start Ray on each of them and give its address.
"""

import subprocess
import sys
from pathlib import Path

import ray
import tyro


def main(
    out: Path = Path("runs/ray"), grid: str = "smoke", address: str = "", cpus: int = 2, change: tuple[str, ...] = ()
) -> int:
    """Run a grid on Ray; returns the exit code of `housemates benchmark`.

    Args:
        out: the folder of everything.
        grid: smoke, observations, ablations, main or paper.
        address: of a running cluster; empty: start one on this machine.
        cpus: cores of the cluster that is started here.
        change: settings for every run, such as num_envs=8.
    """
    if not address:
        address = ray.init(num_cpus=cpus, include_dashboard=False, log_to_driver=False).address_info["gcs_address"]
    words = ["benchmark", "--out", str(out), "--grid", grid, "--cluster", address, "--no-films"]
    words += ["--change", *change] if change else []
    code = subprocess.call([sys.executable, "-m", "housemates", *words])
    runs = sorted(folder.name for folder in (out / "runs").glob("*") if folder.is_dir())
    print(f"exit code {code}; runs: {', '.join(runs)}")
    ray.shutdown()
    return code


if __name__ == "__main__":
    tyro.cli(main)
