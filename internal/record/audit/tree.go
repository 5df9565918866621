package audit

import (
	"errors"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// A tree is the part of the Merkle tree over a chain (RFC 6962) that is needed to add entries and compute its root: the
// roots of the largest complete subtrees, from left to right. Leaf n is the hash of entry n+1, as 32 bytes.
type tree struct {
	size  int64
	roots []tlog.Hash // one for each bit that is set in size
}

// treeOf parses the result of [tree.bytes].
func treeOf(size int64, raw []byte) (tree, error) {
	t := tree{size: size}
	if size < 0 || len(raw) != bits.OnesCount64(uint64(size))*tlog.HashSize {
		return t, errors.New("the hashes for its next checkpoint are not those of its length")
	}
	for ; len(raw) > 0; raw = raw[tlog.HashSize:] {
		t.roots = append(t.roots, tlog.Hash(raw[:tlog.HashSize]))
	}
	return t, nil
}

func (t *tree) clone() tree { return tree{t.size, slices.Clone(t.roots)} }

func (t *tree) bytes() []byte {
	raw := make([]byte, 0, len(t.roots)*tlog.HashSize)
	for _, r := range t.roots {
		raw = append(raw, r[:]...)
	}
	return raw
}

func (t *tree) add(entry [32]byte) {
	t.roots = append(t.roots, tlog.RecordHash(entry[:]))
	for n := t.size; n&1 == 1; n >>= 1 {
		last := len(t.roots) - 1
		t.roots[last-1] = tlog.NodeHash(t.roots[last-1], t.roots[last])
		t.roots = t.roots[:last]
	}
	t.size++
}

func (t *tree) root() tlog.Hash {
	if t.size == 0 {
		root, _ := tlog.TreeHash(0, nil) // the root of an empty tree is known
		return root
	}
	root := t.roots[len(t.roots)-1]
	for i := len(t.roots) - 2; i >= 0; i-- {
		root = tlog.NodeHash(t.roots[i], root)
	}
	return root
}
