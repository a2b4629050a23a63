"""What is searched: ports, filters and words; no library behind them."""
