"""Threads of Reddit from Pushshift's dumps (section 5)."""
