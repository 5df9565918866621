package sandbox

import "bytes"

const (
	// hostPage is the unit of comparing and restoring a snapshot.
	hostPage = 4096
	// wasmPage is the unit of growth of WebAssembly memory.
	wasmPage = 64 << 10
	// maxMemory is the maximum of Limits.Memory.
	maxMemory = 1 << 30
	// commonMemory is the address range that a pooled guest reserves; it costs only a share of the kernel's tables.
	// Runs with a higher limit get guests of their own.
	commonMemory = 64 << 20
	// growStep is how much of the range becomes usable at once.
	growStep = 1 << 20
)

// An image is the content of a snapshot: the pages between from and to; all others of its size bytes are zero.
type image struct {
	size, from, to int
	bytes          []byte
}

// image is the memory of an instance of the module.
func (m *module) image() image {
	i := image{size: m.memory, from: m.memory}
	for _, s := range m.data {
		i.from, i.to = min(i.from, s.at), max(i.to, s.at+len(s.bytes))
	}
	i.from = min(i.from, i.to) / hostPage * hostPage
	i.to = (i.to + hostPage - 1) / hostPage * hostPage
	i.bytes = make([]byte, i.to-i.from)
	for _, s := range m.data {
		copy(i.bytes[s.at-i.from:], s.bytes)
	}
	return i
}

// page returns the image's page at an address; nil means zeros.
func (i *image) page(at int) []byte {
	if at < i.from || at >= i.to {
		return nil
	}
	return i.bytes[at-i.from : at-i.from+hostPage]
}

// restoreRange makes the pages between at and end equal to the image.
func (i *image) restoreRange(m *mapping, at, end int) {
	first, last := max(at, i.from), min(end, i.to)
	if first >= last {
		clear(m.reserved[at:end])
		return
	}
	clear(m.reserved[at:first])
	copy(m.reserved[first:last], i.bytes[first-i.from:])
	clear(m.reserved[last:end])
}

func (i *image) differs(m *mapping, at int) bool {
	page := m.reserved[at : at+hostPage]
	if p := i.page(at); p != nil {
		return !bytes.Equal(page, p)
	}
	return !isZero(page)
}

var zeros [hostPage]byte

func isZero(page []byte) bool { return bytes.Equal(page, zeros[:]) }
