"""Governed knowledge: topics, their revisions, review, tasks, releases, feedback, and the record of every command.

Everything here blocks: callers on an event loop call it in threads.
"""
