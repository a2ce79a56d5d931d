"""What is whispered before a reply."""
