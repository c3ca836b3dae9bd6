"""The databases under the kills."""
