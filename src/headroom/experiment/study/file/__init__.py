"""The study file: reading, its errors with their lines, its schema, settings from outside."""
