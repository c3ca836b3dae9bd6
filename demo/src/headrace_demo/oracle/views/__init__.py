"""Views on redo, with the peculiarities of servers."""
