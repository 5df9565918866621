//go:build !linux

package confine

func enter(r Rules, _ int, _ string, _, _ []string) error { return ErrUnsupported }

const probing = "" // no argument

func probe(string, string, string) ([]byte, error) { return nil, ErrUnsupported }

// Try needs a system that can confine processes.
func Try() (map[string]bool, error) { return nil, ErrUnsupported }

// Missing lists what this system cannot do; empty means that it can enforce all rules.
func Missing() []string { return []string{ErrUnsupported.Error()} }

// Possible reports whether this system can confine a process at all.
func Possible() bool { return false }
