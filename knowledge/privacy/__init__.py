"""What must not be kept, shown or told: secrets, keys, addresses."""
