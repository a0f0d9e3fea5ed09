"""The search for a plan on any network, for least movement, time or memory."""
