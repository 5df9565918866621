//go:build !linux

package sandbox

// A snapshot is the memory of an initialised guest.
type snapshot struct{ initialMemory }

// newSnapshot makes a snapshot of that size with the segments in it; everything else is zero.
func newSnapshot(size int, segments []segment) (*snapshot, error) {
	return &snapshot{newInitialMemory(size, segments)}, nil
}

func (s *snapshot) Close() {}

// A guestMemory is the linear memory of one guest. Limit is the maximum of Size, and Most the maximum of Limit.
type guestMemory struct {
	Bytes       []byte
	Size        int
	Limit, Most int
	MayGrow     func(size int) bool // must agree as well to a new size; may be nil
	Settled     int                 // always 0 here
}

func newGuestMemory(most int) (*guestMemory, error) {
	return &guestMemory{Most: most, Limit: most}, nil
}

// Reallocate implements wazero's LinearMemory.
func (m *guestMemory) Reallocate(size uint64) []byte {
	if size > uint64(m.Limit) || m.MayGrow != nil && !m.MayGrow(int(size)) {
		return nil
	}
	if n := int(size) - len(m.Bytes); n > 0 {
		m.Bytes = append(m.Bytes, make([]byte, n)...)
	}
	m.Size = int(size)
	return m.Bytes[:size]
}

// Free implements wazero's LinearMemory.
func (m *guestMemory) Free() { m.Bytes = nil }

func (s *snapshot) Reset(m *guestMemory) error {
	s.Restore(m)
	return nil
}

func (s *snapshot) Restore(m *guestMemory) {
	s.restoreRange(m.Bytes, 0, m.Size)
}

func (s *snapshot) Trim(*guestMemory) {}

func (s *snapshot) Deep(*guestMemory) bool { return true } // unknown here

func (m *guestMemory) Watch() {}

func (m *guestMemory) Watched() {}

func (m *guestMemory) Unwatch() {}

func (s *snapshot) Settle(*guestMemory, []int) (bool, error) { return false, nil }

func (s *snapshot) Changed(m *guestMemory, yield func(at, end int)) { yield(0, m.Size) }

// Written calls yield for every page that differs from the snapshot.
func (s *snapshot) Written(m *guestMemory, yield func(at int)) {
	for at := 0; at < m.Size; at += hostPage {
		if s.Differs(m.Bytes, at) {
			yield(at)
		}
	}
}
