"""Made-up results of two studies of this project (many code points, rate) in which every hypothesis holds."""

COUNTING = ("rfc9260", "linux-6.1")


def reordering(sweep, measure, at):
    learning = at["rules"] in COUNTING or sweep == "start"
    plain = at["how"].endswith("plain") and learning and at["later"] > 20
    return {"spurious": 10.0 if plain else 0.0, "total": 5.0 if plain else 10.0}.get(measure, 30.0)


def queues(sweep, measure, at):
    served = at["queue"] in ("priority", "WFQ", "NQB", "L4S-like")
    plain = at["how"].endswith("plain") and at["rules"] in COUNTING and served
    if measure == "spurious":
        return 10.0 if plain else 0.0
    if measure == "total":
        return 7.0 if plain else 10.0
    if "level" in at["how"]:
        return 20.0
    return 25.0 if at["how"].startswith("two ") else 80.0


def harm(sweep, measure, at):
    """One window has as much as CUBIC, n independent ones have n times as much."""
    if measure == "many":
        return 10.0
    if sweep == "associations":
        return 20.0 / (1 + at["associations"])
    if sweep == "windows":
        return 20.0 / (1 + int(at["windows"])) if at["coupling"] == "independent" else 10.0
    if sweep == "rules" and at["how"].endswith("independent"):
        return 20.0 / (1 + {"two": 2, "three": 3, "four": 4}[at["how"].split()[0]])
    return 5.0 if at["how"].endswith("independent") else 10.0


def code_points(sweep, measure, at):
    stopped = ("drops EF", "polices EF to 32 kbit/s", "drops AF41")
    stops = at["network"] in stopped and not at["how"].endswith("level 1")
    if measure in ("video_in_time", "audio_in_time"):
        return 0.0 if stops else 100.0
    return 10.0 if measure == "total" else 50.0


def window(sweep, measure, at):
    """128 kB are enough for level 1 and not for level 0."""
    if at["how"] == "one code point, EF":
        return 70.0
    return 90.0 if at["how"].endswith("level 0") and at["window"] == 128 else 30.0


def drop_precedence(sweep, measure, at):
    """The first precedence for all takes most, one window for all is slow."""
    how = at["how"]
    if measure == "spurious":
        return 0.0
    if measure == "rivals":
        return 5.0 if how == "AF41 for all" else 8.0
    if measure == "audio_p99":
        return 100.0 if how == "AF43 for all" else 30.0
    if measure == "video_p99":
        return 50.0 if how.endswith("independent") else 100.0
    return 9.0


def coupled(sweep, measure, at):
    """Subflows have the delay of their class, and a sender of L4S takes more."""
    if measure == "audio_p99":
        return 80.0 if at["how"] == "one code point" and "marks" not in sweep else 20.0
    if measure == "rivals":
        return 5.0 if at.get("ecn") == "L4S" else 8.0
    return 9.0


def fairness(sweep, measure, at):
    one, other = at["pair"].split(" and ")
    if measure == "sum":
        return 19.0
    if measure == "jain":
        return 0.99
    bbr = {"0.25": 0.8, "1": 0.6, "2": 0.4, "4": 0.3}[at["queue"]]
    if one.endswith("BBR") != other.endswith("BBR"):
        share = bbr if one.endswith("BBR") else 1 - bbr
        return share - 0.1 if sweep == "turned" else share
    if sweep == "turned":
        return 0.3
    return 0.5 if at["rtt"] == "40 ms" else 0.7


def adaptive_grid(sweep, measure, at):
    return 10.0


def bottleneck_groups(sweep, measure, at):
    return 1.0


def short_tail(sweep, measure, at):
    """A lost control chunk costs a second, with the probe two round trips; of twenty flows two are late, with the probe one."""
    if measure != "close":
        return 20.0 if measure == "sent" else 19.0
    trip, probed = float(at["trip"]), at["who"] == "SCTP modern"
    alone = 4.5 * trip
    if sweep == "random":
        return alone + (1000.0 if at["again"] <= (1 if probed else 2) else 0.0)
    way = "down" if sweep == "server" else "up"
    position = at[way]
    if (way, position) == ("down", 2):
        return alone + (1900.0 if trip == 300 else 1100.0) * (0.4 if probed else 1.0)
    lost = position in ((19,) if way == "down" else (2, 19))
    return alone + (0.0 if not lost else 2 * trip if probed else 1000.0)


def long_paths(sweep, measure, at):
    if sweep == "transfer":
        return 1.5 if measure == "seconds" else 100.0
    who, network = at["who"], at["network"]
    if sweep == "pictures":
        return 3.0
    whole = {"50 Mbit/s, 300 ms": 50.0, "1 Gbit/s, 20 ms": 1000.0}.get(network, 100.0)
    if measure != "goodput":
        return 20.0
    if who == "SCTP, RFC 9260":
        return 0.4 * whole
    if "lost" in network:
        return 0.93 * whole if who.endswith("BBR") else 0.05 * whole
    return 0.95 * whole


WORLDS = {
    "dscp-2026/reordering": reordering, "dscp-2026/queues": queues, "dscp-2026/harm": harm,
    "dscp-2026/drop-precedence": drop_precedence, "dscp-2026/coupled": coupled,
    "dscp-2026/code-points": code_points, "dscp-2026/window": window, "rate/fairness": fairness,
    "rate/long-paths": long_paths, "rate/short-tail": short_tail,
    "sf-sctp-2007/adaptive-grid": adaptive_grid, "sf-sctp-2007/bottleneck-groups": bottleneck_groups,
}  # fmt: skip
