package sandbox

import "bytes"

const (
	// hostPage is the unit in which a snapshot is compared and restored.
	hostPage = 4096
	// wasmPage is the unit in which WebAssembly memory grows.
	wasmPage = 64 << 10
	// maxMemory is the most that Limits.Memory may be.
	maxMemory = 1 << 30
	// commonMemory is the address range that a guest of the pool reserves, which
	// costs a share of the kernel's tables only. Runs that may have more get
	// guests of their own.
	commonMemory = 64 << 20
	// growStep is how much more of the range is made usable at once.
	growStep = 1 << 20
)

// An image is what a snapshot holds: the pages between from and to; all
// others of its size bytes are zero.
type image struct {
	size, from, to int
	bytes          []byte
}

// imageOf copies what is not zero of memory.
func imageOf(memory []byte) image {
	m := image{size: len(memory)}
	for at := 0; at < len(memory); at += hostPage {
		if isZero(memory[at : at+hostPage]) {
			continue
		}
		if m.to == 0 {
			m.from = at
		}
		m.to = at + hostPage
	}
	m.bytes = append([]byte(nil), memory[m.from:m.to]...)
	return m
}

// page is what the image has at an address; nil means zeros.
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
