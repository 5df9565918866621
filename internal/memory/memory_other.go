//go:build !linux

package memory

// A Snapshot is the memory of an initialised guest.
type Snapshot struct{ image }

// NewSnapshot makes a snapshot of that size with the segments in it; everything else is zero.
func NewSnapshot(size int, segments []Segment) (*Snapshot, error) {
	return &Snapshot{newImage(size, segments)}, nil
}

func (s *Snapshot) Close() {}

// A Mapping is the linear memory of one guest. Limit is the maximum of Size, and Most the maximum of Limit.
type Mapping struct {
	Bytes       []byte
	Size        int
	Limit, Most int
	MayGrow     func(size int) bool // must agree as well to a new size; may be nil
	Settled     int                 // always 0 here
}

func NewMapping(most int) (*Mapping, error) { return &Mapping{Most: most, Limit: most}, nil }

// Reallocate implements wazero's LinearMemory.
func (m *Mapping) Reallocate(size uint64) []byte {
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
func (m *Mapping) Free() { m.Bytes = nil }

func (s *Snapshot) Reset(m *Mapping) error {
	s.Restore(m)
	return nil
}

func (s *Snapshot) Restore(m *Mapping) {
	s.restoreRange(m.Bytes, 0, m.Size)
}

func (s *Snapshot) Trim(*Mapping) {}

func (s *Snapshot) Deep(*Mapping) bool { return true } // unknown here

func (m *Mapping) Watch() {}

func (m *Mapping) Watched() {}

func (m *Mapping) Unwatch() {}

func (s *Snapshot) Settle(*Mapping, []int) (bool, error) { return false, nil }

func (s *Snapshot) Changed(m *Mapping, yield func(at, end int)) { yield(0, m.Size) }

// Written calls yield for every page that differs from the snapshot.
func (s *Snapshot) Written(m *Mapping, yield func(at int)) {
	for at := 0; at < m.Size; at += Page {
		if s.Differs(m.Bytes, at) {
			yield(at)
		}
	}
}
