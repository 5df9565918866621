// Package memory holds the memory of guests: a [Snapshot] of an initialised one, and a [Mapping] for each.
//
// On Linux, a guest's pages are the snapshot's until it writes to them, and the kernel says which it has written to. So
// to make a guest, and to make its memory equal to the snapshot again, costs little more than those pages. On other
// systems it is ordinary memory: correct, but slower.
package memory

import "bytes"

const (
	// Page is the unit of comparing and restoring a snapshot, in bytes.
	Page = 4096
	// Step is how much of a mapping becomes usable at once, in bytes.
	Step = 1 << 20
)

// A Segment is data at an address.
type Segment struct {
	At    int
	Bytes []byte
}

// An image is the content of a snapshot: the pages between From and To; all others of its Size bytes are zero.
type image struct {
	Size, From, To int
	bytes          []byte
}

// newImage is the memory of that size with the segments in it.
func newImage(size int, segments []Segment) image {
	i := image{Size: size, From: size}
	for _, s := range segments {
		i.From, i.To = min(i.From, s.At), max(i.To, s.At+len(s.Bytes))
	}
	i.From = min(i.From, i.To) / Page * Page
	i.To = (i.To + Page - 1) / Page * Page
	i.bytes = make([]byte, i.To-i.From)
	for _, s := range segments {
		copy(i.bytes[s.At-i.From:], s.Bytes)
	}
	return i
}

// Page returns the snapshot's page at an address; nil means zeros.
func (i *image) Page(at int) []byte {
	if at < i.From || at >= i.To {
		return nil
	}
	return i.bytes[at-i.From : at-i.From+Page]
}

// restoreRange makes the pages of a memory between at and end equal to the image.
func (i *image) restoreRange(of []byte, at, end int) {
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
func (i *image) Differs(of []byte, at int) bool {
	page := of[at : at+Page]
	if p := i.Page(at); p != nil {
		return !bytes.Equal(page, p)
	}
	return !IsZero(page)
}

var zeros [Page]byte

// IsZero reports whether a page has no other bytes than zeros.
func IsZero(page []byte) bool { return bytes.Equal(page, zeros[:]) }
