"""Records of publishers and users, read with every wrong field named by file and line."""
