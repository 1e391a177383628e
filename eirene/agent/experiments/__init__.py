"""Many cases, a journal, a table: comparing modes, measuring critics and detectors."""
