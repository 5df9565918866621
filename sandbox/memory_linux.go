package sandbox

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

const (
	madvNoHugePage   = 15
	madvPopulateRead = 22 // since Linux 5.14
)

// A snapshot is the memory of an initialised guest. Its image is in a file in memory. Every guest maps a private copy
// of that file: a page costs nothing until the guest writes to it.
type snapshot struct {
	initialMemory
	file      *os.File
	pagemap   *os.File // reports the written pages of this process
	pagemapFd int
	noScan    atomic.Bool // the kernel is older than PAGEMAP_SCAN
	counts    bool        // the kernel counts the page faults of a thread: see watch
}

// newSnapshot makes a snapshot of that size with the segments in it; everything else is zero.
func newSnapshot(size int, segments []segment) (*snapshot, error) {
	s := &snapshot{initialMemory: newInitialMemory(size, segments)}
	var err error
	if s.file, err = memoryFile("codemode-guest"); err != nil {
		return nil, fmt.Errorf("creating the snapshot's file: %w", err)
	}
	err = s.file.Truncate(int64(len(s.bytes)))
	for _, d := range segments { // all zero between them, so not needed
		if err == nil {
			_, err = s.file.WriteAt(d.Bytes, int64(d.At-s.From))
		}
	}
	if err != nil {
		s.file.Close()
		return nil, fmt.Errorf("writing the snapshot: %w", err)
	}
	// Without it every reset restores the whole memory: slower, but as correct.
	if s.pagemap, _ = os.Open("/proc/self/pagemap"); s.pagemap != nil {
		s.pagemapFd = int(s.pagemap.Fd())
	}
	s.counts = s.faultsAreCounted()
	return s, nil
}

// memoryFile makes a file in memory.
func memoryFile(name string) (*os.File, error) {
	text := append([]byte(name), 0)
	fd, _, errno := syscall.Syscall(sysMemfdCreate, uintptr(unsafe.Pointer(&text[0])), 1 /* MFD_CLOEXEC */, 0)
	if errno != 0 {
		return nil, errno
	}
	return os.NewFile(fd, name), nil
}

// Close frees the snapshot. Mappings keep what they have of it.
func (s *snapshot) Close() {
	s.file.Close()
	if s.pagemap != nil {
		s.pagemap.Close()
	}
}

// A guestMemory is the linear memory of one guest: an address range that it reserves once and never moves. The first
// Size bytes of it are usable.
type guestMemory struct {
	// Bytes is the range; only the first Size bytes of it may be used.
	Bytes []byte
	// Size is the size of the guest's memory.
	Size int
	// Limit is the maximum of Size, and Most the maximum of Limit.
	Limit, Most int
	// MayGrow must agree as well to a new size; may be nil.
	MayGrow func(size int) bool
	// Settled is how many ranges Settle has mapped; then the snapshot is no longer below the pages.
	Settled int

	all      []byte      // the mapped range
	usable   int         // the readable and writable part, at least Size
	own      []pageRange // pages not shared with the snapshot's file, as of the last restore
	known    bool        // nothing else was written since
	unused   bool        // since the last restore
	watching bool
	faults   int64 // of this thread, when watching began
}

// A pageRange are the pages from at to before end.
type pageRange struct{ at, end int }

func (m *guestMemory) ownPages() (n int) {
	for _, r := range m.own {
		n += (r.end - r.at) / hostPage
	}
	return n
}

// A pageScan holds the buffers for asking the kernel which pages were written.
type pageScan struct {
	arguments scanArguments
	regions   [64]pageRegion
	entries   []byte
}

var pageScans = sync.Pool{New: func() any { return new(pageScan) }}

// newGuestMemory reserves the address range of a guest that may have up to most bytes.
func newGuestMemory(most int) (*guestMemory, error) {
	// Align to the range of one page of the kernel's tables: a small guest needs only one.
	const alignment = 2 << 20
	all, err := syscall.Mmap(-1, 0, most+alignment, syscall.PROT_NONE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("reserving %d bytes for a guest: %w", most, err)
	}
	skip := -int(uintptr(unsafe.Pointer(&all[0]))) & (alignment - 1)
	p := all[skip : skip+most : skip+most]
	// Otherwise the kernel would allocate and clear a huge page when a run touches one byte.
	_ = syscall.Madvise(p, madvNoHugePage)
	return &guestMemory{all: all, Bytes: p, Most: most, Limit: most}, nil
}

// Reallocate implements wazero's LinearMemory. The address never changes, so
// nothing is ever copied.
func (m *guestMemory) Reallocate(size uint64) []byte {
	if size > uint64(m.Limit) || m.MayGrow != nil && !m.MayGrow(int(size)) {
		return nil
	}
	if n := int(size); n > m.usable {
		n = min((n+growStep-1)/growStep*growStep, m.Most)
		if err := syscall.Mprotect(m.Bytes[m.usable:n], syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
			return nil
		}
		m.usable = n
	}
	m.Size = int(size)
	return m.Bytes[:size]
}

// Free implements wazero's LinearMemory. wazero calls it when the module closes, which happens only after the guest has
// stopped.
func (m *guestMemory) Free() {
	if m.Bytes != nil {
		_ = syscall.Munmap(m.all)
		m.all, m.Bytes = nil, nil
	}
}

// Reset makes the memory equal to the snapshot: the first time for a guest.
func (s *snapshot) Reset(m *guestMemory) error {
	p := m.Bytes[s.From:s.To]
	_, _, errno := syscall.Syscall6(syscall.SYS_MMAP, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)),
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_FIXED, s.file.Fd(), 0)
	if errno != 0 {
		return fmt.Errorf("mapping the snapshot: %w", errno)
	}
	return nil // everything else is zero: a module without data writes nothing
}

func advise(p []byte) {
	if len(p) > 0 {
		_ = syscall.Madvise(p, syscall.MADV_DONTNEED)
	}
}

// manyPages is how many pages of its own a guest may have before Restore releases those that its last run did not
// change. A small program has some 25.
const manyPages = 80

// Restore makes the memory equal to the snapshot again after a run. A page stays the guest's own, because the next run
// likely writes to it again and copying it costs less than a page fault. If a guest has many, restore releases those
// that this run did not change: otherwise one large program would slow down every later one.
func (s *snapshot) Restore(m *guestMemory) {
	m.unused = s.counts
	if m.known {
		for _, r := range m.own {
			s.restoreRange(m.Bytes, r.at, r.end)
		}
		return
	}
	sweep := m.ownPages() > manyPages
	m.own = m.own[:0]
	s.touched(m, func(at, end int) {
		if !sweep {
			s.restoreRange(m.Bytes, at, end)
			m.own = append(m.own, pageRange{at, end})
			return
		}
		for ; at < end; at += hostPage {
			if s.Differs(m.Bytes, at) {
				s.restoreRange(m.Bytes, at, at+hostPage)
				m.own = append(m.own, pageRange{at, at + hostPage})
			} else {
				advise(m.Bytes[at : at+hostPage])
			}
		}
	})
	m.known = m.ownPages() <= manyPages // otherwise the next restore tries again
}

// Changed calls yield for the pages that m owns, from at to before end: all others are as in the snapshot, or as at the
// last time. It is Restore's cheap way to know them, for a guest that keeps its memory after a run.
func (s *snapshot) Changed(m *guestMemory, yield func(at, end int)) {
	m.unused = s.counts
	if !m.known {
		m.own = m.own[:0]
		s.touched(m, func(at, end int) { m.own = append(m.own, pageRange{at, end}) })
		m.known = true
	}
	for _, r := range m.own {
		yield(r.at, r.end)
	}
}

// maxSettled bounds the ranges that Settle maps in one guest: the system bounds those of a process.
const maxSettled = 256

// Settle puts the content of pages into a file, and maps a private copy of it in their place. Then they cost nothing,
// and Changed does not yield them, until the guest writes to them. It reports whether it did that. After an error the
// memory may have holes.
func (s *snapshot) Settle(m *guestMemory, pages []int) (bool, error) {
	ranges := make([]pageRange, 0, 16)
	for _, at := range pages {
		if n := len(ranges); n > 0 && ranges[n-1].end == at {
			ranges[n-1].end += hostPage
		} else {
			ranges = append(ranges, pageRange{at, at + hostPage})
		}
	}
	if s.pagemap == nil || m.Settled+len(ranges) > maxSettled {
		return false, nil
	}
	f, err := memoryFile("codemode-session")
	if err != nil {
		return false, nil
	}
	defer f.Close() // the mappings keep it
	for _, r := range ranges {
		if _, err := f.WriteAt(m.Bytes[r.at:r.end], int64(r.at)); err != nil {
			return false, nil
		}
	}
	m.known = false
	m.Settled += len(ranges)
	for _, r := range ranges {
		p := m.Bytes[r.at:r.end]
		_, _, errno := syscall.Syscall6(syscall.SYS_MMAP, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)),
			syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_FIXED, f.Fd(), uintptr(r.at))
		if errno != 0 {
			return false, fmt.Errorf("mapping pages of a session: %w", errno)
		}
		_ = syscall.Madvise(p, madvPopulateRead) // or else the first use of each is a fault
	}
	return true, nil
}

// deepStack is how much of the guest's stack few programs need.
const deepStack = 64 << 10

// Deep reports, after a Restore, whether a run may have used much of the stack, which is before the data. Then its
// native stack is many times as large, and not worth keeping.
func (s *snapshot) Deep(m *guestMemory) bool {
	return !m.known || len(m.own) == 0 || m.own[0].at < s.From-deepStack
}

// Watch tells m that this thread uses it until Watched. The first time after a Restore, it counts this thread's page faults
// meanwhile; only this thread uses m. Without faults, the guest wrote only to pages that m already owns:
// writing to another page is a fault. This check is several times cheaper than asking which pages were written.
func (m *guestMemory) Watch() {
	m.known = m.known && m.unused
	m.unused = false
	if m.known {
		runtime.LockOSThread()
		m.watching, m.faults = true, threadFaults()
	}
}

// Watched ends what Watch began.
func (m *guestMemory) Watched() {
	if !m.watching || m.faults < 0 || threadFaults() != m.faults {
		m.Unwatch()
		return
	}
	m.watching = false
	runtime.UnlockOSThread()
}

// Unwatch discards the knowledge about written pages. Callers call it before they use m without Watch, or on another
// thread.
func (m *guestMemory) Unwatch() {
	m.known = false
	if m.watching {
		m.watching = false
		runtime.UnlockOSThread()
	}
}

// threadFaults is how many page faults this thread has had, or -1.
func threadFaults() int64 {
	const thread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if syscall.Getrusage(thread, &u) != nil {
		return -1
	}
	return u.Minflt + u.Majflt
}

// faultsAreCounted tests whether the kernel counts a write to a page of the snapshot's file. Linux does
// (mm_account_fault); its imitations may not.
func (s *snapshot) faultsAreCounted() bool {
	if s.pagemap == nil || len(s.bytes) < hostPage {
		return false
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range 3 {
		p, err := syscall.Mmap(int(s.file.Fd()), 0, hostPage, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE)
		if err != nil {
			return false
		}
		before := threadFaults()
		read := p[0]
		between := threadFaults()
		p[0] = ^read
		after := threadFaults()
		_ = syscall.Munmap(p)
		if before < 0 || between <= before || after <= between {
			return false
		}
	}
	return true
}

// Trim releases the pages of a waiting guest that equal the snapshot's: programs change many pages and restore their
// content.
func (s *snapshot) Trim(m *guestMemory) {
	if m.Settled > 0 {
		return // below a page there may be another one than the snapshot's
	}
	s.touched(m, func(at, end int) {
		for ; at < end; at += hostPage {
			if at < s.From || !s.Differs(m.Bytes, at) { // before from is the stack, which is empty
				advise(m.Bytes[at : at+hostPage])
			}
		}
	})
}

// Written calls yield for every page with content that differs from the snapshot.
func (s *snapshot) Written(m *guestMemory, yield func(at int)) {
	s.touched(m, func(at, end int) {
		for ; at < end; at += hostPage {
			if s.Differs(m.Bytes, at) {
				yield(at)
			}
		}
	})
}

// touched calls yield for the pages, from at to before end, that the guest has written since its creation and that
// Restore has not released since. The kernel knows them: they are private to this process, while the others still
// belong to the file, or do not exist.
func (s *snapshot) touched(m *guestMemory, yield func(at, end int)) {
	base := uintptr(unsafe.Pointer(&m.Bytes[0]))
	p := pageScans.Get().(*pageScan)
	defer pageScans.Put(p)
	if s.pagemap == nil || !s.scan(p, m, base, yield) && !s.read(p, m, base, yield) {
		yield(0, m.Size)
	}
}

// pageRegion and scanArguments are the kernel's struct page_region and struct
// pm_scan_arg (linux/fs.h, since Linux 6.7).
type pageRegion struct{ start, end, categories uint64 }

type scanArguments struct {
	size, flags, start, end, walkEnd, regions, regionsLen, maxPages uint64
	categoryInverted, categoryMask, categoryAnyOf, returnMask       uint64
}

const (
	pagemapScan = 0xc0606610 // _IOWR('f', 16, struct pm_scan_arg)
	isFile      = 1 << 2
	isPresent   = 1 << 3
	isSwapped   = 1 << 4
)

// scan asks only for the written pages. It reports whether the kernel can answer.
func (s *snapshot) scan(p *pageScan, m *guestMemory, base uintptr, yield func(at, end int)) bool {
	if s.noScan.Load() {
		return false
	}
	a := &p.arguments
	for at := uint64(base); at < uint64(base)+uint64(m.Size); at = a.walkEnd {
		*a = scanArguments{
			size: uint64(unsafe.Sizeof(*a)), start: at, end: uint64(base) + uint64(m.Size),
			regions: uint64(uintptr(unsafe.Pointer(&p.regions[0]))), regionsLen: uint64(len(p.regions)),
			categoryInverted: isFile, categoryMask: isFile, categoryAnyOf: isPresent | isSwapped, returnMask: isPresent,
		}
		n, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(s.pagemapFd), pagemapScan, uintptr(unsafe.Pointer(a)))
		if errno != 0 || a.walkEnd <= at {
			if at != uint64(base) {
				panic("sandbox: the kernel stopped half-way through a guest's pages: " + errno.Error())
			}
			s.noScan.Store(true)
			return false
		}
		for _, r := range p.regions[:n] {
			yield(int(r.start-uint64(base)), int(r.end-uint64(base)))
		}
	}
	return true
}

// The bits of an entry of /proc/self/pagemap, as the kernel's
// Documentation/admin-guide/mm/pagemap.rst has them.
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61
)

// read asks for all pages, for older kernels. It reports whether that succeeded.
func (s *snapshot) read(p *pageScan, m *guestMemory, base uintptr, yield func(at, end int)) bool {
	n := m.Size / hostPage
	if len(p.entries) != n*8 {
		p.entries = make([]byte, n*8)
	}
	k, err := syscall.Pread(s.pagemapFd, p.entries, int64(base)/hostPage*8)
	if err != nil || k != len(p.entries) {
		return false
	}
	for i := range n {
		e := binary.LittleEndian.Uint64(p.entries[i*8:])
		if e&(pagePresent|pageSwapped) != 0 && e&(pageOfFile|pageSwapped) != pageOfFile {
			yield(i*hostPage, (i+1)*hostPage)
		}
	}
	return true
}

// Known reports whether the pages that the guest has written to since the last Restore are known without asking the
// kernel, and Counts whether this kernel makes that possible.
func (m *guestMemory) Known() bool { return m.known }

// Counts is explained at [guestMemory.Known].
func (s *snapshot) Counts() bool { return s.counts }
