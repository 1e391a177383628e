"""What figures are compared with: bootstrap, ranking, ROC."""
