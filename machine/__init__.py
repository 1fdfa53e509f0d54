"""What a program needs from its machine: files, folders, revision, progress, processes, settings."""
