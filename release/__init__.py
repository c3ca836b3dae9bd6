"""What a release is made of: `make dist` writes it to dist/. `site_pages` belongs to `make site`,
and `terminal_picture` to `make pictures`.

Sdists and wheels of headrace and headrace-demo, for each a bill of materials (CycloneDX) and a list
of the licences of what it depends on, and the checksums of all of it.
"""
