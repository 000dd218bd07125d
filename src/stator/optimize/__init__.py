"""Program -> Program: passes that keep its meaning; each gives a new program, verified."""
