"""A comparison for people: tables, sections of the HTML report."""
