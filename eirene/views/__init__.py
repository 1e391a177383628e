"""Shows a record to a person, on a terminal or as a web page. Reads records alone: scores nothing, runs no loop."""
