"""Made-up results of the study of 2005 (web pages) and of our study of messages, in which every claim holds."""

OBJECTS = {"MS 1": 1, "MS 2": 2, "MS 3": 5, "MS 4": 10, "MS 5": 30, "MS 6": 50, "MS 7": 100, "MS 8": 300}
BASIC_1 = {"GSM": 9.7, "Modem": 13.4, "B1": 3.6, "B2": 6.8, "B3": 6.5}
IDLE = {
    "MS 6": {"B1": 16.0},
    "MS 7": {"GSM": 13.0, "Modem": 12.0, "B1": 45.0, "B2": 26.0, "B3": 29.0},
    "MS 8": {"GSM": 35.0, "Modem": 27.0, "B1": 69.0, "B2": 48.0, "B3": 51.0},
}
LONGER_MS_8 = {"GSM": 74.0, "Modem": 63.0, "B1": 270.0, "B2": 127.0, "B3": 131.0}
OVERHEAD_GSM = {
    "MS 3": 2_400.0,
    "MS 4": 6_800.0,
    "MS 5": 15_000.0,
    "MS 6": 18_000.0,
    "MS 7": 32_000.0,
    "MS 8": 63_600.0,
}
SYNACKS_GSM = {"MS 3": 5.25, "MS 5": 5.0, "MS 6": 3.0, "MS 8": 1.0}
TABLE_5_1 = {"first gap": 0.373, "second gap": 0.160, "third gap": 0.159, "period of a connection": 1.014}
BASIC_2 = {"GSM": 5.2, "B1": 3.0}
SCTP_R1 = {
    "MS 1": 112.0,
    "MS 2": 110.0,
    "MS 3": 108.0,
    "MS 4": 106.0,
    "MS 5": 104.0,
    "MS 6": 102.0,
    "MS 7": 100.0,
    "MS 8": 32.0,
}


def basic(sweep, measure, at):
    if measure == "":
        return ("data", "opening")
    tcp = at["protocol"] == "TCP"
    if sweep == "bytes":
        return {"data": 1860 if tcp else 1000, "opening": 100 if tcp else 340}[measure]
    longer = {"Basic 1": BASIC_1[at["network"]], "Basic 2": BASIC_2.get(at["network"], 6.0), "Basic 3": 0.0}[
        at["scenario"]
    ]
    return 10.0 if tcp else 10.0 * (1 + longer / 100)


def pages(sweep, measure, at):
    scenario, network, tcp = at["scenario"], at["network"], at.get("protocol", "TCP") == "TCP"
    late = list(OBJECTS).index(scenario) if scenario in OBJECTS else 0
    # Printed numbers contradict each other: 90 % with 50 connections, and 21 % longer. This is as close as both allow.
    longer = {
        "MS 1": 0.0,
        "MS 5": 3.0 if network == "GSM" else 1.0,
        "MS 6": 18.1 if network == "B1" else 4.0,
        "MS 7": 30.0,
        "MS 8": LONGER_MS_8[network]
        if sweep in ("packets", "traces")
        else 281.0
        if network == "B1"
        else 100.0,
    }.get(scenario, 0.5)
    return {
        "R2": 100 + longer if tcp else 103.0,
        "R1": 100.0 - 10 * late if tcp else SCTP_R1.get(scenario, 150.0),
        "first": 0.0,
        "drops": 5.0 if scenario in ("MS 2", "MS 3") else 0.0,
        "losers": 2.0,
        "fast_retransmits": 2.0,
        "timeouts": 0.0,
        "gaps": 0.0,
        "overflows": 2.0,
        "idle": (100 + longer) * IDLE.get(scenario, {}).get(network, 0.0) / 100,
    }[measure]


def traces(sweep, measure, at):
    scenario, network = at["scenario"], at["network"]
    if measure in TABLE_5_1:
        return TABLE_5_1[measure]
    longer = LONGER_MS_8[network] if scenario == "MS 8" else 0.0
    if measure == "idle":
        return (100 + longer) * IDLE.get(scenario, {}).get(network, 0.0) / 100
    if measure in ("counted", "overhead"):
        return OVERHEAD_GSM.get(scenario, 300.0) if network == "GSM" else 212.0 * OBJECTS[scenario]
    if measure == "synacks":
        return SYNACKS_GSM.get(scenario, 1.0)
    return 100 + longer if measure == "R2" else 1.0


def connections(sweep, measure, at):
    if at["way"] == "SCTP":
        return 100.0
    return 200.0 if at["rate"] < 1000 else 50.0


def losses_and_priorities(sweep, measure, at):
    if sweep == "losses":
        return 10.0 + 100 * at["p"] * (at["way"] == "SCTP, 1 stream")
    if measure == "index":
        return 10.0 if at["scheduler"] == "in turn" else 2.0
    return 100.0


HEAD_OF_LINE = {
    "one stream": 200.0,
    "two streams": 150.0,
    "I-DATA, priority": 100.0,
    "TCP": 300.0,
    "two streams, eight sources": 150.0,
    "two streams, eight sources, in turn": 500.0,
}


def head_of_line(sweep, measure, at):
    return HEAD_OF_LINE.get(at["how"], 50.0)


def deadlines(sweep, measure, at):
    if measure in ("in_time", "delivered"):
        return {"full": 80.0, "timed": 90.0}.get(at["reliability"], 85.0) + 5.0 * (at["subflows"] == "two")
    return 5.0


def signalling(sweep, measure, at):
    how = at["how"]
    if measure == "longest":
        return 100.0 if how.endswith("RACK") else 1000.0
    if measure == "p50":
        return 10.0
    return {"one stream": 200.0, "TCP": 300.0}.get(how, 100.0)


WORLDS = {
    "web-objects-2005/basic": basic, "web-objects-2005/ms": pages, "web-objects-2005/traces": traces,
    "web-objects-2005/connections": connections, "web-objects-2005/losses-and-priorities": losses_and_priorities,
    "messages/head-of-line": head_of_line, "messages/deadlines": deadlines, "messages/signalling": signalling,
}  # fmt: skip
