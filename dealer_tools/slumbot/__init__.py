"""Playing hands with slumbot.com, or a server that speaks as it does; and such a server."""
