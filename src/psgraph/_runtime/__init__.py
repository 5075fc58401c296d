"""What every part stands on: compiling, sorting, memory, stopwatches, durable files."""
