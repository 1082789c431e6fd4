"""The laboratory of anabranch: sweeps, claims, figures and reports over its simulator."""
