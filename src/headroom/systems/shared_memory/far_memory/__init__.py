"""Programs of users on machines with far memory."""
