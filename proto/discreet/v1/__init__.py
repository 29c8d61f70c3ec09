"""Messages and services of Discreet's API, generated from the .proto files beside this module (`make proto`)."""
