"""What differs in meaning between policy sets: complete, sound in its directions, blind to layout."""
