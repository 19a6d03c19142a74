"""The only door: what users hand in is checked and converted here, once, before anything is computed."""
