//go:build !linux

package child

// killStrays finds no processes that have left their group on this system.
func killStrays(string) {}
