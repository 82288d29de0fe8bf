"""r/AIO (DialDefer §3.2.2, appendix B): the released set, and how such a set is made from Reddit's screenshots."""
