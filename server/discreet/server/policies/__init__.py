"""Policy revisions: from Git or a folder, compiled aside, published to SQL, swapped whole."""
