"""What Python values consist of: containers, and what a capture knows about a value."""
