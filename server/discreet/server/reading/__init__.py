"""Facts for decisions: read from the store, kept while nothing changed them."""
