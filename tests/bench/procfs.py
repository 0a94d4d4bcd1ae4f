"""What a process costs, from /proc: CPU by thread, switches, memory, descriptors."""
import os
import re


def read(path: str) -> str:
    """The file's text, empty where it is gone."""
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def field(text: str, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+)", text, re.M)
    return int(found[1]) if found else 0


TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")


def machine_busy_ms() -> float:
    """CPU time that anything on this machine used."""
    times = [int(word) for word in read("/proc/stat").split("\n")[0].split()[1:9]]
    return (sum(times) - times[3] - times[4]) * TICK_MS  # less idle and iowait


def threads(pid: int) -> dict:
    """CPU milliseconds and context switches by thread."""
    found = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        at = f"/proc/{pid}/task/{task}"
        schedule = read(f"{at}/schedstat").split()
        status = read(f"{at}/status")
        found[int(task)] = {
            "name": read(f"{at}/comm").strip(),
            "cpu_ms": int(schedule[0]) / 1e6 if schedule else 0.0,
            "switches": field(status, "voluntary_ctxt_switches") + field(status, "nonvoluntary_ctxt_switches"),
        }
    return found


def process_cpu_ms(pid: int) -> float:
    """CPU time of the process, threads that ended included, to a clock tick."""
    words = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) * TICK_MS if len(words) > 12 else 0.0


def snapshot(pid: int) -> dict:
    return {"threads": threads(pid), "process_ms": process_cpu_ms(pid), "machine_ms": machine_busy_ms()}


def memory_mb(pid: int) -> dict:
    status = read(f"/proc/{pid}/status")
    return {"rss_mb": field(status, "VmRSS") / 1024, "anon_mb": field(status, "RssAnon") / 1024}


def descriptors(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def group(name: str, leader: bool) -> str:
    """What a thread does: the main one, the software driver's rasteriser, or the rest."""
    if leader:
        return "main"
    return "raster" if re.match(r"llvmpipe|lp-|lavapipe", name) else "other"


def spent(pid: int, start: dict, end: dict) -> dict:
    """CPU milliseconds by group and switches between two snapshots."""
    cost = {"main": 0.0, "raster": 0.0, "other": 0.0, "switches": 0}
    for task, now in end["threads"].items():
        then = start["threads"].get(task, {"cpu_ms": 0.0, "switches": 0})
        cost[group(now["name"], task == pid)] += now["cpu_ms"] - then["cpu_ms"]
        cost["switches"] += now["switches"] - then["switches"]
    # Threads that ended in between are in the process's own count alone, which is coarser.
    gone = end["process_ms"] - start["process_ms"] - cost["main"] - cost["raster"] - cost["other"]
    if gone > 4 * TICK_MS + 0.02 * (end["process_ms"] - start["process_ms"]):
        cost["other"] += gone
    return cost
