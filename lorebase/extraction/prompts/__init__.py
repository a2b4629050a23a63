"""What models are told to do, in English and in Chinese."""
