"""How the house is built: walls, sizes, names."""
