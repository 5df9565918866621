package sandbox

import "bytes"

const (
	// hostPage is the unit in which a snapshot is compared and restored.
	hostPage = 4096
	// wasmPage is the unit in which WebAssembly memory grows.
	wasmPage = 64 << 10
	// maxMemory is the most that Limits.Memory may be, and the address range
	// that every guest reserves (which costs no memory).
	maxMemory = 1 << 30
	// growStep is how much more of the range is made usable at once.
	growStep = 1 << 20
)

// pagesOf copies the pages of memory that are not zero; the others are nil.
// Outside of from and to, all are.
func pagesOf(memory []byte) (pages [][]byte, from, to int) {
	pages = make([][]byte, len(memory)/hostPage)
	for i := range pages {
		page := memory[i*hostPage : (i+1)*hostPage]
		if isZero(page) {
			continue
		}
		if to == 0 {
			from = i * hostPage
		}
		to = (i + 1) * hostPage
		pages[i] = append(make([]byte, 0, hostPage), page...)
	}
	return pages, from, to
}

// page is what the snapshot has at an address; nil means zeros.
func (s *snapshot) page(at int) []byte {
	if at >= s.size {
		return nil
	}
	return s.pages[at/hostPage]
}

func (s *snapshot) restorePage(m *mapping, at int) {
	if p := s.page(at); p != nil {
		copy(m.reserved[at:at+hostPage], p)
	} else {
		clear(m.reserved[at : at+hostPage])
	}
}

func (s *snapshot) differs(m *mapping, at int) bool {
	page := m.reserved[at : at+hostPage]
	if p := s.page(at); p != nil {
		return !bytes.Equal(page, p)
	}
	return !isZero(page)
}

var zeros [hostPage]byte

func isZero(page []byte) bool { return bytes.Equal(page, zeros[:]) }
