"""The models: the throughput of an association on a network, by equations. docs/explanation/models.md has the use of each.

| file | contents |
|---|---|
| `stochastic` | 4.1 to 4.18 and 4.28 of Zou (2007): one window, random losses |
| `shared` | 4.19 to 4.27: subflows that share a window |
| `deterministic` | 4.29 to 4.55: one Drop-Tail bottleneck; the bound P_rr |
| `timeouts` | 4.2 with the terms of Padhye et al. |
| `renewal` | ours: the stationary window under random losses, with the rules of an engine |
| `cubic` | RFC 9438, section 5: CUBIC under random losses |
| `audit` | which equations are right |
| `network` | four ways to use a network, by every model that applies |
| `command` | `anabranch-lab model` |
"""

from . import audit, cubic, deterministic, network, renewal, shared, stochastic, timeouts

__all__ = ["audit", "cubic", "deterministic", "network", "renewal", "shared", "stochastic", "timeouts"]
