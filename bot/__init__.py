"""The client and server: configuration, sessions with a dealer, clock, command line."""
