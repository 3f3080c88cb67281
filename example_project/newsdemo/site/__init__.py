"""The bundled news site: its stories, its pages and a local server for them."""
