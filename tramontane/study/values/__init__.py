"""What typed descriptions are made of: settings and their fields, quantities with units, expressions."""
