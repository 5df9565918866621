package sandbox

import "testing"

func TestAWriteElsewhereIsAPageFault(t *testing.T) {
	const size, from, to = 64 << 10, 2 * hostPage, 8 * hostPage
	content := make([]byte, to-from)
	for i := range content {
		content[i] = byte(i%251 + 1)
	}
	s, err := newSnapshot(size, []segment{{from, content}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m, err := newGuestMemory(size)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	if m.Reallocate(size) == nil || s.Reset(m) != nil {
		t.Fatal("there is no memory for a guest")
	}
	m.Bytes[s.From] ^= 1
	s.Restore(m)
	if !s.counts {
		if m.Watch(); m.known {
			t.Error("this kernel does not count the page faults of a thread, and is believed")
		}
		return
	}
	quiet := 0
	for range 10 { // the thread may have a page fault that has nothing to do with it
		m.Watch()
		m.Bytes[s.From] ^= 1
		if m.Watched(); m.known {
			quiet++
		}
		s.Restore(m)
	}
	if quiet == 0 {
		t.Error("writing to a page that is the guest's own was a page fault, ten times")
	}
	m.Watch()
	for at := s.To - hostPage; at > s.From; at -= hostPage {
		m.Bytes[at] ^= 1
	}
	if m.Watched(); m.known {
		t.Error("every page was written, and it was not noticed")
	}
	s.Restore(m)
	for at := 0; at < m.Size; at += hostPage {
		if s.Differs(m.Bytes, at) {
			t.Errorf("the page at %#x differs from the snapshot", at)
		}
	}
}
