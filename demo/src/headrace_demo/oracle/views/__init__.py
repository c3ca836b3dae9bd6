"""Views on redo, with the peculiarities of real servers."""
