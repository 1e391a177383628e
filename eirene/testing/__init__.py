"""What tests and benchmarks need, and users may: a scripted server on loopback. Nothing here is used in a run."""
