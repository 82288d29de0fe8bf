"""Files from publishers: downloaded with checksums, and read with every wrong field named by file and line."""
