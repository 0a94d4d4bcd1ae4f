"""What a Wayland compositor costs a frame, and how long it takes to the first one.

Starts each compositor of `profiles.py` with a runtime directory of its own, waits for its socket, lets loadclient load
it, and reads its process from /proc at both ends of the measured time. Runs are interleaved: each round measures every
profile once, so that what else the machine does falls on all alike. One JSON line a run in OUT/runs.jsonl, the table
in OUT/table.md and on the standard output, beside it the path that each figure took. Standard library only.
"""
import argparse
import collections
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import procfs
from profiles import SCENARIOS, profiles

MOUNT = """mount --rbind /proc "$R/proc"; mount --rbind /dev "$R/dev"; mount -t tmpfs tmpfs "$R/tmp"; mkdir -p "$R$D"
mount --bind "$D" "$R$D"; mount --bind "$B" "$R/opt/transom"
"""


class Fail(Exception):
    """A run that gave no figure."""


def placed(profile, command: str, env: dict, runtime: str, args) -> list[str]:
    """The arguments that start a command where the profile belongs."""
    words = [f"{key}={value}" for key, value in env.items()]
    if profile.place == "host":
        return ["env", *words, *shlex.split(command)]
    for folder in ("proc", "dev", "tmp", "opt/transom"):
        os.makedirs(os.path.join(args.peers, folder), exist_ok=True)
    inner = ["/usr/bin/env", "-i", "PATH=/usr/bin", "LANG=C.UTF-8", f"HOME={runtime}", *words, *shlex.split(command)]
    variables = f"R={shlex.quote(args.peers)}; D={shlex.quote(runtime)}; B={shlex.quote(os.path.dirname(args.transom))}\n"
    script = variables + MOUNT + f'exec chroot "$R" {shlex.join(inner)}'
    # Mounts of its own; who is not root gets the right to make them from a user namespace.
    return ["unshare", "-m", *([] if os.getuid() == 0 else ["-r"]), "/bin/sh", "-ec", script]


def fill(text: str, scenario, runtime: str) -> str:
    parts = {"{w}": str(scenario.width), "{h}": str(scenario.height), "{rt}": runtime, "{conf}": f"{runtime}/conf"}
    return re.sub("|".join(map(re.escape, parts)), lambda found: parts[found[0]], text)


def version(profile, args) -> str:
    with tempfile.TemporaryDirectory(prefix="bench.") as runtime:
        argv = placed(profile, profile.version, {"XDG_RUNTIME_DIR": runtime}, runtime, args)
        try:
            said = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"unknown: {error}"
        return " ".join((said.stdout or said.stderr).split())[:60]


def wait_for_socket(compositor, runtime: str, patience: float) -> str:
    limit = time.monotonic() + patience
    while time.monotonic() < limit:
        if compositor.poll() is not None:
            raise Fail(f"the compositor ended with status {compositor.returncode} before it had a socket")
        for name in sorted(os.listdir(runtime)):
            if re.fullmatch(r"wayland-\w+", name):
                return name
        time.sleep(0.002)
    raise Fail("no Wayland socket")


def load(compositor, scenario, socket: str, runtime: str, args) -> dict:
    """Runs loadclient; what it saw, and snapshots of the compositor at both ends of the measured time."""
    seconds = scenario.seconds or args.seconds
    argv = [args.client, *scenario.load.split(), "--warmup", str(args.warmup), "--seconds", str(seconds)]
    env = {**os.environ, "XDG_RUNTIME_DIR": runtime, "WAYLAND_DISPLAY": socket}
    seen = {}
    with open(f"{runtime}/client.log", "w+", encoding="utf-8") as errors:
        client = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=errors, text=True)
        limit = threading.Timer(args.warmup + seconds + 60, client.kill)
        limit.start()
        try:
            for line in client.stdout:
                said = json.loads(line)
                seen[said["event"]] = said
                if said["event"] in ("start", "end"):
                    said.update(procfs.snapshot(compositor.pid), **procfs.memory_mb(compositor.pid))
                    said["fds"] = procfs.descriptors(compositor.pid)
        finally:
            client.wait()
            limit.cancel()
        if "result" not in seen:
            errors.seek(0)
            raise Fail(f"loadclient: status {client.returncode}: {' '.join(errors.read().split())[:200]}")
    return seen


def stats(socket: str, runtime: str, args) -> dict:
    """What Transom itself counted."""
    env = {**os.environ, "TRANSOM_SOCKET": f"{runtime}/transom-{socket}.sock"}
    said = subprocess.run([args.transom, "msg", "--json", "stats"], env=env, capture_output=True, text=True, timeout=20, check=False)
    if said.returncode != 0:
        raise Fail(f"no stats: {said.stderr.strip()[:200]}")
    return json.loads(said.stdout)


@contextlib.contextmanager
def started(profile, scenario, runtime: str, args):
    """The compositor, ended with all that it started; yields it and the time before it was there."""
    with open(f"{runtime}/conf", "w", encoding="utf-8") as conf:
        conf.write(fill(profile.conf, scenario, runtime))
    env = {**profile.env, "XDG_RUNTIME_DIR": runtime}
    argv = placed(profile, fill(profile.command, scenario, runtime), env, runtime, args)
    outer = {key: value for key, value in os.environ.items() if key not in ("WAYLAND_DISPLAY", "DISPLAY", "WAYLAND_SOCKET")}
    with open(f"{runtime}/log", "w", encoding="utf-8") as log:
        began = time.monotonic_ns()
        compositor = subprocess.Popen(argv, env=outer, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            yield compositor, began
        finally:
            compositor.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                compositor.wait(8)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(compositor.pid, signal.SIGKILL)  # its own session: it and what it left behind
            compositor.wait()


def measure(profile, scenario, args) -> dict:
    """One run."""
    row = {"place": profile.place, "profile": profile.name, "scenario": scenario.name}
    runtime = tempfile.mkdtemp(prefix="bench.")
    try:
        with started(profile, scenario, runtime, args) as (compositor, began):
            socket = wait_for_socket(compositor, runtime, 30)
            seen = load(compositor, scenario, socket, runtime, args)
            path = stats(socket, runtime, args) if profile.msg else None
            if compositor.poll() is not None:
                raise Fail(f"the compositor ended with status {compositor.returncode} while it was measured")
            return {**row, **summed(compositor.pid, seen, began), "stats": path, "client": seen["result"]}
    except Fail as error:
        log = [line for line in procfs.read(f"{runtime}/log").split("\n") if line]
        return {**row, "error": str(error), "log": log[-6:]}
    finally:
        shutil.rmtree(runtime, ignore_errors=True)


def summed(pid: int, seen: dict, began: int) -> dict:
    result, start, end = seen["result"], seen["start"], seen["end"]
    frames = result["presented"] or result["callbacks"]
    cost = procfs.spent(pid, start, end)
    total = cost["main"] + cost["raster"] + cost["other"]
    foreign = end["machine_ms"] - start["machine_ms"] - total - result["client_cpu_ms"]
    per_frame = lambda amount: amount / frames if frames else None
    median = lambda series: result[series]["p50"] if result[series] else None
    return {
        "first_frame_ms": (seen["ready"]["first_frame_ns"] - began) / 1e6,
        "frames": frames,
        "fps": frames / result["seconds"],
        "main_ms": per_frame(cost["main"]),
        "raster_ms": per_frame(cost["raster"]),
        "other_ms": per_frame(cost["other"]),
        "total_ms": per_frame(total),
        "switches": per_frame(cost["switches"]),
        "rss_mb": end["rss_mb"],
        "anon_mb": end["anon_mb"],
        "fds": end["fds"],
        "interval_ms": median("interval_ms"),
        "release_ms": median("release_ms"),
        "latency_ms": median("latency_ms"),
        "foreign_cpu_percent": max(foreign, 0) / result["seconds"] / 10,
    }


COLUMNS = [  # header, key, digits
    ("first frame ms", "first_frame_ms", 0), ("fps", "fps", 1), ("main ms/f", "main_ms", 2), ("raster ms/f", "raster_ms", 2),
    ("other ms/f", "other_ms", 2), ("total ms/f", "total_ms", 2), ("switches/f", "switches", 1), ("RSS MB", "rss_mb", 0),
    ("fds", "fds", 0), ("release ms", "release_ms", 1), ("latency ms", "latency_ms", 1), ("foreign CPU %", "foreign_cpu_percent", 0),
]


def cell(rows: list, key: str, digits: int) -> str:
    values = [row[key] for row in rows if row[key] is not None]
    if not values:
        return "-"
    middle, low, high = (f"{value:.{digits}f}" for value in (statistics.median(values), min(values), max(values)))
    return middle if low == high else f"{middle} ({low}-{high})"


def path_of(row: dict) -> str:
    """How Transom's frames came about, so that no figure is read as another path's."""
    said = row["stats"]
    output, total = said["outputs"][0], said["total"]
    copied = " ".join(
        f"{tier}={moved['cpu_bytes'] / 1e6:.0f}+{moved['gpu_bytes'] / 1e6:.0f} MB" for tier, moved in total["shm"].items() if any(moved.values())
    )
    counts = " ".join(f"{key}={total[key]}" for key in ("submits", "draws", "transfers", "barrier_calls", "objects_created"))
    return f"presented={output['presented']} scanned_out={output['scanned_out']} {counts}; by CPU+GPU {copied or 'nothing'}; {said['renderer']['device']}"


def table(rows: list, versions: dict) -> str:
    """Medians, lowest and highest of each profile and scenario."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["scenario"], row["place"], row["profile"]].append(row)
    lines = ["| scenario | place | profile | runs | " + " | ".join(column[0] for column in COLUMNS) + " |"]
    lines.append("|" + "---|" * (4 + len(COLUMNS)))
    paths = []
    for key, group in sorted(groups.items(), key=lambda item: item[0][:2]):
        good = [row for row in group if "error" not in row]
        cells = [cell(good, name, digits) for _, name, digits in COLUMNS] if good else [group[-1]["error"]]
        lines.append("| " + " | ".join([*key, str(len(good)), *cells]) + " |")
        if good and good[-1]["stats"]:
            paths.append(f"- {' '.join(key)}: {path_of(good[-1])}")
    lines += ["", "Paths taken (last run, since its start):", *paths, "", "Versions:"]
    lines += [f"- {place} {name}: {said}" for (place, name), said in versions.items()]
    return "\n".join(lines) + "\n"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0], prog="./dev bench")
    parser.add_argument("-p", "--profiles", help="names, comma-separated, each as NAME or PLACE:NAME (default: all)")
    parser.add_argument("-s", "--scenarios", help="names, comma-separated")
    parser.add_argument("-r", "--runs", type=int, default=3)
    parser.add_argument("--warmup", type=float, default=2.0, help="seconds")
    parser.add_argument("--seconds", type=float, default=5.0, help="measured")
    parser.add_argument("--list", action="store_true", help="name the profiles and scenarios")
    for name in ("transom", "client", "out", "peers"):
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    args = arguments()
    every = profiles(args.transom, bool(args.peers))
    if args.list:
        print("\n".join([f"{p.place}:{p.name}  {p.command}" for p in every] + [f"{s.name}  {s.load}" for s in SCENARIOS]))
        return
    wanted = args.profiles.split(",") if args.profiles else None
    chosen = [p for p in every if not wanted or p.name in wanted or f"{p.place}:{p.name}" in wanted]
    names = args.scenarios.split(",") if args.scenarios else [s.name for s in SCENARIOS if s.default]
    scenarios = [s for s in SCENARIOS if s.name in names]
    if not chosen or len(scenarios) != len(names):
        sys.exit("no such profile or scenario; --list names them")
    os.makedirs(args.out, exist_ok=True)
    versions = {(p.place, p.name): version(p, args) for p in chosen}
    rows = []
    with open(f"{args.out}/runs.jsonl", "w", encoding="utf-8") as file:
        for turn in range(args.runs):
            for scenario in scenarios:
                for profile in chosen:
                    row = {"turn": turn, "version": versions[profile.place, profile.name], **measure(profile, scenario, args)}
                    rows.append(row)
                    file.write(json.dumps(row) + "\n")
                    file.flush()
                    said = row.get("error") or f"{row['fps']:.1f} fps, {row['total_ms'] or 0:.2f} ms a frame"
                    print(f"[{turn + 1}/{args.runs}] {scenario.name} {profile.place}:{profile.name}: {said}", file=sys.stderr)
                    for line in row.get("log", []):
                        print(f"    {line}", file=sys.stderr)
    text = table(rows, versions)
    with open(f"{args.out}/table.md", "w", encoding="utf-8") as file:
        file.write(text)
    print(text, end="")
    sys.exit(any("error" in row for row in rows))


if __name__ == "__main__":
    main()
