//go:build !linux

package upstream

// killStrays finds no processes that have left their group on this system.
func killStrays(string) {}

func hasMark(int, string) bool { return false }
