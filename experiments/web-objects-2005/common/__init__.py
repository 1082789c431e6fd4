"""What the experiments of this study share: the networks, the scenarios, and what a spreadsheet makes of packets."""
