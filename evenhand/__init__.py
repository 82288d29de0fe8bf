"""Common ground: command line, configs, records, run directories, checkpoints, chat templates, fetching."""
