"""Plan search on any network, for least communication, time or memory."""
