//go:build !linux

package sandbox

// Except on Linux, a guest's memory is ordinary memory, and reset restores all of it after a run: correct, but slower.

type snapshot struct{ image }

func newSnapshot(m *module) (*snapshot, error) {
	return &snapshot{m.image()}, nil
}

func (s *snapshot) close() {}

type mapping struct {
	reserved []byte
	size     int
	most     int // maximum of limit
	limit    int
	mayGrow  func(size int) bool // must agree as well; may be nil
	settled  int                 // always 0 here
}

func newMapping(most int) (*mapping, error) { return &mapping{most: most, limit: most}, nil }

// Reallocate implements wazero's LinearMemory.
func (m *mapping) Reallocate(size uint64) []byte {
	if size > uint64(m.limit) || m.mayGrow != nil && !m.mayGrow(int(size)) {
		return nil
	}
	if n := int(size) - len(m.reserved); n > 0 {
		m.reserved = append(m.reserved, make([]byte, n)...)
	}
	m.size = int(size)
	return m.reserved[:size]
}

// Free implements wazero's LinearMemory.
func (m *mapping) Free() { m.reserved = nil }

func (s *snapshot) reset(m *mapping) error {
	s.restore(m)
	return nil
}

func (s *snapshot) restore(m *mapping) {
	s.restoreRange(m, 0, m.size)
}

func (s *snapshot) trim(*mapping) {}

func (s *snapshot) deep(*mapping) bool { return true } // unknown here

func (m *mapping) watch() {}

func (m *mapping) watched() {}

func (m *mapping) unwatch() {}

func (s *snapshot) settle(*mapping, []int) (bool, error) { return false, nil }

func (s *snapshot) changed(m *mapping, yield func(at, end int)) { yield(0, m.size) }

// written calls yield for every page that differs from the snapshot.
func (s *snapshot) written(m *mapping, yield func(at int)) {
	for at := 0; at < m.size; at += hostPage {
		if s.differs(m, at) {
			yield(at)
		}
	}
}
