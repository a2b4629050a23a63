"""Moving the knowledge and the memory of bases from older layouts to where they belong, without losing a byte."""
