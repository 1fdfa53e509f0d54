"""`paratus blueprint COMMAND`: one module a command, each with `add_arguments` and `run_command`."""
