//go:build !linux

package bench

// Linux reports these figures of a process. They are unknown here; reports leave them out.

func openFiles() int { return -1 }

func liveGuests() int { return -1 }

func resident() (now, peak int) { return -1, -1 }

func ownMemory() int { return -1 }

func resetPeak() {}
