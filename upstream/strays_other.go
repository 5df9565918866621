//go:build !linux

package upstream

// killStrays knows no way here to find processes that have left their group.
func killStrays(string) {}
