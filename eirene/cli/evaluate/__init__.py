"""`eirene evaluate`, a file for each subcommand."""
