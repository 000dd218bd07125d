"""State: what a capture reads and changes outside itself: guards, state inputs, effects."""
