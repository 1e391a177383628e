"""Finished rows in a file of JSON Lines, so that a command goes on where it was stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Journal:
    """Rows by their key. A line that was cut off when the command was killed is no row; it is made again."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._file = file
        self.rows: dict[str, dict[str, Any]] = {}
        whole = file.read_text("utf-8").rpartition("\n")[0] if file.exists() else ""
        for line in whole.splitlines():
            row = json.loads(line)
            self.rows[row["key"]] = row
        file.write_text("".join(json.dumps(row) + "\n" for row in self.rows.values()), "utf-8")

    def add(self, key: str, **values: Any) -> None:
        """Writes a row at once."""
        self.rows[key] = {"key": key, **values}
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self.rows[key]) + "\n")
