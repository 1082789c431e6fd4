"""Code that the experiments of this study share: the networks, the scenarios, and the spreadsheet's calculations on packets."""
