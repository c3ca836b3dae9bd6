"""Signals and notifications: parsed, checked and carried out, whatever their channel."""
