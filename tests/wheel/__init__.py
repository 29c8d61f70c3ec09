"""What users install is the wheel, not the tree: these tests build it and use it."""
