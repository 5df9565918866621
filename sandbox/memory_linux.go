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

const madvNoHugePage = 15

// A snapshot is the memory of an initialised guest. Its image is in a file in
// memory, of which every guest maps a private copy: a page costs nothing until
// the guest writes to it.
type snapshot struct {
	image
	file      *os.File
	pagemap   *os.File // tells which pages of this process were written
	pagemapFd int
	noScan    atomic.Bool // the kernel is older than PAGEMAP_SCAN
	counts    bool        // the kernel counts the page faults of a thread: see watch
}

func newSnapshot(m *module) (*snapshot, error) {
	s := &snapshot{image: m.image()}
	name := []byte("codemode-guest\x00")
	fd, _, errno := syscall.Syscall(sysMemfdCreate, uintptr(unsafe.Pointer(&name[0])), 1 /* MFD_CLOEXEC */, 0)
	if errno != 0 {
		return nil, fmt.Errorf("creating the snapshot's file: %w", errno)
	}
	s.file = os.NewFile(fd, "codemode-guest")
	err := s.file.Truncate(int64(len(s.bytes)))
	for _, d := range m.data { // between them it is zero, and need not be there
		if err == nil {
			_, err = s.file.WriteAt(d.bytes, int64(d.at-s.from))
		}
	}
	if err != nil {
		s.file.Close()
		return nil, fmt.Errorf("writing the snapshot: %w", err)
	}
	// Without it every reset restores the whole memory: slower, as right.
	if s.pagemap, _ = os.Open("/proc/self/pagemap"); s.pagemap != nil {
		s.pagemapFd = int(s.pagemap.Fd())
	}
	s.counts = s.faultsAreCounted()
	return s, nil
}

func (s *snapshot) close() {
	s.file.Close()
	if s.pagemap != nil {
		s.pagemap.Close()
	}
}

// A mapping is the linear memory of one guest: an address range that is
// reserved once and never moves, of which the first size bytes are usable.
type mapping struct {
	all      []byte // what was mapped
	reserved []byte
	usable   int // what is readable and writable, at least size
	size     int
	most     int                 // what limit may be
	limit    int                 // what size may grow to
	mayGrow  func(size int) bool // asked as well; may be nil
	own      []pageRange         // what is not shared with the snapshot's file, as of the last restore
	known    bool                // nothing else was written since
	unused   bool                // since the last restore
	watching bool
	faults   int64 // of this thread, when watching began
}

// A pageRange are the pages from at to before end.
type pageRange struct{ at, end int }

func (m *mapping) ownPages() (n int) {
	for _, r := range m.own {
		n += (r.end - r.at) / hostPage
	}
	return n
}

// A pageScan is what it takes to ask the kernel which pages were written.
type pageScan struct {
	arguments scanArguments
	regions   [64]pageRegion
	entries   []byte
}

var pageScans = sync.Pool{New: func() any { return new(pageScan) }}

func newMapping(most int) (*mapping, error) {
	// Aligned to what one page of the kernel's tables maps: a small guest needs one.
	const alignment = 2 << 20
	all, err := syscall.Mmap(-1, 0, most+alignment, syscall.PROT_NONE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("reserving %d bytes for a guest: %w", most, err)
	}
	skip := -int(uintptr(unsafe.Pointer(&all[0]))) & (alignment - 1)
	p := all[skip : skip+most : skip+most]
	// A huge page would be given, and cleared, where a run touches one byte.
	_ = syscall.Madvise(p, madvNoHugePage)
	return &mapping{all: all, reserved: p, most: most, limit: most}, nil
}

// Reallocate implements wazero's LinearMemory. The address never changes, so
// nothing is ever copied.
func (m *mapping) Reallocate(size uint64) []byte {
	if size > uint64(m.limit) || m.mayGrow != nil && !m.mayGrow(int(size)) {
		return nil
	}
	if n := int(size); n > m.usable {
		n = min((n+growStep-1)/growStep*growStep, m.most)
		if err := syscall.Mprotect(m.reserved[m.usable:n], syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
			return nil
		}
		m.usable = n
	}
	m.size = int(size)
	return m.reserved[:size]
}

// Free implements wazero's LinearMemory. It is called when the module is
// closed, which happens only after the guest has stopped.
func (m *mapping) Free() {
	if m.reserved != nil {
		_ = syscall.Munmap(m.all)
		m.all, m.reserved = nil, nil
	}
}

// reset makes the memory equal to the snapshot: the first time for a guest.
func (s *snapshot) reset(m *mapping) error {
	p := m.reserved[s.from:s.to]
	_, _, errno := syscall.Syscall6(syscall.SYS_MMAP, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)),
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_FIXED, s.file.Fd(), 0)
	if errno != 0 {
		return fmt.Errorf("mapping the snapshot: %w", errno)
	}
	return nil // all else is zero: a module without data writes nothing
}

func advise(p []byte) {
	if len(p) > 0 {
		_ = syscall.Madvise(p, syscall.MADV_DONTNEED)
	}
}

// manyPages is how many pages of its own a guest may have before those are
// given up that its last run did not change. A small program has some 25.
const manyPages = 80

// restore makes the memory equal to the snapshot again after a run. A page
// stays the guest's own, because the next run likely writes to it again and
// copying it costs less than a page fault. Of a guest that has many, those
// that were left alone this time are given up: otherwise one large program
// would slow down every later one.
func (s *snapshot) restore(m *mapping) {
	m.unused = s.counts
	if m.known {
		for _, r := range m.own {
			s.restoreRange(m, r.at, r.end)
		}
		return
	}
	sweep := m.ownPages() > manyPages
	m.own = m.own[:0]
	s.touched(m, func(at, end int) {
		if !sweep {
			s.restoreRange(m, at, end)
			m.own = append(m.own, pageRange{at, end})
			return
		}
		for ; at < end; at += hostPage {
			if s.differs(m, at) {
				s.restoreRange(m, at, at+hostPage)
				m.own = append(m.own, pageRange{at, at + hostPage})
			} else {
				advise(m.reserved[at : at+hostPage])
			}
		}
	})
	m.known = m.ownPages() <= manyPages // else the next time looks again, and sweeps
}

// deepStack is how much of the guest's stack few programs need.
const deepStack = 64 << 10

// deep reports, after a restore, whether a run may have used much of the stack, which is before the data. Its native
// stack is many times that then, and not worth keeping.
func (s *snapshot) deep(m *mapping) bool {
	return !m.known || len(m.own) == 0 || m.own[0].at < s.from-deepStack
}

// watch is called before m is used. The first time after a restore it counts, until watched, the page
// faults of this thread, on which alone m is used then. Where there were none, only pages were written that
// are m's own already: writing to another one is a fault. To know that is several times cheaper than to
// ask which pages were written.
func (m *mapping) watch() {
	m.known = m.known && m.unused
	m.unused = false
	if m.known {
		runtime.LockOSThread()
		m.watching, m.faults = true, threadFaults()
	}
}

func (m *mapping) watched() {
	if now := threadFaults(); m.watching && now >= 0 && now == m.faults {
		m.watching = false
		runtime.UnlockOSThread()
		return
	}
	m.unwatch()
}

// unwatch gives up knowing which pages were written. It is called before m is used without watch, or on
// another thread.
func (m *mapping) unwatch() {
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

// faultsAreCounted tries whether the kernel counts writing to a page of the snapshot's file, as Linux does
// (mm_account_fault) and its imitations may not.
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

// trim gives up the pages of a guest that has waited for a while which equal
// the snapshot's: many are written to and end up as they were.
func (s *snapshot) trim(m *mapping) {
	s.touched(m, func(at, end int) {
		for ; at < end; at += hostPage {
			if at < s.from || !s.differs(m, at) { // before from is the stack, which is empty
				advise(m.reserved[at : at+hostPage])
			}
		}
	})
}

// written calls yield for every page that differs from the snapshot.
func (s *snapshot) written(m *mapping, yield func(at int)) {
	s.touched(m, func(at, end int) {
		for ; at < end; at += hostPage {
			if s.differs(m, at) {
				yield(at)
			}
		}
	})
}

// touched calls yield for the pages, from at to before end, that were written
// since the guest was made and not given up since. The kernel knows them: they are this process's own, while the others
// are still the file's, or not there at all.
func (s *snapshot) touched(m *mapping, yield func(at, end int)) {
	base := uintptr(unsafe.Pointer(&m.reserved[0]))
	p := pageScans.Get().(*pageScan)
	defer pageScans.Put(p)
	if s.pagemap == nil || !s.scan(p, m, base, yield) && !s.read(p, m, base, yield) {
		yield(0, m.size)
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

// scan asks for the written pages only. It reports whether the kernel can.
func (s *snapshot) scan(p *pageScan, m *mapping, base uintptr, yield func(at, end int)) bool {
	if s.noScan.Load() {
		return false
	}
	a := &p.arguments
	for at := uint64(base); at < uint64(base)+uint64(m.size); at = a.walkEnd {
		*a = scanArguments{
			size: uint64(unsafe.Sizeof(*a)), start: at, end: uint64(base) + uint64(m.size),
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

// read asks for all pages, as older kernels have it. It reports whether it could.
func (s *snapshot) read(p *pageScan, m *mapping, base uintptr, yield func(at, end int)) bool {
	n := m.size / hostPage
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
