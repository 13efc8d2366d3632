"""Records in memory: which storage node is the best, on this processor and on any other."""
