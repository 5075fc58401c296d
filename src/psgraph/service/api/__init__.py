"""The HTTP interface, one router per topic."""
