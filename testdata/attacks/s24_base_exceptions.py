# SystemExit ends the program, not the engine. Error.
raise SystemExit(0)
