"""Program -> files: the saved model."""
