"""What is measured: compositors (profiles) and loads (scenarios).

A profile's command has {w}, {h}, {rt} (its runtime directory) and {conf} (a file with the profile's configuration)
filled in. `place` is where it runs: on the host, or in the tree of unpacked peers, so that those compared share one
distribution, its Mesa included.
"""
import dataclasses
import re
import shutil
import subprocess


@dataclasses.dataclass(frozen=True)
class Profile:
    name: str
    place: str  # "host" or "peers"
    command: str
    conf: str = ""
    env: dict = dataclasses.field(default_factory=dict)
    version: str = ""  # a command that prints it
    msg: bool = False  # answers on Transom's control socket


@dataclasses.dataclass(frozen=True)
class Scenario:
    name: str
    width: int
    height: int
    load: str  # loadclient's arguments
    default: bool = True
    seconds: float | None = None  # measured, where it is not the option's


SCENARIOS = [
    # A small window that never changes: for the first frame, and for what an idle frame callback costs.
    Scenario("start", 1920, 1080, "--mode still --size 256x256 --buffers 1", seconds=1),
    Scenario("full1080", 1920, 1080, "--mode full --size 1920x1080 --fullscreen"),
    Scenario("full4k", 3840, 2160, "--mode full --size 3840x2160 --fullscreen", default=False),
    Scenario("many20", 1920, 1080, "--mode small --surfaces 20 --size 400x300 --within 1920x1080 --fullscreen"),
    Scenario("still1080", 1920, 1080, "--mode still --size 1920x1080 --fullscreen", default=False),
]

WESTON = "weston --backend=headless --shell=kiosk --no-config --width={w} --height={h} --socket=wayland-1 --renderer="
# Before weston 12; its kiosk shell sends a headless client no frame callbacks.
WESTON_OLD = "weston --backend=headless-backend.so --no-config --width={w} --height={h} --socket=wayland-1 --use-"
SWAY = """output * mode --custom {w}x{h}@60Hz
output * bg #000000 solid_color
default_border none
swaybg_command -
xwayland disable
"""
SWAY_ENV = {"WLR_BACKENDS": "headless", "WLR_LIBINPUT_NO_DEVICES": "1", "WLR_RENDERER": "pixman"}
# Otherwise a fullscreen client's buffer is shown as it is, and nothing is composited.
NO_SCAN_OUT = {"WLR_SCENE_DISABLE_DIRECT_SCANOUT": "1"}


def weston_version() -> int:
    """Major version of the host's weston, 0 for none."""
    if not shutil.which("weston"):
        return 0
    said = subprocess.run(["weston", "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
    found = re.search(r"(\d+)\.", said)
    return int(found[1]) if found else 0


def profiles(transom: str, peers: bool) -> list[Profile]:
    """All profiles that can run here, in the order of the table."""
    run = " run --backend headless --output {w}x{h}@60 --config {conf}"
    composited, shown = "[headless]\nscan-out = false\n", "[headless]\nscan-out = true\n"
    found = [
        Profile("transom", "host", transom + run, composited, version=f"{transom} --version", msg=True),
        Profile("transom-scanout", "host", transom + run, shown, version=f"{transom} --version", msg=True),
    ]
    major = weston_version()
    if major:
        weston = WESTON if major >= 12 else WESTON_OLD
        found += [Profile(f"weston{major}-{r}", "host", weston + r, version="weston --version") for r in ("gl", "pixman")]
    if peers:
        inside = "/opt/transom/transom"
        found += [
            Profile("transom", "peers", inside + run, composited, version=f"{inside} --version", msg=True),
            Profile("transom-scanout", "peers", inside + run, shown, version=f"{inside} --version", msg=True),
        ]
        found += [Profile(f"weston-{r}", "peers", WESTON + r, version="weston --version") for r in ("vulkan", "gl", "pixman")]
        found += [
            Profile("sway-pixman", "peers", "sway -c {conf}", SWAY, {**SWAY_ENV, **NO_SCAN_OUT}, "sway --version"),
            Profile("sway-pixman-scanout", "peers", "sway -c {conf}", SWAY, SWAY_ENV, "sway --version"),
        ]
    return found
