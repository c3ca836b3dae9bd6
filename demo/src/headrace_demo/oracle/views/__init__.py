"""What the views on redo show, and the peculiarities of servers that they have."""
