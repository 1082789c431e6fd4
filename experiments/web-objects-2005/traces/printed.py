"""What the thesis prints."""

IDLE = {
    "MS 6": {"GSM": 0.0, "Modem": 0.0, "B1": 16.0, "B2": 0.0, "B3": 0.0},
    "MS 7": {"GSM": 13.0, "Modem": 12.0, "B1": 45.0, "B2": 26.0, "B3": 29.0},
    "MS 8": {"GSM": 35.0, "Modem": 27.0, "B1": 69.0, "B2": 48.0, "B3": 51.0},
}
"""Table 5.4: percent of the time in which the line had nothing to send."""

LONGER_MS_8 = {"GSM": 74.0, "Modem": 63.0, "B1": 270.0, "B2": 127.0, "B3": 131.0}
"""Section 5.3.4: percent that R2 is longer than in MS 1."""

OVERHEAD_GSM = {
    "MS 3": 2_400.0,
    "MS 4": 6_800.0,
    "MS 5": 15_000.0,
    "MS 6": 18_000.0,
    "MS 7": 32_000.0,
    "MS 8": 63_600.0,
}
"""Section 5.3.4: bytes that are no user data."""

SYNACKS_GSM = {"MS 3": 5.25, "MS 5": 5.0, "MS 6": 3.0, "MS 8": 1.0}
"""Copies of a SYN-ACK for each connection but the first. "Retransmissions occurred two times": three copies."""

TABLE_5_1 = """
2   0.000   76 2886 0.000 0.010 0.000
4   0.383 1468 2886 0.383 0.579 0.373
5   0.383 1468 2886 0.579 0.774 0.000
7   0.390   76 2887 0.774 0.784 0.000
9   0.944 1468 2886 0.944 1.140 0.160
10  0.944 1468 2886 1.140 1.335 0.000
11  0.944  468 2886 1.335 1.398 0.000
14  1.146 1468 2887 1.398 1.594 0.000
15  1.147 1468 2887 1.594 1.789 0.000
17  1.154   76 2888 1.789 1.799 0.000
22  1.959 1468 2887 1.959 2.155 0.159
23  1.959 1468 2887 2.155 2.350 0.000
24  1.959  468 2887 2.350 2.413 0.000
27  2.160 1468 2888 2.413 2.608 0.000
28  2.160 1468 2888 2.608 2.804 0.000
30  2.168   76 2889 2.804 2.814 0.000
35  2.974 1468 2888 2.974 3.169 0.159
36  2.974 1468 2888 3.169 3.365 0.000
"""
"""Number, time, size, port of the client, start, end, idle time."""

MODEM_UP = 33_000
"""Bits per second of the Modem's uplink in Table 5.2; Table 4.4 has 33.6 kbit/s."""

TABLE_5_2 = {
    "GSM": (595.2, 1.529, 3.058, 4.588, 2.220),
    "Modem": (354.4, 0.245, 0.489, 1.068, 0.331),
    "B1": (2700.0, 0.196, 0.391, 0.587, 0.565),
    "B2": (1125.0, 0.078, 0.157, 0.235, 0.142),
    "B3": (1200.0, 0.029, 0.059, 0.088, 0.055),
}
"""Bandwidth-delay product in bytes, seconds for one, two and three data packets, seconds for a data packet and its ACK."""

TABLE_5_3 = {1: (32, 28, 14), 2: (64, 44, 45), 3: (96, 60, 60), 4: (128, 76, 68), 5: (160, 92, 74)}
"""Chunks: bytes of TCP's headers, of SCTP's, and how much more, in percent."""


def rows_5_1() -> list[tuple[float, int, float, float, float]]:
    """Table 5.1 as time, size, start, end and idle time."""
    found = []
    for line in TABLE_5_1.strip().splitlines():
        _, time, size, _, start, end, idle = line.split()
        found.append((float(time), int(size), float(start), float(end), float(idle)))
    return found
