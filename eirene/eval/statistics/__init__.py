"""Statistics: bootstrap, ranking metrics, ROC."""
