"""The contract modules, tested without any other part."""
