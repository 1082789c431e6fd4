"""Code that the experiments of this study share."""
