"""What `headrace check` looks at, and what each start requires."""
