"""The sidecar: brings snapshot and facts to the core and writes down what it said. The core knows nothing of it."""
