"""A training that ran: its losses as a document, and as a picture."""
