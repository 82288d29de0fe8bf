"""The narrator study: one speaker of a conflict is called Me, and judges are asked who is to blame."""
