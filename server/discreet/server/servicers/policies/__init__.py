"""PolicyService: policy revisions published, rolled back, unpinned and listed."""
