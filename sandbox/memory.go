// The memory of guests: a snapshot of an initialised one, and a guestMemory for each.
//
// On Linux, a guest's pages are the snapshot's until it writes to them, and the kernel says which it has written to. So
// to make a guest, and to make its memory equal to the snapshot again, costs little more than those pages. On other
// systems it is ordinary memory: correct, but slower.

package sandbox

import "bytes"

const (
	// hostPage is the unit of comparing and restoring a snapshot, in bytes.
	hostPage = 4096
	// growStep is how much of a guest's memory becomes usable at once, in bytes.
	growStep = 1 << 20
)

// A segment is data at an address.
type segment struct {
	At    int
	Bytes []byte
}

// An initialMemory is the content of a snapshot: the pages between From and To; all others of its Size bytes are zero.
type initialMemory struct {
	Size, From, To int
	bytes          []byte
}

// newInitialMemory is the memory of that size with the segments in it.
func newInitialMemory(size int, segments []segment) initialMemory {
	i := initialMemory{Size: size, From: size}
	for _, s := range segments {
		i.From, i.To = min(i.From, s.At), max(i.To, s.At+len(s.Bytes))
	}
	i.From = min(i.From, i.To) / hostPage * hostPage
	i.To = (i.To + hostPage - 1) / hostPage * hostPage
	i.bytes = make([]byte, i.To-i.From)
	for _, s := range segments {
		copy(i.bytes[s.At-i.From:], s.Bytes)
	}
	return i
}

// Page returns the snapshot's page at an address; nil means zeros.
func (i *initialMemory) Page(at int) []byte {
	if at < i.From || at >= i.To {
		return nil
	}
	return i.bytes[at-i.From : at-i.From+hostPage]
}

// restoreRange makes the pages of a memory between at and end equal to the image.
func (i *initialMemory) restoreRange(of []byte, at, end int) {
	first, last := max(at, i.From), min(end, i.To)
	if first >= last {
		clear(of[at:end])
		return
	}
	clear(of[at:first])
	copy(of[first:last], i.bytes[first-i.From:])
	clear(of[last:end])
}

// Differs reports whether the page of a memory at an address is not as in the snapshot.
func (i *initialMemory) Differs(of []byte, at int) bool {
	page := of[at : at+hostPage]
	if p := i.Page(at); p != nil {
		return !bytes.Equal(page, p)
	}
	return !isZero(page)
}

var zeroPage = make([]byte, hostPage)

// isZero reports whether a page has no other bytes than zeros.
func isZero(page []byte) bool { return bytes.Equal(page, zeroPage) }
