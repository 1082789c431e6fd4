"""What the experiments of this study share."""
