"""What is put into the prompt, and how it is rendered."""
