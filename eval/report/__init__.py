"""The report page: tables, plots, HTML. Which study it is about stands in the parts that it is given."""
