"""Reading files, and what is wrong with them in one line: file, key, what was found, what is allowed."""
