"""Policy sets: files in, compiled revisions or placed problems out."""
